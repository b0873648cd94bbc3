//! What administrators allow a user, by limits of associations and qualities of service.

use speedup_tests::{cluster::Gate, cluster::Plan, cluster::SlurmSite, pool::eventually};

use crate::SPEEDUP;

/// One benchmark in two versions, a run each.
const TWO: Plan = Plan { benchmarks: 1, runs: 1, timeout: "1m", gate: Gate::Closed };

/// One job at a time is allowed: the other waits, which is told in Slurm's words; no more are asked for meanwhile, and one after the other
/// serves its run.
#[test]
fn jobs_beyond_a_limit_wait_and_are_told_with_it() {
    let on = SlurmSite::start_with_accounts(SPEEDUP, "distinct", 3);
    on.ask(&[], &["--time=10", "--account=physics"]);
    on.slurm.limit(&["modify", "user", "nobody", "set", "MaxJobs=1"]);
    one_at_a_time(&on, "AssocMaxJobsLimit");
    on.slurm.limit(&["modify", "user", "nobody", "set", "MaxJobs=-1"]);
    on.slurm.limit(&["modify", "qos", "normal", "set", "MaxJobsPerUser=1"]);
    one_at_a_time(&on, "QOSMaxJobsPerUserLimit");
    on.slurm.limit(&["modify", "qos", "normal", "set", "MaxJobsPerUser=-1"]);
    on.slurm.limit(&["modify", "user", "nobody", "set", "GrpTRES=node=1"]);
    one_at_a_time(&on, "AssocGrpNodeLimit");
}

fn one_at_a_time(on: &SlurmSite, reason: &str) {
    let before = on.slurm.remembered().len();
    let experiment = on.site.submit(TWO);
    let words = format!("PENDING ({reason})");
    eventually(&format!("a job waits: {words}"), || {
        let shown = on.shown();
        let waits = shown["jobs"].as_array()?.iter().filter(|job| job["words"] == words.as_str()).count();
        (waits == 1).then_some(())
    });
    let explained = on.site.pool.speedup(&["explain", "last"]);
    let said = String::from_utf8_lossy(&explained.stderr).into_owned();
    assert!(said.contains(&format!("1 job {words}")), "{said}");
    on.site.open_gate();
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.wait_until_given_back();
    let remembered = on.slurm.remembered();
    assert_eq!(remembered.len() - before, 2, "one job a run: {remembered:?}");
    on.site.close_gate();
}
