//! Programs of MPI over hosts with an OpenSSH server each: the launchers of Open MPI and of MPICH start ranks on all hosts of a run by
//! a real ssh. It wants Debian's openmpi-bin and mpich.

use std::collections::BTreeSet;

use speedup_core::experiment::gang::GangLauncher;
use speedup_tests::{cluster::Cut, cluster::Host, cluster::SshSite, ledger::Ledger, pool::eventually};

use crate::site;

/// The variables by which a launcher reaches other hosts as they were introduced, and its word in plans.
fn launched_by(launcher: &GangLauncher) -> (&'static str, String) {
    let remote = SshSite::remote();
    let remote = remote.display();
    match launcher {
        GangLauncher::Mpich => {
            ("mpich", format!("HYDRA_LAUNCHER = \"ssh\"\nHYDRA_LAUNCHER_EXEC = \"{remote}\"\n"))
        }
        GangLauncher::None | GangLauncher::OpenMpi | GangLauncher::Srun | GangLauncher::Own(_) => (
            "openmpi",
            format!(
                "OMPI_ALLOW_RUN_AS_ROOT = \"1\"\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM = \"1\"\n\
                 OMPI_MCA_plm_rsh_agent = \"{remote}\"\n"
            ),
        ),
    }
}

/// Two runs of each of two versions of a program, on three hosts with two ranks each.
fn plan(launcher: &GangLauncher, program: &str) -> String {
    let (word, variables) = launched_by(launcher);
    format!(
        "[experiment]\nname = \"mpi\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.solve]\nhosts = 3\nranks_per_host = 2\nlauncher = \"{word}\"\ntimeout = \"30s\"\n\
         shell = '{program}'\n[benchmarks.solve.env]\n{variables}\
         [repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n[limits]\nattempts = 10\n\
         [output]\nkeep_of = \"all\"\n"
    )
}

/// Ranks that say where they are and sleep from 0.2 to 0.7 seconds.
const SLEEPS: &str =
    "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; echo on:$(hostname):$rank; sleep 0.$((2 + rank))";

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

/// Submits a plan and waits for its end; gives the experiment and its export, in which all four runs are measured.
fn measured(on: &SshSite, plan: &str) -> (String, String) {
    let experiment = on.site.pool.submit(plan, &[]);
    (experiment.clone(), finished(on, &experiment))
}

fn finished(on: &SshSite, experiment: &str) -> String {
    eventually("the experiment finishes", || on.site.pool.is_finished(experiment).then_some(()));
    let export = on.site.pool.export(experiment);
    assert_eq!(
        Ledger::read(&export).assert_exactly_once(4),
        4,
        "every run is measured: {}",
        on.site.pool.export_as("jsonl", experiment)
    );
    export
}

fn starts_ranks_on_all_hosts(launcher: &GangLauncher) {
    let on = site("any", 3);
    on.introduce();
    on.add(&[]);
    let (experiment, export) = measured(&on, &plan(launcher, SLEEPS));
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
    starts_ranks_on_all_hosts(&GangLauncher::OpenMpi);
}

#[test]
fn mpich_starts_ranks_on_all_hosts_of_a_run() {
    starts_ranks_on_all_hosts(&GangLauncher::Mpich);
}

/// Ranks that wait at a gate, which each host has of its own.
fn gated() -> String {
    let disk = Host::disk();
    let disk = disk.display();
    format!("touch {disk}/begun; until [ -e {disk}/go ]; do sleep 0.05; done")
}

/// What befalls a host in mid-run makes the run of all a lost one, which is repeated when the host is back; every run is measured once.
fn survives(befalls: impl Fn(&Host), mends: impl Fn(&Host)) {
    let on = site("any", 3);
    on.introduce();
    on.add(&[]);
    let experiment = on.site.pool.submit(&plan(&GangLauncher::OpenMpi, &gated()), &[]);
    let begun = format!("[ -e {}/begun ]", Host::disk().display());
    eventually("all ranks begin", || on.site.hosts.iter().all(|host| host.succeeds(&begun)).then_some(()));
    // Not the one that has started the program.
    let starts = |host: &&Host| host.succeeds("pgrep -x mpirun");
    let member = on.site.hosts.iter().find(|host| !starts(host)).expect("a host that has not started it");
    befalls(member);
    let is_lost = || on.site.pool.export(&experiment).contains("lost").then_some(());
    eventually("the attempt is lost", is_lost);
    mends(member);
    let go = format!("touch {}/go", Host::disk().display());
    eventually("all hosts are there", || on.site.hosts.iter().all(|host| host.succeeds(&go)).then_some(()));
    let export = finished(&on, &experiment);
    let ledger = Ledger::read(&export);
    let lost: BTreeSet<&str> =
        ledger.rows.iter().filter(|row| row["outcome"] == "lost").map(|row| row["host"].as_str()).collect();
    assert!(lost.contains(member.address().as_str()), "the export names {}: {export}", member.address());
}

#[test]
fn a_host_that_crashes_in_mid_run_is_a_lost_attempt_of_all() {
    survives(Host::crash, Host::boot);
}

/// No packet passes between the host and any other, so the launcher waits for it in vain, and the coordinator too.
#[test]
fn a_host_that_is_cut_off_in_mid_run_is_a_lost_attempt_of_all() {
    survives(|host| host.cut(Cut::Both), Host::heal);
}
