//! Programs of MPI over hosts with an OpenSSH server each: the launcher of Open MPI starts ranks on all hosts of a run by a real ssh.
//! It wants Debian's openmpi-bin.

use std::collections::BTreeSet;

use speedup_tests::cluster::SshSite;
use speedup_tests::ledger::Ledger;
use speedup_tests::pool::eventually;

use crate::site;

/// One program on three hosts with two ranks each, which sleep from 0.2 to 0.7 seconds and say where they are.
fn plan() -> String {
    let remote = SshSite::remote();
    let remote = remote.display();
    format!(
        "[experiment]\nname = \"mpi\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.solve]\nhosts = 3\nranks_per_host = 2\nlauncher = \"openmpi\"\ntimeout = \"60s\"\n\
         shell = 'echo on:$(hostname):$OMPI_COMM_WORLD_RANK; sleep 0.$((2 + OMPI_COMM_WORLD_RANK))'\n\
         [benchmarks.solve.env]\nOMPI_ALLOW_RUN_AS_ROOT = \"1\"\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM = \"1\"\n\
         OMPI_MCA_plm_rsh_agent = \"{remote}\"\n\
         [repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n[limits]\nattempts = 10\n\
         [output]\nkeep_of = \"all\"\n"
    )
}

/// What the ranks of each measured run said, and the run's wall time.
fn said(on: &SshSite, experiment: &str) -> Vec<(BTreeSet<String>, u64)> {
    let rows = on.site.pool.export_as("jsonl", experiment);
    let rows = rows.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let measured = rows.filter(|row| row["outcome"] == "measured");
    measured
        .map(|row| {
            let kept = row["stdout_kept"].as_str().expect("what it said");
            let said = kept.lines().filter(|line| line.starts_with("on:")).map(str::to_owned).collect();
            (said, row["wall_ns"].as_u64().expect("a time"))
        })
        .collect()
}

#[test]
fn open_mpi_starts_ranks_on_all_hosts_of_a_run() {
    let on = site("any", 3);
    on.introduce();
    on.add(&[]);
    let experiment = on.site.pool.submit(&plan(), &[]);
    eventually("the experiment finishes", || on.site.pool.is_finished(&experiment).then_some(()));
    let export = on.site.pool.export(&experiment);
    assert_eq!(Ledger::read(&export).assert_exactly_once(4), 4, "every run is measured: {export}");
    for (said, wall_ns) in said(&on, &experiment) {
        let hosts: BTreeSet<&str> = said.iter().filter_map(|line| line.split(':').nth(1)).collect();
        let ranks: BTreeSet<&str> = said.iter().filter_map(|line| line.split(':').nth(2)).collect();
        assert_eq!((hosts.len(), ranks.len()), (3, 6), "six ranks on three hosts: {said:?}");
        assert!(wall_ns >= 700_000_000, "the run lasts as long as its slowest rank: {wall_ns} ns");
    }
    let gangs = Ledger::read(&export).rows.iter().map(|row| row["gang"].clone()).collect::<BTreeSet<_>>();
    assert!(gangs.iter().all(|gang| gang.split(' ').count() == 3), "the export names the hosts: {gangs:?}");
}
