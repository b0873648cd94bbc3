//! `speedup bisect` on real histories: programs that compute for a known time, built by a real compiler. The commit that is named is the
//! one that was planted; what cannot be told is not.

use speedup_tests::output::ended;
use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use super::*;
use crate::recovery::resuming::Cut;
use speedup_tests::ledger::Ledger;

/// A plan whose version stands for every commit, for beside the repository.
const PLAN: &str = "[experiment]\nname = \"line\"\nseed = 5\n[versions.any]\nrepository = \"repository\"\n\
    git = \"HEAD\"\nbuild = [\"cc\", \"-O1\", \"-o\", \"prog\", \"prog.c\"]\nproducts = { prog = \"prog\" }\n\
    [benchmarks.once]\ncommand = [\"{build.prog}\"]\n[independence]\npolicy = \"any\"\n\
    [metrics.output.cost]\nregex = 'cost ([0-9.]+)'\nunit = \"ms\"\n";
/// A program that says how long it computed, which other work on the machine doesn't change: so that a test may ask for the very commit.
pub(super) const TELLS: &str = "#include <stdio.h>\n#include <time.h>\n#include \"work.h\"\n\
    int main(void) {\n  struct timespec t;\n\
    \x20 do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_nsec < MILLISECONDS * 1000000L);\n\
    \x20 return printf(\"cost %.4f\\n\", t.tv_nsec / 1e6) < 0;\n}\n";
/// What no compiler takes.
const BROKEN: &str = "#error broken\n";
const GOOD: u32 = 4;
const BAD: u32 = 8;

/// A repository whose commits compute for these milliseconds; of 0 does not build. With the ids of the commits.
pub(super) fn history(milliseconds: &[u32]) -> (Project, Vec<String>) {
    let project = Project::empty();
    fs::write(project.path("plan.toml"), PLAN).expect("a plan");
    let ids = (0..).zip(milliseconds).map(|(number, of)| {
        let text = if *of == 0 { BROKEN.to_owned() } else { work(*of, "c") };
        let note = format!("{number}\n");
        project.commit(&format!("Change {number}"), &[("prog.c", TELLS), ("work.h", &text), ("note", &note)])
    });
    let ids = ids.collect();
    (project, ids)
}

/// So many commits of one speed, and then so many of another.
fn step(before: usize, after: usize) -> Vec<u32> {
    [vec![GOOD; before], vec![BAD; after]].concat()
}

fn bisect(project: &Project, range: &str, more: &[&str]) -> Output {
    let plan = project.path("plan.toml").display().to_string();
    project.speedup(&[&["bisect", range, &plan], more].concat())
}

/// What it found, of what must end with 0.
fn found(project: &Project, range: &str, more: &[&str]) -> Json {
    let output = bisect(project, range, &[&["--metric", "cost", "--format", "json"], more].concat());
    assert!(output.status.success(), "{}", said(&output));
    let report: Json = serde_json::from_slice(&output.stdout).expect("JSON alone on standard output");
    report["rule"]["bisection"].clone()
}

fn range(ids: &[String]) -> String {
    format!("{}..{}", ids[0], ids[ids.len() - 1])
}

/// The numbers of the commits of a set.
fn numbers(set: &Json, ids: &[String]) -> Vec<usize> {
    let versions = set["versions"].as_array().expect("versions").iter();
    let place = |version: &Json| ids.iter().position(|id| id.starts_with(version.as_str().expect("a name")));
    versions.map(|version| place(version).expect("a commit of the line")).collect()
}

#[test]
fn the_commit_with_the_step_is_named_and_everything_says_it() {
    let (project, ids) = history(&step(11, 6));
    let found = found(&project, &range(&ids), &["--margin", "10%"]);
    assert_eq!(found["verdict"], "step", "{found}");
    assert_eq!(numbers(&found["set"], &ids), [11], "{found}");
    let ends = [0, 1].map(|end| found["size"]["interval"][end].as_f64().expect("a number"));
    assert!(1.9 < ends[0] && ends[0] <= ends[1] && ends[1] < 2.1, "{found}");
    let sentence = found["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains(&format!("{} (Change 11)", &ids[11][..12])), "{sentence}");
    let states: Vec<&str> = found["commits"]
        .as_array()
        .expect("commits")
        .iter()
        .map(|one| one["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states.len(), 17);
    assert!(states.contains(&"not_probed"), "not every commit is built: {states:?}");

    let shown = said(&project.speedup(&["report", "last"]));
    assert!(shown.contains(sentence.split(',').next().expect("words")), "{shown}");
    assert!(shown.contains("git show") && !shown.contains("nothing is compared"), "{shown}");
    for form in ["md", "html", "latex", "csv", "junit", "bmf", "openmetrics"] {
        let output = project.speedup(&["report", "last", "--format", form, "-o", "-"]);
        assert!(output.status.success(), "{form}: {}", said(&output));
    }
    for form in ["csv", "jsonl"] {
        let output = project.speedup(&["export", "last", "--format", form, "-o", "-"]);
        assert!(output.status.success() && said(&output).contains(&ids[11]), "{form}: {}", said(&output));
    }
    let bundle = project.path("bundle").display().to_string();
    succeeded(&project.speedup(&["bundle", "last", "-o", &bundle]));
    succeeded(&project.speedup(&["verify", &bundle]));
    ended(&project.speedup(&["report", "last", "--fail-on-regression"]), 1);
    succeeded(&project.speedup(&["report", "last", "--require-conclusive"]));
}

/// The step is in a commit that does not build, between others: none of them, nor the next that builds, can be told apart.
#[test]
fn commits_that_do_not_build_widen_the_set() {
    let mut milliseconds = step(6, 7);
    milliseconds[5..8].fill(0);
    let (project, ids) = history(&milliseconds);
    let found = found(&project, &range(&ids), &["--margin", "10%"]);
    assert_eq!(found["verdict"], "step", "{found}");
    assert_eq!(numbers(&found["set"], &ids), [5, 6, 7, 8], "{found}");
    let states =
        found["commits"].as_array().expect("commits").iter().filter(|one| one["state"] == "not_built");
    assert!(states.count() > 0, "{found}");
    assert!(found["caveats"].to_string().contains("could not be built"), "{found}");
}

#[test]
fn without_a_step_there_is_none() {
    let (project, ids) = history(&[GOOD; 9]);
    let found = found(&project, &range(&ids), &["--margin", "30%"]);
    assert_eq!(found["verdict"], "no_step", "{found}");
}

#[test]
fn two_steps_are_several_and_one_that_is_reverted_is_no_step_from_end_to_end() {
    let (project, ids) = history(&[vec![GOOD; 4], vec![BAD; 4], vec![16; 4]].concat());
    let more = ["--margin", "10%", "--max-runs", "120"];
    let several = found(&project, &range(&ids), &more);
    assert_eq!(several["verdict"], "several", "{several}");
    assert!(numbers(&several["several"]["first"], &ids).contains(&4), "{several}");
    assert!(numbers(&several["several"]["second"], &ids).contains(&8), "{several}");

    let (project, ids) = history(&[vec![GOOD; 4], vec![BAD; 4], vec![GOOD; 4]].concat());
    let more = ["--margin", "10%", "--max-runs", "60"];
    let reverted = found(&project, &range(&ids), &more);
    assert_ne!(reverted["verdict"], "step", "both ends are alike: {reverted}");
}

#[test]
fn merges_are_one_commit_by_first_parents_and_paths_leave_commits_out() {
    let (project, ids) = history(&step(3, 0));
    project.git(&["checkout", "-q", "-b", "topic", &ids[1]]);
    project.commit("Be slow", &[("work.h", &work(BAD, "c"))]);
    project.commit("Go on", &[("other", "1\n")]);
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-ff", "-m", "Merge the topic", "topic"]);
    let merge = project.id("HEAD");
    project.commit("Say more", &[("note", "more\n")]);
    project.commit("Say most", &[("note", "most\n")]);
    let range = format!("{}..main", ids[0]);
    let refused = ended(&bisect(&project, &range, &[]), 2);
    assert!(refused.contains("merges"), "{refused}");
    assert!(refused.contains("--first-parent"), "{refused}");
    let first_parents = found(&project, &range, &["--first-parent", "--margin", "10%"]);
    assert_eq!(first_parents["verdict"], "step", "{first_parents}");
    assert_eq!(first_parents["commits"].as_array().expect("commits").len(), 6);
    assert_eq!(first_parents["set"]["likeliest"], merge[..12], "{first_parents}");
    let of_path = found(&project, &range, &["--first-parent", "--margin", "10%", "--", "work.h"]);
    // Both ends, and the merge that changes the file.
    assert_eq!(of_path["commits"].as_array().expect("commits").len(), 3, "{of_path}");
    assert_eq!(of_path["set"]["likeliest"], merge[..12], "{of_path}");
}

#[test]
fn what_cannot_be_bisected_is_refused_and_an_end_that_does_not_build_is_a_failure() {
    let (project, ids) = history(&[GOOD, GOOD, 0]);
    let backwards = ended(&bisect(&project, &format!("{}..{}", ids[1], ids[0]), &[]), 2);
    assert!(backwards.contains("ancestor"), "{backwards}");
    ended(&bisect(&project, &range(&ids), &["--metric", "warmth"]), 2);
    fs::write(project.path("plan.toml"), PLAN.replace("repository = \"repository\"\ngit = \"HEAD\"\n", ""))
        .expect("a plan");
    let without_git = ended(&bisect(&project, &range(&ids), &[]), 2);
    assert!(without_git.contains("git = \"HEAD\""), "{without_git}");
    fs::write(project.path("plan.toml"), PLAN).expect("a plan");
    let broken = ended(&bisect(&project, &range(&ids), &[]), 1);
    assert!(broken.contains(&ids[2][..12]), "{broken}");
}

/// Starts it, and waits until some runs were measured.
fn begun(project: &Project, ids: &[String], more: &[&str]) -> Child {
    let plan = project.path("plan.toml").display().to_string();
    let mut command = project
        .command(&[&["bisect", &range(ids), &plan, "--metric", "cost", "--margin", "10%"], more].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a command");
    let marks = || fs::read_to_string(project.path("marks")).map_or(0, |text| text.lines().count());
    eventually("some runs were executed", || (marks() >= 5).then_some(()));
    child
}

#[test]
fn a_bisection_that_was_killed_goes_on() {
    let (project, ids) = history(&step(7, 6));
    let marked =
        PLAN.to_owned() + &format!("[prepare]\nshell = \"echo >> {}\"\n", project.path("marks").display());
    fs::write(project.path("plan.toml"), marked).expect("a plan");
    let mut killed = begun(&project, &ids, &[]);
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    let resumed = ended(&project.speedup(&["resume", "last"]), 0);
    assert!(resumed.contains(&format!("The step is at {} (Change 7)", &ids[7][..12])), "{resumed}");
}

/// A plan whose runs take so long that one is under way whenever the command is cut off.
pub(super) fn slow_plan(project: &Project) -> String {
    let slow =
        format!("shell = \"{{build.prog}} && echo >> {} && sleep 0.3\"", project.path("marks").display());
    PLAN.replace("command = [\"{build.prog}\"]", &slow)
}

/// Starts a command, cuts it off while runs are executed, and gives how many there were.
pub(super) fn cut_off(project: &Project, arguments: &[&str], cut: Cut) {
    let told = fs::File::create(project.path("told")).expect("a file");
    let mut command = project.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(told).spawn().expect("a command");
    let marks = || fs::read_to_string(project.path("marks")).map_or(0, |text| text.lines().count());
    eventually("some runs are executed", || (marks() >= 3).then_some(()));
    cut.off(&mut child, &project.path("told"));
}

/// Asserts that all runs of the latest experiment were measured once, and that the attempt is kept of the one that was cut off.
pub(super) fn assert_executed_anew(project: &Project, place: &[&str], cut: Cut) {
    let exported = project.speedup(&[&["export", "last", "--format", "csv", "-o", "-"], place].concat());
    let ledger = Ledger::read(&succeeded(&exported));
    let measured: Vec<&str> =
        ledger.rows.iter().filter(|row| row["counts"] == "true").map(|row| row["run"].as_str()).collect();
    let distinct: BTreeSet<&str> = measured.iter().copied().collect();
    assert_eq!(measured.len(), distinct.len(), "no run counts twice: {cut:?}");
    let lost: Vec<&str> =
        ledger.rows.iter().filter(|row| row["outcome"] == "lost").map(|row| row["run"].as_str()).collect();
    assert_eq!(lost.len(), 1, "the attempt that was cut off is kept: {cut:?}");
    assert!(distinct.contains(lost[0]), "and its run was executed anew: {cut:?}");
}

#[test]
fn a_run_of_a_bisection_that_was_cut_off_is_executed_anew() {
    for cut in Cut::ALL {
        let (project, ids) = history(&step(3, 3));
        fs::write(project.path("plan.toml"), slow_plan(&project)).expect("a plan");
        let plan = project.path("plan.toml").display().to_string();
        let range = range(&ids);
        cut_off(
            &project,
            &["bisect", &range, &plan, "--metric", "cost", "--margin", "10%", "--max-runs", "40"],
            cut,
        );
        let resumed = ended(&project.speedup(&["resume", "last"]), 0);
        assert!(
            resumed.contains(&format!("The step is at {} (Change 3)", &ids[3][..12])),
            "{cut:?}: {resumed}"
        );
        assert_executed_anew(&project, &[], cut);
    }
}

/// Commits that each change a file of their own, beside the program.
fn with_parts(milliseconds: &[u32]) -> (Project, Vec<String>) {
    let (project, _) = history(&[]);
    let ids = (0..).zip(milliseconds).map(|(number, of)| {
        let part = format!("parts/{number}/note");
        let files = [("prog.c", TELLS), ("work.h", &*work(*of, "c")), (&*part, "new\n")];
        project.commit(&format!("Change {number}"), &files)
    });
    let ids = ids.collect();
    (project, ids)
}

/// By `--prior` a commit is held to be likely, that is wrong, and the bisection is killed: what goes on has the prior, and finds the step.
#[test]
fn a_prior_is_kept_and_named_and_may_be_wrong() {
    let (project, ids) = with_parts(&step(7, 6));
    let marked =
        PLAN.to_owned() + &format!("[prepare]\nshell = \"echo >> {}\"\n", project.path("marks").display());
    fs::write(project.path("plan.toml"), marked).expect("a plan");
    let mut killed = begun(&project, &ids, &["--prior", "parts/3=20", "--prior", "parts/4/note=20"]);
    killed.kill().expect("SIGKILL");
    killed.wait().expect("its end");
    let resumed = succeeded(&project.speedup(&["resume", "last", "--format", "json"]));
    let report: Json = serde_json::from_str(&resumed).expect("JSON alone on standard output");
    let found = &report["rule"]["bisection"];
    assert_eq!(numbers(&found["set"], &ids), [7], "{found}");
    assert_eq!(found["prior"][1]["path"], "parts/4/note", "{found}");
    let beforehand = |at: usize| found["commits"][at]["beforehand"].as_f64().expect("a number");
    assert!((beforehand(3) - 20.0 / 50.0).abs() < 1e-12 && (beforehand(7) - 1.0 / 50.0).abs() < 1e-12);
    let shown = said(&project.speedup(&["report", "last"]));
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("parts/3 or parts/4/note") && words.contains(" 20 times "), "{shown}");
    let bundle = project.path("bundle").display().to_string();
    assert!(project.speedup(&["bundle", "last", "-o", &bundle]).status.success());
    succeeded(&project.speedup(&["verify", &bundle]));
}

#[test]
fn a_prior_of_what_nobody_changes_is_refused() {
    let (project, ids) = with_parts(&step(2, 1));
    for (prior, why) in [
        ("parts/9=2", "no commit of the range"),
        // The good end is no candidate.
        ("parts/0=2", "no commit of the range"),
        ("..=2", "no file or directory"),
        ("parts=0", "above 0 and at most 1000"),
        ("parts", "PATH=WEIGHT"),
    ] {
        let output = bisect(&project, &range(&ids), &["--prior", prior]);
        assert_eq!(output.status.code(), Some(2), "{prior}");
        assert!(said(&output).contains(why), "{prior}: {}", said(&output));
    }
}

#[test]
fn a_pool_bisects_and_its_coordinator_may_be_killed() {
    let (project, ids) = history(&step(5, 4));
    let mut pool = Pool::start(SPEEDUP, 2);
    let plan = project.path("plan.toml");
    let mut command = pool.command();
    command
        .args(["bisect", &range(&ids)])
        .arg(&plan)
        .args(["--submit", "--metric", "cost", "--margin", "10%", "--blocks", "2"]);
    command.current_dir(project.repository());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a command");
    let tally = |pool: &Pool| {
        let listed = pool.json(&["list"]).unwrap_or_default();
        listed[0]["tally"]["measured"].as_u64().unwrap_or(0)
    };
    eventually("something was measured", || (tally(&pool) >= 5).then_some(()));
    pool.restart_coordinator();
    let output = ended(&child.wait_with_output().expect("its end"), 0);
    assert!(output.contains(&format!("The step is at {} (Change 5)", &ids[5][..12])), "{}", output);
}
