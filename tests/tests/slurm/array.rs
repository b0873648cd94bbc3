//! The plain way: one array of agents by the user's own `sbatch`, and a coordinator that knows of no Slurm.

use std::path::Path;

use speedup_tests::{cluster::Gate, cluster::Plan, pool::eventually};

use crate::site;

/// As the script of `deploy/slurm` stands: each agent on a whole node, found by the access file in the shared home. When the
/// array is cancelled the agents end by themselves and their hosts are away.
#[test]
fn an_array_of_agents_serves_a_plan() {
    let on = site("distinct", 6);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/slurm/agents.sbatch");
    let job = on.batch(&["--array=1-6", "--time=10"], &script, &[]);
    on.site.pool.wait_for_hosts(6);
    assert_eq!(on.shown(), serde_json::Value::Null, "the coordinator asks for nothing");
    let experiment = on.site.submit(Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open });
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 0, "{verdict:?}");
    on.slurm.cancel(&job);
    eventually("no job is left", || on.slurm.jobs().is_empty().then_some(()));
    eventually("all hosts are away", || {
        let hosts = on.site.pool.json(&["hosts", "list"])?;
        hosts.as_array()?.iter().all(|host| host["connected"] == false).then_some(())
    });
}
