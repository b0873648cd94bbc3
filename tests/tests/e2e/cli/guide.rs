//! What the guide tells its readers to type, typed: the commands of its pages, word for word, and the plans of the examples.

use std::{os::unix::process::CommandExt as _, path::PathBuf, process::Command, process::Output};

use rustix::process::{Pid, Signal, kill_process_group};
use speedup_tests::{output::succeeded, root};

use crate::SPEEDUP;

fn text_of(page: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(page)).expect("a page")
}

/// The ```sh blocks of a page, one after the other.
fn all_commands(page: &str) -> String {
    blocks(&text_of(page))
}

/// Those from a heading on.
fn commands(page: &str, from: &str) -> String {
    let text = text_of(page);
    blocks(text.split_once(&format!("\n## {from}\n")).expect("the heading").1)
}

fn blocks(part: &str) -> String {
    let blocks =
        part.split("\n```sh\n").skip(1).filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block));
    blocks.map(|block| format!("{block}\n")).collect()
}

/// A reader's home, with a copy of the binary where its build makes it and the examples beside it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(home.path().join("target/dist")).expect("where the build makes it");
        std::os::unix::fs::symlink(SPEEDUP, home.path().join("target/dist/speedup")).expect("the binary");
        std::os::unix::fs::symlink(root().join("examples"), home.path().join("examples"))
            .expect("the examples");
        std::fs::create_dir_all(home.path().join(".local/bin")).expect("a directory of programs");
        std::fs::copy(SPEEDUP, home.path().join(".local/bin/speedup")).expect("the binary in the path");
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Types the lines; all that they start is ended with them.
    fn types(&self, lines: &str) -> Output {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path(".local/bin").display());
        let shell = Command::new("bash")
            .args(["--norc", "-eu", "-c", lines])
            .current_dir(self.0.path())
            .env_clear()
            .envs([("HOME", self.0.path().as_os_str()), ("PATH", path.as_ref())])
            .process_group(0)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("bash");
        let group = Pid::from_child(&shell);
        let output = shell.wait_with_output().expect("its end");
        // Nobody is left where the page cleans up by itself.
        let _ = kill_process_group(group, Signal::KILL);
        output
    }

    /// The same, and what was printed.
    fn types_well(&self, lines: &str) -> String {
        succeeded(&self.types(lines))
    }
}

#[test]
fn the_first_run_goes_as_it_is_written() {
    let home = Home::new();
    let said = home.types_well(&commands("first-run.md", "The binary"));
    let timer = "program that only exits, timer";
    for expected in [timer, "runs            120 = 6 cells × 20", "complete: 120 of 120 runs measured"] {
        assert!(said.contains(expected), "{expected} is not said:\n{said}");
    }
    let rows = std::fs::read_to_string(home.path("observations.csv")).expect("the export");
    assert_eq!(rows.lines().count(), 121, "a header and a row for each run");
    let report = std::fs::read(home.path("report.json")).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("one JSON value");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert!(home.path(".local/share/man/man1/speedup-plan-check.1").is_file(), "the page of a verb");
}

#[test]
fn the_cluster_on_one_machine_goes_as_it_is_written() {
    let home = Home::new();
    let said = home.types_well(&commands("cluster.md", "Try it on one machine"));
    // Lines are broken at the width of the page.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "Independence was not provided: 8 hosts were one machine, by boot and hardware ids, and all 8 runs \
                  were executed on it; the results hold for this machine only.";
    assert!(words.contains(wanted), "{said}");
    let rows = std::fs::read_to_string(home.path("observations.csv")).expect("the export");
    assert_eq!(rows.lines().count(), 9, "a header and a row for each run");
}

#[test]
fn the_numbers_of_the_page_on_statistics_are_what_its_commands_print() {
    let page = std::fs::read_to_string(root().join("docs/statistics.md")).expect("the page");
    let said = Home::new().types_well(&commands("statistics.md", "How many runs"));
    let printed = page.split("\n```text\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let printed: Vec<&str> = printed.map(|(block, _)| block).collect();
    assert_eq!(printed.len(), 3);
    for block in printed {
        assert!(said.contains(block), "this is not printed:\n{block}\n\nbut\n{said}");
    }
}

#[test]
fn the_commands_that_need_no_pool_go_as_they_are_written() {
    for (page, from, wanted) in [
        ("samples.md", "`speedup samples benchmarks`", "Wald (published)           378"),
        ("samples.md", "`speedup samples levels`", "7 units, 490.0 measurements"),
        ("speedup-test.md", "", "Overall speedup (ExecutionTime=mean) = 1.216"),
        ("agent.md", "", "program that only exits, timer"),
    ] {
        let lines = if from.is_empty() { all_commands(page) } else { commands(page, from) };
        assert!(lines.contains("speedup "), "{page} has commands");
        let said = Home::new().types_well(&lines);
        assert!(said.contains(wanted), "{page}, {from}: {wanted} is not said:\n{said}");
    }
}

#[test]
fn the_track_of_the_example_goes_as_it_is_written() {
    let text = text_of("tracks.md");
    let from = text.split_once("\n## Try it\n").expect("the heading").1;
    let lines = blocks(from.split_once("\n## ").expect("another heading").0);
    let said = Home::new().types_well(&lines);
    assert!(said.contains("Track primes") && said.contains("Divide by odd numbers only"), "{said}");
}

#[test]
fn every_plan_of_the_examples_is_sound() {
    let home = Home::new();
    let plans = std::fs::read_dir(root().join("examples")).expect("the examples").flatten();
    let plans: Vec<PathBuf> = plans
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|is| is == "toml"))
        .collect();
    assert!(plans.len() >= 4, "{plans:?}");
    // What its page says to do first.
    home.types_well("sh examples/git/make-repository");
    for plan in plans {
        let name = plan.file_name().expect("a name").to_string_lossy().into_owned();
        let said = home.types_well(&format!("speedup plan check examples/{name} --hosts 1 --estimate 1s"));
        assert!(said.contains("1 is enough"), "{name} does not run as it stands on one machine:\n{said}");
    }
    // The check is one that can fail.
    std::fs::write(home.path("broken.toml"), "[experiment]\nname = \"x\"\nnonsense = 1\n").expect("a plan");
    assert_eq!(home.types("speedup plan check broken.toml").status.code(), Some(2));
}
