//! What is left of `speedup bench --git`, whatever ends it: nothing.

use std::{fs, process::Child, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use speedup_tests::{output::ended, output::succeeded, pool::eventually, process::Process};

use super::{BUILD, Project, said};

fn start(project: &Project, arguments: &[&str]) -> Child {
    let mut command = project.command(&[&["bench", "--git", "v1..main"], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command")
}

#[test]
fn a_build_that_fails_is_told_with_the_compilers_words() {
    let project = Project::new();
    project.commit("Break", &[("work.h", "int broken = ;\n")]);
    let output = project.speedup(&["bench", "-r", "3", "--git", "v1..HEAD", "--build", BUILD, "./prog"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for words in ["the build of HEAD ended with", BUILD, "work.h:1:", "error:", "Break"] {
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    assert!(output.stdout.is_empty(), "nothing was measured: {}", said(&output));
    project.assert_removed();
    // In a plan it ends the experiment.
    project.write("plan.toml", &super::plan(2));
    let output = ended(&project.speedup(&["run", "plan.toml"]), 1);
    assert!(output.contains("build 1 of version new"), "{output}");
    assert!(output.contains("work.h:1:"), "{output}");
    project.assert_removed();
}

#[test]
fn a_directory_that_nobody_may_write_to_is_removed_too() {
    let project = Project::new();
    let build = format!("{BUILD} && mkdir -p cache/module && touch cache/module/file && chmod -R a-w cache");
    succeeded(&project.speedup(&["bench", "-r", "2", "--git", "v1..main", "--build", &build, "./prog"]));
    project.assert_removed();
}

#[test]
fn ctrl_c_reports_what_is_measured_and_leaves_nothing_to_resume() {
    let project = Project::new();
    let ran = project.path("ran");
    let line = format!("echo >> {} && ./prog", ran.display());
    let child = start(&project, &["-r", "200", "--build", BUILD, &line]);
    let runs = || fs::read_to_string(&ran).map_or(0, |text| text.lines().count());
    eventually("runs are under way", || (runs() >= 6).then_some(()));
    kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
    let output = ended(&child.wait_with_output().expect("an end"), 130);
    assert!(!output.contains("speedup resume"), "{output}");
    assert!(output.contains("Compute less"), "the report says which commits: {output}");
    project.assert_removed();
    ended(&project.speedup(&["resume", "last"]), 2);
}

#[test]
fn a_kill_while_it_measures_leaves_nothing() {
    let project = Project::new();
    let ran = project.path("ran");
    let line = format!("echo >> {} && ./prog", ran.display());
    let mut child = start(&project, &["-r", "200", "--build", BUILD, &line]);
    eventually("runs are under way", || fs::metadata(&ran).ok().filter(|is| is.len() >= 6).map(drop));
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    project.assert_removed();
}

#[test]
fn a_signal_while_it_builds_ends_the_build() {
    for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
        let project = Project::new();
        let started = project.path("started");
        // Of a build that has processes of its own.
        let build = format!(
            "sh -c 'echo $$ > {0}.new && mv {0}.new {0} && exec sleep 1000'; true",
            started.display()
        );
        let mut child = start(&project, &["-r", "3", "--build", &build, "true"]);
        let process = eventually("the build is under way", || {
            let id = fs::read_to_string(&started).ok()?;
            Some(Process::of_id(id.trim().parse().expect("an id")))
        });
        assert!(!process.has_ended());
        kill_process(Pid::from_child(&child), signal).expect("a signal");
        child.wait().expect("its end");
        project.assert_removed();
        eventually("the build has ended", || process.has_ended().then_some(()));
    }
}
