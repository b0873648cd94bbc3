//! `speedup track` on real branches: programs that compute for a known time, built by a real compiler. The step that was planted is found, nothing is
//! measured twice, and what cannot be followed is told.

use speedup_tests::{output::ended, output::said, output::succeeded, pool::eventually};
use std::process::Stdio;

use super::{
    bisect::TELLS, bisect::assert_executed_anew, bisect::cut_off, bisect::history, bisect::slow_plan, *,
};
use crate::recovery::resuming::Cut;

const GOOD: u32 = 10;
const BAD: u32 = 13;

/// Declares a track of what follows the first commit; 64 points a year, so that two points of four blocks can raise an alarm.
fn add(project: &Project, reference: &str, more: &[&str]) -> Output {
    let plan = project.path("plan.toml").display().to_string();
    let follows = ["--branch", "main", "--reference", reference, "--name", "line"];
    let points = ["--points-a-year", "64", "--blocks", "4"];
    project.speedup(&[&["track", "add", &plan], &follows[..], &points, more].concat())
}

fn run(project: &Project, more: &[&str]) -> Output {
    project.speedup(&[&["track", "run", "line"], more].concat())
}

fn report(project: &Project) -> Json {
    project.report(&["track", "report", "line"])
}

/// The numbers of the commits of a step's set.
fn set(step: &Json, ids: &[String]) -> Vec<usize> {
    let versions = step["set"]["versions"].as_array().expect("ids").iter();
    let place = |id: &Json| ids.iter().position(|one| one == id.as_str().expect("an id"));
    versions.map(|id| place(id).expect("a commit")).collect()
}

/// The next commits of a history whose programs say what they cost; of 0 does not build.
fn go_on(project: &Project, ids: &mut Vec<String>, milliseconds: &[u32]) {
    for of in milliseconds {
        let number = ids.len();
        let program = if *of == 0 { "#error broken\n" } else { TELLS };
        let files = [("prog.c", program), ("work.h", &*work(*of, "c")), ("note", &*format!("{number}\n"))];
        ids.push(project.commit(&format!("Change {number}"), &files));
    }
}

#[test]
fn a_planted_step_is_found_and_gates_fail_until_it_is_acknowledged() {
    let (project, ids) = history(&[vec![GOOD; 6], vec![BAD; 4]].concat());
    let added = add(&project, &ids[0], &["--metric", "cost", "--margin", "10%", "--builds-alike"]);
    succeeded(&added);
    assert!(said(&added).contains("main has 9 commits after"), "{}", said(&added));
    ended(&project.speedup(&["track", "report", "line", "--require-conclusive"]), 3);
    let quiet = run(&project, &["--most", "5", "--fail-on-regression", "--require-conclusive"]);
    succeeded(&quiet);
    assert_eq!(report(&project)["steps"], Json::Array(Vec::new()));
    let slow = run(&project, &["--fail-on-regression"]);
    assert_eq!(slow.status.code(), Some(1), "{}", said(&slow));
    let told = format!("{} (Change 6)", &ids[6][..12]);
    assert!(said(&slow).contains(&told), "{}", said(&slow));
    assert!(said(&slow).contains("--fail-on-regression: slower"), "{}", said(&slow));

    let found = report(&project);
    let step = &found["steps"][0];
    assert_eq!(found["steps"].as_array().expect("steps").len(), 1, "{found}");
    assert!(set(step, &ids).contains(&6), "{found}");
    let ends = [0, 1].map(|end| step["size"]["interval"][end].as_f64().expect("a number"));
    assert!(1.25 < ends[0] && ends[1] < 1.35, "{step}");
    assert_eq!(found["benchmarks"][0]["points"].as_array().expect("points").len(), 9);
    assert!(found["benchmarks"][0]["noise_floor"]["usual"]["ratio"].as_f64() >= Some(1.0), "{found}");
    assert!(said(&run(&project, &[])).contains("0 commits due"));
    for form in ["terminal", "md", "html", "latex", "csv"] {
        let shown = project.speedup(&["track", "report", "line", "-v", "--format", form, "-o", "-"]);
        assert!(shown.status.success() && said(&shown).contains(&ids[6][..12]), "{form}: {}", said(&shown));
    }
    let exported = said(&project.speedup(&["track", "export", "line", "--format", "csv"]));
    // Of each block the reference, the commit and the control.
    assert_eq!(exported.lines().count(), 1 + 9 * 4 * 3, "{exported}");

    let planned = project.report(&["samples", "repetitions", "track:line", "--speedup", "1.02"]);
    assert_eq!(planned["plans"][0]["pilot_runs"], 9 * 4, "the runs of the reference: {planned}");
    let samples = ["slow", "fast"].map(|name| project.path(name));
    fs::write(&samples[0], "11\n11.2\n11.1\n11.3\n11.2\n11\n11.1\n").expect("a file");
    fs::write(&samples[1], "10\n10.2\n10.1\n10.3\n10.2\n10\n10.1\n").expect("a file");
    let [slow, fast] = samples.map(|path| path.display().to_string());
    let gate = ["--fail-on-regression", "--noise-threshold"];
    let compare = |noise| project.speedup(&[&["compare", &fast, &slow], &gate[..], &[noise]].concat());
    let compared = compare("track:line");
    assert_eq!(compared.status.code(), Some(1), "{}", said(&compared));
    let unknown = compare("track:none");
    assert_eq!(unknown.status.code(), Some(2), "{}", said(&unknown));

    succeeded(&project.speedup(&["track", "acknowledge", "line", &ids[6][..12], "--note", "it is worth it"]));
    let gated = project.speedup(&["track", "report", "line", "--fail-on-regression"]);
    succeeded(&gated);
    assert!(said(&gated).contains("it is worth it"), "{}", said(&gated));
    let listed = project.report(&["track", "list"]);
    assert_eq!((&listed[0]["steps"], &listed[0]["regressions"]), (&1.into(), &0.into()), "{listed}");
    succeeded(&project.speedup(&["track", "remove", "line"]));
    assert_eq!(project.speedup(&["track", "report", "line"]).status.code(), Some(2));
}

#[test]
fn a_run_of_a_track_that_was_cut_off_is_executed_anew() {
    for cut in Cut::ALL {
        let (project, ids) = history(&[GOOD; 2]);
        fs::write(project.path("plan.toml"), slow_plan(&project)).expect("a plan");
        succeeded(&add(&project, &ids[0], &["--metric", "cost"]));
        cut_off(&project, &["track", "run", "line"], cut);
        succeeded(&run(&project, &[]));
        assert_eq!(
            report(&project)["benchmarks"][0]["points"].as_array().expect("points").len(),
            1,
            "{cut:?}"
        );
        let data = project.path("state/speedup/tracks/line/data").display().to_string();
        assert_executed_anew(&project, &["--data", &data], cut);
    }
}

#[test]
fn a_step_after_an_acknowledged_one_is_found() {
    let (project, ids) = history(&[vec![GOOD; 5], vec![BAD; 7], vec![GOOD; 4]].concat());
    succeeded(&add(&project, &ids[0], &["--metric", "cost", "--margin", "5%", "--builds-alike"]));
    let first = run(&project, &["--most", "7"]);
    assert!(said(&first).contains("step 1: once has 1."), "{}", said(&first));
    succeeded(&project.speedup(&["track", "acknowledge", "line", "1"]));
    succeeded(&run(&project, &["--fail-on-regression"]));
    let found = report(&project);
    let steps = found["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 2, "{found}");
    let size = steps[0]["size"]["ratio"].as_f64().expect("a ratio");
    assert!((size - 1.3).abs() < 0.01, "{found}");
    assert!(set(&steps[0], &ids).contains(&5) && set(&steps[1], &ids).contains(&12), "{found}");
    assert_eq!((&steps[0]["is_worse"], &steps[1]["is_worse"]), (&true.into(), &false.into()), "{found}");
}

/// Unless builds are said to be alike, a point is one ratio, whatever the margin, and a level takes as many to be known.
#[test]
fn by_points_a_step_takes_more_of_them() {
    let (project, ids) = history(&[vec![GOOD; 13], vec![BAD; 12]].concat());
    succeeded(&add(&project, &ids[0], &["--metric", "cost", "--margin", "5%"]));
    succeeded(&run(&project, &["--most", "14"]));
    let before = report(&project);
    assert_eq!(before["steps"], Json::Array(Vec::new()), "{before}");
    assert!(before["caveats"].to_string().contains("--builds-alike"), "{before}");
    succeeded(&run(&project, &[]));
    let found = report(&project);
    assert_eq!(found["steps"].as_array().expect("steps").len(), 1, "{found}");
    assert!(set(&found["steps"][0], &ids).contains(&13), "{found}");
    assert_eq!(found["terms"]["builds_alike"], false, "{found}");
}

#[test]
fn the_wall_time_of_a_branch_is_followed() {
    let (project, ids) = history(&[vec![4; 4], vec![16; 4]].concat());
    succeeded(&add(&project, &ids[0], &["--margin", "20%", "--builds-alike"]));
    succeeded(&run(&project, &[]));
    let found = report(&project);
    assert!(set(&found["steps"][0], &ids).contains(&4), "{found}");
}

#[test]
fn commits_that_do_not_build_or_run_widen_the_set() {
    let (project, mut ids) = history(&[GOOD; 4]);
    go_on(&project, &mut ids, &[0, 0, BAD, BAD, BAD]);
    succeeded(&add(&project, &ids[0], &["--metric", "cost", "--margin", "5%", "--builds-alike"]));
    let measured = run(&project, &[]);
    succeeded(&measured);
    assert!(said(&measured).contains("could not be built"), "{}", said(&measured));
    let found = report(&project);
    assert_eq!(set(&found["steps"][0], &ids), [4, 5, 6], "{found}");
    assert_eq!(found["commits"][4]["state"], "not_built", "{found}");
    assert_eq!(found["benchmarks"][0]["points"].as_array().expect("points").len(), 6, "{found}");
}

#[test]
fn a_run_that_was_killed_goes_on_and_no_point_is_measured_twice() {
    let (project, ids) = history(&[GOOD; 4]);
    let plan = fs::read_to_string(project.path("plan.toml")).expect("a plan")
        + &format!("[prepare]\nshell = \"echo >> {}\"\n", project.path("marks").display());
    fs::write(project.path("plan.toml"), plan).expect("a plan");
    succeeded(&add(&project, &ids[0], &["--metric", "cost", "--margin", "5%", "--builds-alike"]));
    let mut command = project.command(&["track", "run", "line"]);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a command");
    let marks = || fs::read_to_string(project.path("marks")).map_or(0, |text| text.lines().count());
    // In the middle of the second point.
    eventually("some runs were executed", || (marks() >= 4 * 3 + 5).then_some(()));
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    succeeded(&run(&project, &[]));
    assert_eq!(report(&project)["benchmarks"][0]["points"].as_array().expect("points").len(), 3);
    let data = project.path("state/speedup/tracks/line/data").display().to_string();
    let listed = project.report(&["list", "--data", &data, "--tag", "track=line"]);
    let phases: Vec<&Json> =
        listed.as_array().expect("experiments").iter().map(|one| &one["phase"]).collect();
    assert_eq!(phases, ["finished"; 3], "{listed}");
    // Each run was executed once, but for the one that was killed.
    assert!((4 * 3 * 3..=4 * 3 * 3 + 1).contains(&marks()), "{}", marks());
}

#[test]
fn a_branch_that_was_rewritten_is_refused_and_nights_pass_commits() {
    let (project, mut ids) = history(&[GOOD; 4]);
    let more = ["--metric", "cost", "--every", "night", "--false-alarms", "0.5"];
    succeeded(&add(&project, &ids[0], &more));
    assert!(said(&add(&project, &ids[0], &more)).contains("track line already"));
    succeeded(&run(&project, &[]));
    let found = report(&project);
    let lengths =
        [&found["benchmarks"][0]["points"], &found["commits"]].map(|all| all.as_array().map(Vec::len));
    assert_eq!(lengths, [Some(1), Some(4)], "the latest alone, and those that it passed are known: {found}");
    let sentence = found["sentences"][0].as_str().expect("a sentence");
    assert!(
        sentence.ends_with("too early for a change to be found on 1 benchmark: at least 6 points more."),
        "{found}"
    );
    go_on(&project, &mut ids, &[GOOD]);
    assert!(said(&run(&project, &[])).contains("0 commits due"), "it is the same day");
    project.git(&["reset", "-q", "--hard", &ids[1]]);
    project.commit("Begin again", &[("note", "again\n")]);
    let refused = ended(&run(&project, &[]), 2);
    assert!(refused.contains("rewritten"), "{refused}");
    ended(&add(&project, &ids[0], &["--false-alarms", "1000"]), 2);
}

#[test]
fn a_pool_measures_a_track_and_a_broken_reference_is_tried_again() {
    let (project, ids) = history(&[GOOD, GOOD, GOOD]);
    let pool = Pool::start(SPEEDUP, 2);
    let access = pool.access_file().display().to_string();
    let here = ["--metric", "cost", "--submit", "--access-file", &access];
    succeeded(&add(&project, &ids[0], &here));
    succeeded(&run(&project, &[]));
    let found = report(&project);
    assert_eq!(found["benchmarks"][0]["points"].as_array().expect("points").len(), 2, "{found}");
    let listed = pool.json(&["list", "--tag", "track=line"]).expect("experiments");
    assert_eq!(listed.as_array().expect("experiments").len(), 2, "{listed}");

    let (broken, mut ids) = history(&[]);
    go_on(&broken, &mut ids, &[0, GOOD]);
    succeeded(&add(&broken, &ids[0], &["--metric", "cost"]));
    for _ in 0..2 {
        let failed = ended(&run(&broken, &[]), 1);
        assert!(failed.contains("1 commit due"), "{failed}");
        assert!(failed.contains("measures it again"), "{failed}");
    }
}
