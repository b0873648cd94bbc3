//! Versions from Git, with real repositories, a real compiler and programs that take a known time: what is measured is what was
//! committed, the report says which commits that were, and nothing is left behind, whatever ends the command.

mod bisect;
mod left_behind;
mod refusals;
mod track;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use speedup_tests::{output::said, output::succeeded, pool::Pool, pool::eventually};
use tempfile::TempDir;

use crate::SPEEDUP;

/// A program that takes as long as its source says, and shows that it stands in its commit. It sleeps: what computes takes three times
/// as long on a busy machine, and then no verdict is certain.
const PROGRAM: &str = r#"#include <stdio.h>
#include <string.h>
#include <time.h>
#include "work.h"
int main(int count, char **words) {
  long milliseconds = MILLISECONDS * (count > 1 && !strcmp(words[1], "twice") ? 2 : 1);
  struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&pause, 0);
  return puts(NAME) < 0;
}
"#;
const BUILD: &str = "cc -O1 -o prog prog.c";

/// A repository, and beside it what commands need: a state directory and one for temporary files.
struct Project {
    home: TempDir,
}

impl Project {
    /// Two commits, of which the second takes a twelfth of the time: `v1`, and `main`, which is checked out.
    fn new() -> Self {
        let project = Self::empty();
        project.commit("Compute", &[("prog.c", PROGRAM), ("work.h", &work(120, "slow"))]);
        project.git(&["tag", "v1"]);
        project.commit("Compute less", &[("work.h", &work(10, "fast"))]);
        project
    }

    /// A repository without a commit.
    fn empty() -> Self {
        let project = Self { home: tempfile::tempdir().expect("a directory") };
        for name in ["repository", "temporary"] {
            fs::create_dir(project.path(name)).expect("a directory");
        }
        project.git(&["init", "-q"]);
        project.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        project
    }

    /// A path beside the repository.
    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn repository(&self) -> PathBuf {
        self.path("repository")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.repository().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Commits files, and gives the id.
    fn commit(&self, message: &str, files: &[(&str, &str)]) -> String {
        files.iter().for_each(|(name, text)| self.write(name, text));
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    fn id(&self, revision: &str) -> String {
        self.git(&["rev-parse", revision])
    }

    /// What git says, which must succeed.
    fn git(&self, arguments: &[&str]) -> String {
        let output = succeeded(
            &surrounded(Command::new("git"), self.home.path())
                .args(arguments)
                .current_dir(self.repository())
                .output()
                .expect("git"),
        );
        output.trim().to_owned()
    }

    /// A command of ours that stands in the repository.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = surrounded(Command::new(SPEEDUP), self.home.path());
        command.args(arguments).current_dir(self.repository()).stdin(Stdio::null()).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", self.path("state")).env("TMPDIR", self.path("temporary"));
        command.env_remove("SPEEDUP_COORDINATOR");
        command
    }

    fn speedup(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command")
    }

    /// The report of what must succeed.
    fn report(&self, arguments: &[&str]) -> Json {
        let output = self.speedup(&[arguments, &["--format", "json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        serde_json::from_slice(&output.stdout).expect("JSON alone on standard output")
    }

    /// Waits until nothing is left of the commits that were on the disk.
    fn assert_removed(&self) {
        let left =
            || fs::read_dir(self.path("temporary")).expect("a directory").flatten().collect::<Vec<_>>();
        eventually("everything is removed", || left().is_empty().then_some(()));
    }
}

/// A command to which only the repository of the test is known.
fn surrounded(mut command: Command, home: &Path) -> Command {
    command
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", home.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "test").env(format!("GIT_{who}_EMAIL"), "test@localhost");
    }
    command
}

fn work(milliseconds: u32, name: &str) -> String {
    format!("#define MILLISECONDS {milliseconds}\n#define NAME \"{name}\"\n")
}

/// A plan that compares v1 with HEAD, in the repository.
fn plan(runs: u32) -> String {
    let built = "build = [\"cc\", \"-O1\", \"-o\", \"prog\", \"prog.c\"]\nproducts = { prog = \"prog\" }\n";
    format!(
        "[experiment]\nname = \"commits\"\nseed = 3\n[versions.old]\nbaseline = true\ngit = \"v1\"\n{built}\
         [versions.new]\ngit = \"HEAD\"\n{built}[benchmarks.once]\ncommand = [\"{{build.prog}}\"]\n\
         [benchmarks.twice]\ncommand = [\"{{build.prog}}\", \"twice\"]\n\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"any\"\n"
    )
}

fn commits(report: &Json) -> Vec<(String, String, String)> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let commits = report["head"]["commits"].as_array().expect("commits").iter();
    commits.map(|one| (text(&one["version"]), text(&one["id"]), text(&one["subject"]))).collect()
}

fn verdicts(report: &Json) -> Vec<&str> {
    let benchmarks = report["benchmarks"].as_array().expect("benchmarks").iter();
    benchmarks.map(|one| one["comparisons"][0]["verdict"].as_str().expect("a verdict")).collect()
}

#[test]
fn a_plan_compares_commits_and_everything_says_which() {
    let project = Project::new();
    let (old, new) = (project.id("v1"), project.id("HEAD"));
    project.write("plan.toml", &plan(12));
    project.write("prog.c", "#error what is not committed is not measured\n");
    let checked = project.speedup(&["plan", "check", "plan.toml", "--hosts", "1", "--estimate", "1s"]);
    assert!(said(&checked).contains("not committed"), "{}", said(&checked));
    assert!(
        said(&checked).contains(&format!("new: HEAD is {}, Compute less", &new[..12])),
        "{}",
        said(&checked)
    );
    let output = project.speedup(&["run", "plan.toml", "--format", "json"]);
    assert!(output.status.success(), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(&format!("old: v1 is {}, Compute", &old[..12])), "{told}");
    let report: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    let words =
        |version: &str, id: &str, subject: &str| (version.to_owned(), id.to_owned(), subject.to_owned());
    assert_eq!(commits(&report), [words("old", &old, "Compute"), words("new", &new, "Compute less")]);
    assert_eq!(verdicts(&report), ["faster", "faster"]);
    let shown = said(&project.speedup(&["report", "last"]));
    assert!(shown.contains(&format!("new: HEAD is {}, Compute less", &new[..12])), "{shown}");
    let export = project.speedup(&["export", "last", "--format", "jsonl", "-o", "-"]);
    let rows: Vec<Json> = said(&export)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|row: &Json| row["run"].is_u64())
        .collect();
    assert_eq!(rows.len(), 48);
    for row in rows {
        let expected = if row["version"] == "old" { &old } else { &new };
        assert_eq!(row["commit"], **expected, "{row}");
    }
}

#[test]
fn a_pool_builds_each_commit_once() {
    let project = Project::new();
    let pool = Pool::start(SPEEDUP, 2);
    let path = project.repository().join("plan.toml");
    fs::write(&path, plan(3)).expect("a plan");
    let submitted = succeeded(&pool.command().arg("submit").arg(&path).output().expect("the command"));
    let experiment = submitted.trim().to_owned();
    pool.wait_for(&experiment);
    let export = pool.export_as("jsonl", &experiment);
    let last: Json = serde_json::from_str(export.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["builds"].as_array().expect("builds").len(), 2, "{last}");
    let report = pool.json(&["report", &experiment]).expect("a report");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert_eq!(commits(&report).len(), 2);
    // The same commits travel once.
    let again = pool.command().arg("submit").arg(&path).output().expect("the command");
    assert!(again.status.success() && !said(&again).contains("sending"), "{}", said(&again));
}

#[test]
fn bench_compares_two_commits_with_several_commands_and_touches_nothing() {
    let project = Project::new();
    project.write("work.h", "#error what is not committed is not measured\n");
    project.write("untracked", "mine\n");
    let look = || {
        let said =
            [&["status", "--porcelain"][..], &["worktree", "list"], &["stash", "list"], &["branch", "--all"]];
        said.map(|arguments| project.git(arguments))
    };
    let index = || fs::read(project.repository().join(".git/index")).expect("an index");
    let (before, index_before) = (look(), index());
    let report = project.report(&[
        "bench",
        "-r",
        "12",
        "--git",
        "v1..main",
        "--build",
        BUILD,
        "-N",
        "./prog",
        "./prog twice",
    ]);
    let names: Vec<String> = commits(&report).into_iter().map(|(version, ..)| version).collect();
    assert_eq!(names, ["v1", "main"]);
    assert_eq!(commits(&report)[1].1, project.id("main"));
    assert_eq!(verdicts(&report), ["faster", "faster"]);
    assert_eq!(index(), index_before, "byte for byte");
    assert_eq!(look(), before);
    project.assert_removed();
    let shown = said(&project.speedup(&["report", "last"]));
    assert!(shown.contains(&format!("main: main is {}, Compute less", &project.id("main")[..12])), "{shown}");
}

#[test]
fn three_dots_compare_with_the_merge_base_and_commands_stand_where_the_user_does() {
    let project = Project::empty();
    project.commit("Compute", &[("sub/prog.c", PROGRAM), ("sub/work.h", &work(10, "base"))]);
    project.git(&["checkout", "-q", "-b", "topic"]);
    project.commit("Compute much", &[("sub/work.h", &work(250, "topic"))]);
    project.git(&["checkout", "-q", "main"]);
    project.commit("Go on", &[("sub/work.h", &work(250, "main"))]);
    let mut command =
        project.command(&["bench", "-r", "8", "--git", "main...topic", "--build", BUILD, "--format", "json"]);
    let output = command
        .args(["-p", "test -f prog.c", "./prog"])
        .current_dir(project.repository().join("sub"))
        .output();
    let output = succeeded(&output.expect("the command"));
    let report: Json = serde_json::from_str(&output).expect("JSON");
    let (version, id, subject) = &commits(&report)[0];
    assert_eq!((&**version, id, &**subject), ("merge-base", &project.id("main~1"), "Compute"));
    assert_eq!(verdicts(&report), ["slower"], "main itself is as slow as topic");
    assert_eq!(report["head"]["commits"][0]["revision"], "main...topic");
    project.assert_removed();
}

#[test]
fn the_files_of_a_commit_arrive_as_they_are() {
    let project = Project::empty();
    project.write("dir with space/ü\ttab", "odd\n");
    project.write("run.sh", "#!/bin/sh\necho run\n");
    let run = project.repository().join("run.sh");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("permissions");
    std::os::unix::fs::symlink("run.sh", project.repository().join("link")).expect("a link");
    std::os::unix::fs::symlink("/nowhere", project.repository().join("broken")).expect("a link");
    let long = format!("{}/{}", "d".repeat(150), "f".repeat(150));
    project.write(".gitattributes", "hidden export-ignore\nsubst export-subst\ncrlf text eol=crlf\n");
    let files = [
        ("hidden", "there\n"),
        ("subst", "$Format:%H$\n"),
        ("crlf", "a\nb\n"),
        (&*long, "long\n"),
        ("empty", ""),
    ];
    project.commit("Odd files", &files);
    let test = "test -x run.sh && test ! -x subst && test \"$(readlink link)\" = run.sh && test -L broken && test \"$(./link)\" = run && \
        test -f 'dir with space/ü\ttab' && test -f hidden && grep -qxF '$Format:%H$' subst && \
        test \"$(wc -c < crlf)\" = 4 && test -f d*/f* && test ! -s empty && test ! -e .git";
    let plan = format!(
        "[experiment]\nname = \"odd\"\n[versions.a]\nbaseline = true\ngit = \"HEAD\"\nbuild_shell = '''\n{test} && cp run.sh out'''\n\
         products = {{ out = \"out\" }}\n[versions.b]\ngit = \"HEAD\"\nbuild = [\"cp\", \"run.sh\", \"out\"]\nproducts = {{ out = \"out\" }}\n\
         [benchmarks.x]\ncommand = [\"{{build.out}}\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n"
    );
    let beside = plan.replace("git = \"HEAD\"", "git = \"HEAD\"\nrepository = \"repository\"");
    fs::write(project.path("plan.toml"), beside).expect("a plan");
    project.commit("Say more", &[]);
    let plan = project.path("plan.toml").display().to_string();
    let report = project.report(&["run", &plan]);
    assert_eq!(report["head"]["state"], "complete", "{report}");
    // On this machine they are put by other code.
    project.report(&["bench", "-r", "2", "--git", "HEAD~1..HEAD", "--build", test, "true"]);
    project.assert_removed();
}

#[test]
fn the_example_runs_as_it_stands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let made =
        Command::new("sh").arg("examples/git/make-repository").current_dir(root).output().expect("a shell");
    assert!(made.status.success(), "{}", said(&made));
    let project = Project::empty();
    let mut command = project.command(&["run", "examples/git.toml", "-r", "8", "--format", "json"]);
    let output = succeeded(&command.current_dir(root).output().expect("the command"));
    let report: Json = serde_json::from_str(&output).expect("JSON");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert_eq!(commits(&report)[1].2, "Divide by odd numbers only");
    let words = ["bisect", "v1..main", "examples/git.toml", "--only", "below-20000", "--format", "json"];
    let output = succeeded(&project.command(&words).current_dir(root).output().expect("the command"));
    let report: Json = serde_json::from_str(&output).expect("JSON");
    let found = &report["rule"]["bisection"];
    assert_eq!(found["verdict"], "step");
    assert_eq!(found["commits"][1]["id"], commits(&report)[1].1.as_str());
}
