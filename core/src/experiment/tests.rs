//! The door: what the plan file cannot even say, but a message over the wire can. The rest is tried through plan files.

use super::{prior::LinePrior, prior::PathWeight, *};
use crate::{plan, plan::Cell, run::work::WorkOrder, value::id::RunIndex};

fn experiment() -> Experiment {
    let text = "
        [experiment]
        name = \"e\"
        [versions.a]
        baseline = true
        vars = { v = \"1\" }
        [versions.b]
        vars = { v = \"22\" }
        [benchmarks.x]
        command = [\"{v}\"]
        [setup]
        shell = \"true\"";
    plan::file::parse(text, Seed(1)).unwrap_or_else(|error| panic!("{error}"))
}

/// The faults of an experiment after a change, each with its place.
fn faults(change: impl FnOnce(&mut Experiment)) -> Vec<(String, Fault)> {
    let mut experiment = experiment();
    change(&mut experiment);
    let error = experiment.check().expect_err("an experiment that must be refused");
    error.problems().iter().map(|problem| (problem.place.to_string(), problem.fault.clone())).collect()
}

fn only(place: &str, fault: Fault) -> Vec<(String, Fault)> {
    vec![(place.to_owned(), fault)]
}

#[test]
fn a_good_experiment_passes() {
    assert_eq!(experiment().check(), Ok(()));
}

#[test]
fn a_version_alone_is_measured_but_no_plan_file_and_no_rule_has_one() {
    let mut alone = experiment();
    alone.versions.truncate(1);
    assert_eq!(alone.check(), Ok(()));
    let text =
        "[experiment]\nname = \"e\"\n[versions.a]\nbaseline = true\n[benchmarks.x]\ncommand = [\"true\"]\n";
    let refused = plan::file::parse(text, Seed(1)).expect_err("nothing to compare").to_string();
    assert!(refused.contains("nothing to compare"), "{refused}");
    let found = faults(|experiment| {
        experiment.versions.truncate(1);
        experiment.rule = Rule::Pilot { precision: 0.1, maximum: 100 };
    });
    assert_eq!(found, only("versions", Fault::TooFewVersions(1)));
}

#[test]
fn names_are_unique() {
    let twice = |experiment: &mut Experiment| experiment.benchmarks.push(experiment.benchmarks[0].clone());
    assert_eq!(faults(twice), only("benchmarks.x", Fault::SameName("x".to_owned())));
    let twice = |experiment: &mut Experiment| experiment.versions[1].name = "a".to_owned();
    assert_eq!(faults(twice), only("versions.a", Fault::SameName("a".to_owned())));
}

#[test]
fn names_are_fit_for_files_tables_and_commands() {
    for good in ["a", "_", "0", "gcc-12.1", "Größe", "排序", "a+b"] {
        let mut experiment = experiment();
        experiment.name = good.to_owned();
        assert_eq!(experiment.check(), Ok(()), "{good}");
    }
    for bad in
        ["", ".", "-x", "+x", "a b", "a/b", "a\n", "a\u{202e}b", "\u{200b}", &"x".repeat(MAX_NAME_BYTES + 1)]
    {
        let found = faults(|experiment| experiment.name = bad.to_owned());
        assert_eq!(found, only("experiment.name", Fault::Name(bad.to_owned())), "{bad:?}");
    }
}

#[test]
fn wall_time_is_always_measured_and_no_metric_twice() {
    let found = faults(|experiment| experiment.metrics = vec![Metric::User, Metric::User]);
    let place = "metrics.collect".to_owned();
    assert_eq!(found, [(place.clone(), Fault::WallMissing), (place, Fault::SameMetric("user"))]);
}

#[test]
fn an_endpoint_is_of_what_is_measured_and_stands_once() {
    let verdict =
        |metric: &str| MetricVerdict { metric: metric.to_owned(), margin: None, family: Family::Common };
    let all = |experiment: &mut Experiment| {
        experiment.metrics = vec![Metric::Wall, Metric::MaxRss];
        experiment.analysis.quantiles = vec![0.9, 0.99];
        experiment.analysis.verdicts = vec![verdict("max_rss")];
    };
    let mut sound = experiment();
    all(&mut sound);
    assert_eq!(sound.check(), Ok(()));
    let found = faults(|experiment| {
        all(experiment);
        experiment.analysis.quantiles.extend([0.9, 1.0, f64::NAN]);
        let more = ["max_rss", "wall", "user"].map(verdict);
        experiment.analysis.verdicts.extend(more);
        experiment.analysis.verdicts[0].margin = Some(0.0);
    });
    let of = |key: &str, fault| (format!("analysis.{key}"), fault);
    let outside = Fault::outside_unit;
    let expected = [
        of("quantiles", Fault::SameName("0.9".to_owned())),
        of("quantiles", outside(1.0)),
        of("quantiles", outside(f64::NAN)),
        of("verdicts.max_rss.margin", outside(0.0)),
        of("verdicts.max_rss", Fault::SameName("max_rss".to_owned())),
        of("verdicts.wall", Fault::VerdictOnWall),
        of("verdicts.user", Fault::VerdictOnUnmeasured("user".to_owned())),
    ];
    assert_eq!(found, expected);
    let many = faults(|experiment| experiment.analysis.quantiles = vec![0.5; 17]);
    assert!(matches!(&many[0].1, Fault::TooMany { what: "quantiles", count: 17, most: 16 }), "{many:?}");
}

#[test]
fn a_control_is_the_baseline_again_and_no_command_can_tell() {
    let text = "
        [experiment]
        name = \"e\"
        [controls]
        baseline_again = true
        [versions.a]
        baseline = true
        build = [\"make\", \"{version}\"]
        products = { prog = \"prog\" }
        [versions.b]
        [benchmarks.x]
        command = [\"./{version}\", \"{benchmark}\"]";
    let experiment = plan::file::parse(text, Seed(1)).unwrap_or_else(|error| panic!("{error}"));
    let (index, control) = experiment.control().expect("a control");
    assert_eq!((index.0, experiment.compared().len(), control.name.len()), (2, 2, 6));
    assert!(!["a", "b"].contains(&control.name.as_str()));
    let order = |version: u32| {
        let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
        WorkOrder::new(&experiment, cell, RunIndex(0))
    };
    assert_eq!(order(2), order(0));
    assert_ne!(order(1), order(0));
    assert_eq!(WorkOrder::for_build(&experiment, index), WorkOrder::for_build(&experiment, VersionIndex(0)));
    let again = plan::file::parse(text, Seed(1)).map(|again| again == experiment);
    assert_eq!(again, Ok(true), "the name is of the seed");
    let other = plan::file::parse(text, Seed(2)).map(|other| other.versions[2].name == control.name);
    assert_eq!(other, Ok(false));
}

#[test]
fn a_control_that_is_another_version_is_refused() {
    let found = faults(|experiment| {
        experiment.versions.push(experiment.versions[1].clone());
        experiment.versions[2].name = "again".to_owned();
        experiment.baseline_again = true;
    });
    assert_eq!(found, only("controls.baseline_again", Fault::ControlDiffers("again".to_owned())));
    let alone = faults(|experiment| {
        experiment.versions[1].vars = experiment.versions[0].vars.clone();
        experiment.baseline_again = true;
    });
    assert_eq!(alone, only("versions", Fault::TooFewVersions(1)));
}

/// Which orders differ by their program alone.
#[test]
fn orders_are_alike_where_only_the_program_differs() {
    let alike = |command: &str, one: &str, other: &str| {
        let text = format!(
            "[experiment]\nname = \"e\"\n[versions.a]\nbaseline = true\n{one}\n[versions.b]\n{other}\n\
             [benchmarks.x]\n{command}\n"
        );
        let experiment = plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let [a, b] = [0, 1].map(|version| {
            let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
            WorkOrder::new(&experiment, cell, RunIndex(0))
        });
        a.is_alike(&b)
    };
    let build = "build = [\"make\"]\nproducts = { prog = \"prog\" }";
    assert!(alike("command = [\"sort\"]", "", ""));
    assert!(alike("command = [\"{build.prog}\", \"-n\"]", build, build));
    assert!(!alike("command = [\"taskset\", \"1\", \"{build.prog}\"]", build, build));
    assert!(!alike("shell = \"{build.prog} | sort\"", build, build));
    assert!(!alike("command = [\"sort\", \"{version}\"]", "", ""));
    assert!(!alike("command = [\"./{version}\"]", "", ""), "what lies beside it may differ");
    assert!(!alike("command = [\"sort\"]", "env = { LC_ALL = \"C\" }", ""));
    assert!(!alike("command = [\"sort\"]", "env = { A = \"{version}\" }", "env = { A = \"{version}\" }"));
    assert!(alike("command = [\"sort\", \"{v}\"]", "vars = { v = \"1\" }", "vars = { v = \"1\" }"));
}

#[test]
fn no_control_character_reaches_a_terminal_or_an_argument() {
    let found = faults(|experiment| experiment.description = "ok\n\tnot ok \u{1b}[2J".to_owned());
    assert_eq!(found, only("experiment.description", Fault::ControlCharacter('\u{1b}')));
    let found = faults(|experiment| {
        experiment.benchmarks[0].env.insert("A".to_owned(), "\0".to_owned());
        experiment.benchmarks[0].env.insert(String::new(), String::new());
    });
    assert_eq!(
        found,
        [
            ("benchmarks.x.env.\"\"".to_owned(), Fault::EnvName(String::new())),
            ("benchmarks.x.env.A".to_owned(), Fault::ControlCharacter('\0')),
        ]
    );
}

#[test]
fn a_command_is_measured_with_its_longest_values() {
    let found = faults(|experiment| {
        experiment.versions[1].vars.insert("v".to_owned(), "x".repeat(MAX_VAR_BYTES));
        experiment.benchmarks[0].command = CommandLine::Shell("{v}".repeat(9));
    });
    let [(place, Fault::TooLong { bytes, most: MAX_ARGV_BYTES, .. })] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(place, "benchmarks.x.shell");
    assert!(*bytes >= 9 * MAX_VAR_BYTES);
    let found = faults(|experiment| {
        experiment.versions[1].env.insert("E".to_owned(), "x".repeat(MAX_ENV_BYTES));
        experiment.versions[1].vars.insert("w".to_owned(), "x".repeat(MAX_VAR_BYTES + 1));
        experiment.description = "x".repeat(MAX_DESCRIPTION_BYTES + 1);
    });
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["experiment.description", "versions.b.vars.w", "versions.b.env"]);
}

#[test]
fn nothing_overflows_and_nothing_is_unbounded() {
    let mut experiment = experiment();
    experiment.runs = u32::MAX;
    experiment.drawn = Some(u32::MAX);
    experiment.limits.attempts = u32::MAX;
    experiment.output = OutputChoice { limit: u64::MAX, keep: u64::MAX, keep_of: KeepOutput::All };
    experiment.analysis.confidence = f64::NAN;
    experiment.benchmarks[0].timeout = Span(u64::MAX);
    experiment.benchmarks[0].warmup = u32::MAX;
    experiment.setup = Some(Setup { command: CommandLine::Exact(Vec::new()), timeout: Span(0) });
    let error = experiment.check().unwrap_err();
    assert_eq!(error.problems().len(), 10, "{error}");
    assert!(error.problems().iter().all(|problem| !problem.fault.hint().is_empty()));
}

#[test]
fn a_hundred_thousand_bad_benchmarks_give_a_short_error() {
    let mut experiment = experiment();
    let mut bad = experiment.benchmarks[0].clone();
    bad.name = "bad name ".repeat(100);
    experiment.benchmarks = vec![bad; 2 * MAX_BENCHMARKS];
    let error = experiment.check().unwrap_err();
    assert_eq!(error.problems().len(), MAX_PROBLEMS);
    assert!(error.untold() > MAX_BENCHMARKS);
    assert!(error.to_string().len() < 10_000);
}

fn prior(path: &str, weight: f64, weights: Vec<f64>) -> Option<LinePrior> {
    Some(LinePrior { paths: vec![PathWeight { path: path.to_owned(), weight }], weights })
}

/// What a bisection asks of an experiment beside what all do.
#[test]
fn a_bisection_has_one_benchmark_and_versions_that_are_built_once() {
    let text = "[experiment]\nname = \"e\"\n[versions.a]\nbaseline = true\nbuild = [\"make\"]\nproducts = { p = \"p\" }\n\
                [versions.b]\nbuild = [\"make\"]\nproducts = { p = \"p\" }\n[benchmarks.x]\ncommand = [\"{build.p}\"]\n";
    let bisecting = |change: fn(&mut Experiment)| {
        let mut experiment = crate::plan::file::parse(text, Seed(1)).expect("a plan");
        experiment.order = Order::Blocked;
        experiment.rule = Rule::Bisection(Bisection { maximum: 100, block: 4, blocks: 2 });
        change(&mut experiment);
        let problems = experiment.check().err().map(|error| error.problems().to_vec()).unwrap_or_default();
        problems.into_iter().map(|problem| problem.fault.to_string()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(bisecting(|_| {}), "");
    let many = |experiment: &mut Experiment| {
        let version = experiment.versions[0].clone();
        experiment.versions =
            (0..256).map(|number| Version { name: format!("c{number}"), ..version.clone() }).collect();
    };
    assert_eq!(bisecting(many), "", "more versions than a comparison");
    assert_eq!(bisecting(|e| e.analysis.prior = prior("src", 5.0, vec![5.0])), "");
    for (change, why) in [
        ((|e| e.order = Order::Randomized) as fn(&mut Experiment), "not blocked"),
        (|e| e.levels.hosts = Some(2), "over hosts or boots"),
        (|e| e.versions[1].build = None, "built exactly once"),
        (
            |e| e.benchmarks.push(Benchmark { name: "y".to_owned(), ..e.benchmarks[0].clone() }),
            "one benchmark",
        ),
        (|e| e.rule = Rule::Bisection(Bisection { maximum: 7, block: 4, blocks: 2 }), "out of range"),
        (|e| e.rule = Rule::Bisection(Bisection { maximum: 7, block: 2, blocks: 1 }), "out of range"),
        (|e| e.analysis.prior = prior("src", 5.0, vec![5.0, 1.0]), "one weight for each"),
        (|e| e.analysis.prior = prior("src", 5.0, vec![0.0]), "weight of a version"),
        (|e| e.analysis.prior = prior("", 5.0, vec![5.0]), "a path is empty"),
        (|e| e.analysis.prior = prior("src", f64::NAN, vec![5.0]), "its weight"),
        (|e| e.analysis.prior = Some(LinePrior { paths: vec![], weights: vec![5.0] }), "no path"),
        (
            |e| {
                e.rule = Rule::Fixed;
                e.analysis.prior = prior("src", 5.0, vec![5.0]);
            },
            "only a bisection",
        ),
    ] {
        let said = bisecting(change);
        assert!(said.contains(why), "{why}: {said}");
    }
}
