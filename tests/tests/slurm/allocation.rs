//! Coordinator and agents within one allocation, by `deploy/slurm/allocation.sbatch` as it stands and by a user who may do nothing
//! special. What was measured is judged by the checker from an export of what the jobs left, when no coordinator runs.

use std::{collections::BTreeSet, fs, path::Path, path::PathBuf};

use serde_json::Value;
use speedup_tests::checker::{self, Row, Verdict};
use speedup_tests::cluster::{Gate, Host, Plan, SlurmSite};
use speedup_tests::pool::eventually;

use crate::site;

/// One benchmark in two versions, two runs each, which wait until they may go on.
const FOUR: Plan = Plan { benchmarks: 1, runs: 2, timeout: "1m", gate: Gate::Closed };

/// A plan for jobs of a user.
struct Job<'a> {
    on: &'a SlurmSite,
    text: String,
    planned: usize,
}

impl<'a> Job<'a> {
    fn of(on: &'a SlurmSite, plan: Plan) -> Self {
        let text = on.site.plan(plan);
        fs::write(on.site.pool.path().join("wanted.toml"), &text).expect("a plan");
        Self { on, text, planned: plan.planned() }
    }

    /// Submits the script with the plan.
    fn start(&self, options: &[&str], arguments: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/slurm/allocation.sbatch");
        self.on.batch(&[&["--time=10"], options].concat(), &script, &[&["wanted.toml"], arguments].concat())
    }

    /// What the jobs have left.
    fn left(&self, name: &str) -> PathBuf {
        self.on.site.pool.path().join("wanted.speedup").join(name)
    }

    /// What a job has said.
    fn said(&self, job: &str) -> String {
        fs::read_to_string(self.on.site.pool.path().join(format!("speedup-{job}.log"))).unwrap_or_default()
    }

    /// What the coordinator in the allocation says of the experiment.
    fn status(&self) -> Option<Value> {
        let mut list = self.on.as_user(self.on.site.pool.binary());
        list.args(["list", "--format", "json", "--access-file"]).arg(self.left("access.toml"));
        let listed: Value = serde_json::from_slice(&list.output().ok()?.stdout).ok()?;
        listed.get(0).cloned()
    }

    /// The hosts on which runs have begun, once there are so many.
    fn begun(&self, wanted: usize) -> Vec<&'a Host> {
        eventually("runs begin", || {
            let hosts = self.on.site.hosts.iter().filter(|host| self.on.site.has_begun(host));
            let hosts: Vec<&Host> = hosts.collect();
            (hosts.len() >= wanted).then_some(hosts)
        })
    }

    /// Judges the export of what was left, which nobody serves any more: each run was measured, and counts once.
    fn check(&self) -> Verdict {
        let mut export = self.on.as_user(self.on.site.pool.binary());
        export.args(["export", "last", "--format", "jsonl", "--data"]).arg(self.left("data"));
        let output = export.output().expect("the command");
        let rows = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let verdict = checker::check(&self.text, &rows);
        verdict.assert_ok();
        assert_eq!(verdict.counting(), self.planned, "every run is measured:\n{rows}");
        verdict
    }
}

/// From a plan to a report by one `sbatch`, with the nodes given back at its end. The same job again only reports.
#[test]
fn one_job_makes_a_report_of_a_plan() {
    let on = site("distinct", 5);
    let job = Job::of(&on, Plan { gate: Gate::Open, ..FOUR });
    let first = job.start(&["--nodes=5"], &[]);
    assert_eq!(on.slurm.wait_for_end(&first), "COMPLETED", "{}", job.said(&first));
    let verdict = job.check();
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    let hosts: BTreeSet<&str> = verdict.rows.iter().map(Row::host).collect();
    assert_eq!(hosts.len(), 4, "an agent on each node but that of the coordinator: {hosts:?}");
    let report = fs::read_to_string(job.left("report.txt")).expect("a report");
    assert!(report.contains("4 of 4 runs"), "{report}");
    let rows = fs::read_to_string(job.left("observations.csv")).expect("an export").lines().count();
    assert_eq!(rows, 1 + 4, "a line of names, and one for each run");
    assert!(job.left("report.html").exists());

    fs::remove_file(job.left("report.txt")).expect("a report");
    let again = job.start(&["--nodes=2"], &[]);
    assert_eq!(on.slurm.wait_for_end(&again), "COMPLETED", "{}", job.said(&again));
    assert_eq!(fs::read_to_string(job.left("report.txt")).expect("a report"), report);
    job.check();
}

/// The job is cancelled while runs are measured, and another continues: what was measured counts, what was cut off is repeated on
/// nodes that have not had it, and no run counts twice. Shortly before the cut there is a report of what was measured until then.
#[test]
fn a_job_that_was_cut_off_is_continued_by_another() {
    let on = site("reallocated", 7);
    let job = Job::of(&on, FOUR);
    let first = job.start(&["--nodes=7"], &[]);
    for host in job.begun(4).iter().take(2) {
        on.site.open_gate_for(host);
    }
    let is_measured = || (job.status()?["tally"]["measured"] == 2).then_some(());
    eventually("two runs are measured", is_measured);
    on.slurm.signal(&first, "USR1");
    let report = eventually("there is a report so far", || fs::read_to_string(job.left("report.txt")).ok());
    assert!(report.contains("2 of 4 runs measured"), "{report}");
    on.slurm.cancel(&first);
    assert_eq!(on.slurm.wait_for_end(&first), "CANCELLED", "{}", job.said(&first));

    on.site.open_gate();
    let second = job.start(&["--nodes=7"], &[]);
    assert_eq!(on.slurm.wait_for_end(&second), "COMPLETED", "{}", job.said(&second));
    assert!(job.said(&second).contains("allocation: continuing"), "{}", job.said(&second));
    let verdict = job.check();
    // What was cut off on one node may have begun on another that ended a moment later.
    assert!(verdict.lost().count() >= 2, "what was cut off: {verdict:?}");
    let report = fs::read_to_string(job.left("report.txt")).expect("a report");
    assert!(report.contains("4 of 4 runs"), "{report}");
}

/// Nodes that can take none of the runs are given back; a job on others does the rest.
#[test]
fn nodes_that_are_used_up_are_given_back() {
    let on = site("distinct", 5);
    let job = Job::of(&on, Plan { gate: Gate::Open, ..FOUR });
    let refused = job.start(&["--nodes=3"], &[]);
    assert_eq!(on.slurm.wait_for_end(&refused), "FAILED", "{}", job.said(&refused));
    assert!(job.said(&refused).contains("needs 4 fresh hosts"), "{}", job.said(&refused));

    let first = job.start(&["--nodes=3", "--export=ALL,SPEEDUP_PATIENCE=5"], &["--wait-for-hosts"]);
    assert_eq!(on.slurm.wait_for_end(&first), "FAILED", "{}", job.said(&first));
    assert!(job.said(&first).contains("given back"), "{}", job.said(&first));
    let report = fs::read_to_string(job.left("report.txt")).expect("a report");
    assert!(report.contains("2 of 4 runs measured"), "{report}");

    let used: Vec<String> = job.begun(2).iter().map(|host| host.name()).collect();
    let exclude = format!("--exclude={}", used.join(","));
    let second = job.start(&["--nodes=3", &exclude], &[]);
    assert_eq!(on.slurm.wait_for_end(&second), "COMPLETED", "{}", job.said(&second));
    let verdict = job.check();
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
}

/// Another plan is not taken for the one that was submitted from the same directory.
#[test]
fn another_plan_in_the_same_place_is_refused() {
    let on = site("any", 1);
    let job = Job::of(&on, Plan { gate: Gate::Open, ..FOUR });
    let first = job.start(&["--nodes=1"], &[]);
    assert_eq!(on.slurm.wait_for_end(&first), "COMPLETED", "{}", job.said(&first));
    fs::write(on.site.pool.path().join("wanted.toml"), job.text.replace("runs = 2", "runs = 3"))
        .expect("a plan");
    let second = job.start(&["--nodes=1"], &[]);
    assert_eq!(on.slurm.wait_for_end(&second), "FAILED", "{}", job.said(&second));
    assert!(job.said(&second).contains("was submitted"), "{}", job.said(&second));
    job.check();
}
