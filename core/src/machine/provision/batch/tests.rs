//! The recipes of `deploy/batch/`, and what is wrong in files that are not like them.

use super::*;

const GRID_ENGINE: &str = include_str!("../../../../../deploy/batch/gridengine.toml");
const RECIPES: [(&str, &str); 5] = [
    ("gridengine", GRID_ENGINE),
    ("pbs", include_str!("../../../../../deploy/batch/pbs.toml")),
    ("lsf", include_str!("../../../../../deploy/batch/lsf.toml")),
    ("flux", include_str!("../../../../../deploy/batch/flux.toml")),
    ("kubernetes", include_str!("../../../../../deploy/batch/kubernetes.toml")),
];

fn recipe(name: &str) -> BatchSystem {
    let (_, text) = RECIPES.iter().find(|(known, _)| *known == name).unwrap();
    parse(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn nodes(names: &[&str]) -> Nodes {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn job<'a>(options: &'a [String], exclude: &'a Nodes, is_trial: bool) -> JobRequest<'a> {
    JobRequest {
        name: "sp1",
        logs: "/logs",
        script_file: "/logs/s",
        script: "a \"b\"\n",
        options,
        exclude,
        is_trial,
    }
}

fn seen(system: &BatchSystem, answer: &str) -> Vec<(String, JobState, Option<String>)> {
    let jobs = system.listed(answer, "sp1").unwrap();
    let told =
        |job: Job| (job.id.as_str().to_owned(), job.state, job.node.map(|node| node.as_str().to_owned()));
    jobs.into_iter().map(told).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn every_recipe_is_read_and_fills_all_placeholders() {
    for (name, _) in RECIPES {
        let system = recipe(name);
        assert_eq!(system.name, name);
        let (options, exclude) = (["--x".to_owned()], nodes(&["n1", "n2"]));
        let submitted = system.submission(&job(&options, &exclude, true));
        let all = [
            submitted.join(" "),
            system.input(&job(&options, &exclude, true)),
            system.listing("sp1").join(" "),
        ];
        assert!(all.iter().any(|text| text.contains("sp1")), "{name}: {all:?}");
        assert!(submitted.contains(&"--x".to_owned()), "{name}: {submitted:?}");
        assert!(system.exclude.is_none() || all.join(" ").contains("n2"), "{name}: {all:?}");
        let without = system.submission(&job(&options, &Nodes::new(), false));
        assert!(!without.join(" ").contains("{exclude}"), "{name}: {without:?}");
        assert!(without.len() < submitted.len(), "{name}: a trial is not to start");
        for cancelled in system.cancellations(&[format!("{name}:7").parse().unwrap()]) {
            assert!(cancelled.contains(&"7".to_owned()), "{name}: {cancelled:?}");
        }
    }
}

#[test]
fn a_job_of_grid_engine_is_one_whole_host_that_is_none_of_these() {
    let system = recipe("gridengine");
    let (options, exclude) = (["-q".to_owned(), "main.q".to_owned()], nodes(&["n1", "n2"]));
    let words = system.submission(&job(&options, &exclude, true));
    let line = words.join(" ");
    assert!(line.starts_with("qsub -terse -N sp1 "), "{line}");
    assert!(line.ends_with("-l exclusive=true -l hostname=!(n1|n2) -h -q main.q"), "{line}");
    assert!(!system.takes_file());
    assert_eq!(system.input(&job(&options, &exclude, false)), "a \"b\"\n");
    assert_eq!(system.submitted("17\n").unwrap().as_str(), "gridengine:17");
    let error = system.submitted("Unable to run job\n").unwrap_err();
    assert!(error.to_string().contains("submit.job"), "{error}");
    let ended = system.cancellations(&["gridengine:17", "gridengine:18"].map(|id| id.parse().unwrap()));
    assert_eq!(ended, [["qdel", "17", "18"]]);
    assert!(system.has_gone("denied: job \"99\" does not exist"));
}

/// As Son of Grid Engine 8.1.9 prints it.
#[test]
fn jobs_of_grid_engine_are_read() {
    let one = |id: u32, name: &str, state: &str, queue: &str| {
        format!(
            "    <job_list state=\"running\">\n      <JB_job_number>{id}</JB_job_number>\n      <JAT_prio>0.5</JAT_prio>\n\
             \x20     <JB_name>{name}</JB_name>\n      <JB_owner>nobody</JB_owner>\n      <state>{state}</state>\n\
             \x20     <JAT_start_time>2026-11-25T17:31:29</JAT_start_time>\n      <queue_name>{queue}</queue_name>\n\
             \x20     <slots>1</slots>\n    </job_list>\n"
        )
    };
    let answer = [
        one(1, "sp1", "r", "main@host1.domain"),
        one(2, "other", "r", "main@host2"),
        one(3, "sp1", "qw", ""),
        one(4, "sp1", "dr", "main@host3"),
        one(5, "sp1", "Eqw", ""),
        one(6, "sp1", "???", ""),
    ];
    let found = seen(&recipe("gridengine"), &answer.concat());
    let id = |number: u32| format!("gridengine:{number}");
    assert_eq!(
        found,
        [
            (id(1), JobState::Running, some("host1")),
            (id(3), JobState::Queued, None),
            (id(4), JobState::Ending, some("host3")),
            (id(5), JobState::Ended(JobEnd::Failed), None),
            (id(6), JobState::Ending, None),
        ]
    );
    let none = "<?xml version='1.0'?>\n<job_info>\n  <queue_info>\n  </queue_info>\n</job_info>\n";
    assert_eq!(seen(&recipe("gridengine"), none), []);
}

/// As the manuals show it.
#[test]
fn jobs_of_untried_systems_are_read_as_their_manuals_show_them() {
    let pbs = "\nserver1:\n                                                              Req'd  Req'd   Elap\nJob ID                         Username        Queue           Jobname         SessID   NDS  TSK   Memory Time  S Time\n\
               ------------------------------ --------------- --------------- --------------- -------- ---- ----- ------ ----- - -----\n\
               16.server1                     user1           workq           sp1             12345       1     1    --    --  R 00:01 node-7/0*8\n\
               17.server1                     user1           workq           sp1             --          1     1    --    --  Q   --   --\n";
    assert_eq!(
        seen(&recipe("pbs"), pbs),
        [
            ("pbs:16.server1".to_owned(), JobState::Running, some("node-7")),
            ("pbs:17.server1".to_owned(), JobState::Queued, None)
        ]
    );
    let lsf = recipe("lsf");
    assert_eq!(
        seen(&lsf, "101|RUN|4*hostA\n102|PEND|-\n103|EXIT|hostB.domain\n"),
        [
            ("lsf:101".to_owned(), JobState::Running, some("hostA")),
            ("lsf:102".to_owned(), JobState::Queued, None),
            ("lsf:103".to_owned(), JobState::Ended(JobEnd::Failed), some("hostB")),
        ]
    );
    assert_eq!(lsf.submitted("Job <101> is submitted to queue <normal>.\n").unwrap().as_str(), "lsf:101");
    assert!(lsf.has_none("Job <sp1> is not found"));
    let exclude = nodes(&["a", "b"]);
    let line = lsf.submission(&job(&[], &exclude, false)).join(" ");
    assert!(line.ends_with("-R select[hname!='a' && hname!='b']"), "{line}");
    let flux = recipe("flux");
    assert_eq!(seen(&flux, "f2oLkTLb|RUN|node1.site|sp1\nf3a|SCHED||sp1\nf4|RUN|n|x\n").len(), 2);
    assert!(
        flux.listing("sp1").last().unwrap().contains("{id.f58plain}|{state}"),
        "{:?}",
        flux.listing("sp1")
    );
    let line = flux.submission(&job(&[], &Nodes::new(), false)).join(" ");
    assert!(line.contains("--output=/logs/flux-{{id}}.log"), "{line}");
    let kubernetes = recipe("kubernetes");
    assert_eq!(
        seen(&kubernetes, "sp1-x2   Running     worker-1\nsp1-x3   Pending   <none>\n"),
        [
            ("kubernetes:sp1-x2".to_owned(), JobState::Running, some("worker-1")),
            ("kubernetes:sp1-x3".to_owned(), JobState::Queued, None),
        ]
    );
    let manifest = kubernetes.input(&job(&[], &exclude, false));
    assert!(manifest.contains("operator: NotIn, values: [a, b] }"), "{manifest}");
    assert!(manifest.contains(r#"args: ["a \"b\"\n"]"#), "{manifest}");
}

#[test]
fn a_command_may_take_the_script_as_a_file() {
    let text = GRID_ENGINE.replace("\"{options}\",", "\"{options}\", \"{script}\",");
    let system = parse(&text).unwrap();
    assert!(system.takes_file());
    let words = system.submission(&job(&[], &Nodes::new(), false));
    assert_eq!(words.last().map(String::as_str), Some("/logs/s"));
    assert_eq!(system.input(&job(&[], &Nodes::new(), false)), "a \"b\"\n");
}

/// What is said of a file in which this was replaced.
fn said(from: &str, to: &str) -> String {
    assert!(GRID_ENGINE.contains(from), "{from}");
    parse(&GRID_ENGINE.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn an_error_names_line_and_key_and_says_what_to_do() {
    let cases = [
        ("name = \"gridengine\"", "name = \"grid engine\"", "name of a batch"),
        ("name = \"gridengine\"", "name = \"local\"", "`local` is taken"),
        ("poll = \"10s\"", "poll = \"10\"", "with its unit"),
        ("poll = \"10s\"", "pol = \"10s\"", "unknown field `pol`"),
        ("\"{options}\",", "\"{option}\",", "{options}?"),
        ("\"{exclude}\", ", "", "excluded nodes"),
        ("\"{exclude}\"", "\"x{exclude}\"", "part of a word"),
        ("'^([0-9]+)'", "'^[0-9]+'", "no group"),
        ("'^([0-9]+)'", "'^([0-9]+'", "unclosed group"),
        ("id = \"$JOB_ID\"", "id = \"\"", "a shell"),
        ("(?<state>[^<]*)", "[^<]*", "group `state`"),
        ("(?<name>[^<]*)", "[^<]*", "from others"),
        ("(?<node>[^<.]*)", "(?<host>[^<.]*)", "group `host`"),
        ("ending = 'd.*'", "endings = 'd.*'", "`ending`?"),
        ("queued = '[hR]*w?qw?'", "", "jobs are queued"),
        ("queued = '[hR]*w?qw?'", "queued = 7", "`queued` is not a text"),
        ("\"{jobs}\"", "\"all\"", "which jobs"),
        ("hostname=!({nodes})", "hostname=!(x)", "the nodes"),
        ("command = [\"qstat\", \"-xml\"]", "command = []", "1 to 100 words"),
    ];
    for (from, to, expected) in cases {
        let error = said(from, to);
        assert!(error.contains(expected), "{to}: {error}");
        assert!(error.starts_with("line ") && error.contains("\nhint: "), "{to}: {error}");
    }
}

#[test]
fn a_file_that_is_too_large_or_is_none_is_refused() {
    let large = format!("#{}\n{GRID_ENGINE}", "x".repeat(MAX_FILE_BYTES));
    assert!(parse(&large).unwrap_err().to_string().contains("bytes, but at most"));
    for text in ["", "[", "name = \"x\""] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("docs/batch.md"), "{error}");
    }
}
