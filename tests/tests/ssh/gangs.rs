//! Programs of MPI over hosts with an OpenSSH server each: the launchers of Open MPI and MPICH start ranks on all hosts of a run by a
//! real ssh, and a host that crashes costs the attempt of all.

use std::collections::BTreeSet;

use speedup_tests::cluster::{Host, SshSite};
use speedup_tests::ledger::Ledger;
use speedup_tests::pool::eventually;

use crate::site;

/// One program on three hosts with two ranks each, which sleep from 0.2 to 0.7 seconds and say where they are.
fn plan(launcher: &str, rank: &str, more: &str) -> String {
    let remote = SshSite::remote();
    let remote = remote.display();
    format!(
        "[experiment]\nname = \"mpi\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.solve]\nhosts = 3\nranks_per_host = 2\n{launcher}\ntimeout = \"60s\"\n\
         shell = 'echo on:$(hostname):${rank}; sleep 0.$((2 + {rank})){more}'\n\
         [benchmarks.solve.env]\nOMPI_ALLOW_RUN_AS_ROOT = \"1\"\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM = \"1\"\n\
         OMPI_MCA_plm_rsh_agent = \"{remote}\"\nHYDRA_LAUNCHER_EXEC = \"{remote}\"\nHYDRA_IFACE = \"eth0\"\n\
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

fn ranks_run_on_all_hosts(launcher: &str, rank: &str) {
    let on = site("any", 3);
    on.introduce();
    on.add(&[]);
    let experiment = on.site.pool.submit(&plan(launcher, rank, ""), &[]);
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

#[test]
fn open_mpi_starts_ranks_on_all_hosts_of_a_run() {
    ranks_run_on_all_hosts("launcher = \"openmpi\"", "OMPI_COMM_WORLD_RANK");
}

#[test]
fn mpich_starts_ranks_on_all_hosts_of_a_run() {
    ranks_run_on_all_hosts("launcher = \"mpich\"", "PMI_RANK");
}

#[test]
fn a_host_that_crashes_under_a_rank_costs_the_attempt_of_all() {
    let on = site("any", 4);
    on.introduce();
    on.add(&[]);
    let slow = plan("launcher = \"openmpi\"", "OMPI_COMM_WORLD_RANK", "; sleep 4");
    // The launcher may wait for ever for the host that is gone.
    let slow = slow.replace("timeout = \"60s\"", "timeout = \"20s\"");
    let experiment = on.site.pool.submit(&slow, &[]);
    let is_member = |host: &&Host| {
        let hosts = on.site.pool.json(&["hosts", "list"])?;
        let of_host = hosts.as_array()?.iter().find(|one| one["host"] == on.site.id_of(host).as_str())?;
        let lease = &of_host["lease"];
        (!lease.is_null() && lease["started"].is_null() && lease["seat"]["number"] != 0).then_some(())
    };
    let has_ranks = |host: &&Host| host.succeeds("pgrep -f 'sleep [4]'");
    let member = eventually("a rank is at work on a host that did not start the program", || {
        on.site.hosts.iter().find(|host| is_member(host).is_some() && has_ranks(host))
    });
    member.crash();
    eventually("the experiment finishes", || on.site.pool.is_finished(&experiment).then_some(()));
    let ledger = Ledger::read(&on.site.pool.export(&experiment));
    assert_eq!(ledger.assert_exactly_once(4), 4, "every run is measured");
    let lost = ledger.rows.iter().filter(|row| row["outcome"] == "lost").count();
    assert!(lost >= 1, "an attempt was lost with the host");
}
