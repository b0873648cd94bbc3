//! The rules, one by one.

use std::collections::BTreeSet;

use super::super::*;
use crate::{value::id::IdError, value::time::Timestamp};

const LIMITS: ProvisionLimits =
    ProvisionLimits { jobs: 8, queued: 4, node_time: None, patience: QUEUE_PATIENCE };

fn at(seconds: u64) -> Timestamp {
    Timestamp(0) + Span::from_secs(1_000 + seconds)
}

fn name<T: std::str::FromStr<Err = IdError>>(text: &str) -> T {
    text.parse().unwrap()
}

fn job(id: &str, state: JobState) -> Job {
    let runs = state == JobState::Running;
    Job {
        id: name(id),
        state,
        words: "NODE_FAIL".to_owned(),
        node: runs.then(|| name("n1")),
        started: runs.then(|| at(0)),
        ends: None,
    }
}

fn host(job: &str, worth: Worth) -> ProvidedHost {
    ProvidedHost {
        host: name("h1"),
        node: name("n1"),
        job: Some(name(job)),
        boot: name("boot"),
        is_here: true,
        is_busy: false,
        has_served: false,
        engaged: ServiceState::Serving,
        worth,
        left_out_until: None,
    }
}

fn demand(missing: u32, hosts: Vec<ProvidedHost>) -> Demand {
    Demand { missing, hosts, ..Demand::default() }
}

fn gives_back(job: &str, why: Cancelled) -> ProvisionAction {
    ProvisionAction::GiveBack { host: name("h1"), job: name(job), why }
}

/// What the only queue decides.
fn decided(
    now: Timestamp,
    limits: &ProvisionLimits,
    ledger: &Ledger,
    jobs: &[Job],
    demand: &Demand,
) -> Vec<ProvisionAction> {
    decide(now, limits, ledger, jobs, demand, &BTreeSet::new())
}

/// A ledger that has seen this at each of these seconds, and what it decides at the last.
fn looked(ledger: &mut Ledger, seconds: &[u64], jobs: &[Job], demand: &Demand) -> Vec<ProvisionAction> {
    seconds.iter().for_each(|second| ledger.observe(at(*second), jobs, demand));
    decided(at(*seconds.last().unwrap()), &LIMITS, ledger, jobs, demand)
}

#[test]
fn as_many_are_asked_for_as_are_missing_within_the_limits() {
    let mut ledger = Ledger::default();
    let asks = |jobs| vec![ProvisionAction::Submit { jobs, hosts: 1, exclude: Nodes::new() }];
    assert_eq!(looked(&mut ledger, &[0], &[], &demand(0, vec![])), []);
    assert_eq!(looked(&mut ledger, &[0], &[], &demand(3, vec![])), asks(3));
    assert_eq!(looked(&mut ledger, &[0], &[], &demand(30, vec![])), asks(4), "no more in the queue");
    let queued = [job("1", JobState::Queued), job("2", JobState::Running)];
    assert_eq!(looked(&mut ledger, &[0], &queued, &demand(3, vec![])), asks(1), "two are under way");
}

#[test]
fn hosts_that_serve_together_are_asked_for_in_one_job_and_given_back_as_one() {
    let mut ledger = Ledger::default();
    let wants =
        |missing, in_one_job, hosts| Demand { missing, together: 4, in_one_job, hosts, ..Demand::default() };
    let asks = |jobs, hosts| ProvisionAction::Submit { jobs, hosts, exclude: Nodes::new() };
    assert_eq!(looked(&mut ledger, &[0], &[], &wants(4, true, vec![])), [asks(1, 4)]);
    assert_eq!(
        looked(&mut ledger, &[0], &[], &wants(3, false, vec![])),
        [asks(1, 3)],
        "one is there already"
    );
    assert_eq!(looked(&mut ledger, &[0], &[], &wants(3, true, vec![])), [], "in another job");
    let large = Demand { together: 6, ..wants(6, true, vec![]) };
    assert_eq!(looked(&mut ledger, &[0], &[], &large), [asks(1, 6)], "one may be larger than the queue");

    let parts = |state| ["9.0", "9.1", "9.2", "9.3"].map(|id| job(id, state));
    let excluded = ProvidedHost { job: None, is_here: false, ..host("0", Worth::Nothing) };
    let nodes: Nodes = [name("n1")].into();
    let here = || vec![excluded.clone()];
    let found = looked(&mut ledger, &[1], &parts(JobState::Queued), &wants(4, true, here()));
    assert_eq!(found, [ProvisionAction::Exclude { job: name("9.0"), nodes: nodes.clone() }], "once for all");
    ledger.excluded(&name("9.0"), &nodes);
    assert!(ledger.jobs.values().all(|note| note.excluded == nodes));
    let queued = parts(JobState::Queued);
    assert_eq!(looked(&mut ledger, &[1], &queued, &wants(3, false, here())), [], "three of four are needed");
    let found = looked(&mut ledger, &[1], &queued, &demand(0, here()));
    let cancelled = |id| ProvisionAction::Cancel { job: name(id), why: Cancelled::Unneeded };
    assert_eq!(found, ["9.3", "9.2", "9.1", "9.0"].map(cancelled));
}

#[test]
fn a_job_for_several_hosts_of_which_one_does_not_come_is_ended_unless_another_serves() {
    let running = ["9.0", "9.1"].map(|id| job(id, JobState::Running));
    let wants = |hosts| Demand { missing: 2, together: 2, in_one_job: true, hosts, ..Demand::default() };
    let here = host("9.0", Worth::Now);
    let late = JOIN_PATIENCE.0 / 1_000_000_000 + 1;
    for is_busy in [false, true] {
        let hosts = vec![ProvidedHost { is_busy, ..here.clone() }];
        let found = looked(&mut Ledger::default(), &[0, late], &running, &wants(hosts));
        let silent = ProvisionAction::Cancel { job: name("9.1"), why: Cancelled::Silent };
        assert_eq!(found, if is_busy { vec![] } else { vec![silent] });
    }
}

#[test]
fn an_engine_need_not_say_when_a_job_has_started() {
    let running = [Job { started: None, ..job("1", JobState::Running) }];
    let mut ledger = Ledger::default();
    let idle = demand(0, vec![host("1", Worth::Nothing)]);
    assert_eq!(looked(&mut ledger, &[0, 4], &running, &idle), []);
    assert_eq!(looked(&mut ledger, &[9], &running, &idle), [gives_back("1", Cancelled::Unneeded)]);
    assert_eq!(ledger.spent(at(9)), Span::from_secs(9));
}

#[test]
fn a_job_that_is_about_to_end_still_counts() {
    let ending: Vec<Job> = (1..=7).map(|id| job(&id.to_string(), JobState::Ending)).collect();
    let found = looked(&mut Ledger::default(), &[0], &ending, &demand(3, vec![]));
    assert_eq!(found, [ProvisionAction::Submit { jobs: 1, hosts: 1, exclude: Nodes::new() }]);
}

#[test]
fn what_waits_beyond_the_need_is_cancelled_the_latest_first() {
    let queued = [job("1", JobState::Queued), job("2", JobState::Queued)];
    let found = looked(&mut Ledger::default(), &[0], &queued, &demand(1, vec![]));
    assert_eq!(found, [ProvisionAction::Cancel { job: name("2"), why: Cancelled::Unneeded }]);
}

#[test]
fn a_host_gets_no_more_runs_before_its_job_is_ended() {
    let (running, mut ledger) = ([job("1", JobState::Running)], Ledger::default());
    let mut one = host("1", Worth::Nothing);
    assert_eq!(looked(&mut ledger, &[0], &running, &demand(0, vec![one.clone()])), [], "not at once");
    let found = looked(&mut ledger, &[9], &running, &demand(0, vec![one.clone()]));
    assert_eq!(found, [gives_back("1", Cancelled::Unneeded)]);
    ledger.given_back(at(9), &name("1"), Cancelled::Unneeded);
    (one.engaged, one.is_busy) = (ServiceState::GivenBack, true);
    assert_eq!(looked(&mut ledger, &[9], &running, &demand(0, vec![one.clone()])), [], "it was quicker");
    one.is_busy = false;
    assert_eq!(looked(&mut ledger, &[19], &running, &demand(0, vec![one.clone()])), [], "its agent ends");
    let found = looked(&mut ledger, &[20], &running, &demand(0, vec![one.clone()]));
    assert_eq!(found, [ProvisionAction::Cancel { job: name("1"), why: Cancelled::Unneeded }], "it does not");
    ledger.cancelled(&name("1"), Cancelled::Unneeded);
    assert_eq!(looked(&mut ledger, &[20], &running, &demand(0, vec![one.clone()])), [], "once");
    let found = looked(&mut ledger, &[21], &[], &demand(0, vec![one.clone()]));
    assert_eq!(found, [ProvisionAction::Resume { host: one.host }], "another job may have it");
}

#[test]
fn a_host_that_only_another_allocation_makes_fresh_goes_back_before_the_engine_is_asked() {
    let (running, mut ledger) = ([job("1", JobState::Running)], Ledger::default());
    let fresh = host("1", Worth::Now);
    assert_eq!(looked(&mut ledger, &[0], &running, &demand(0, vec![fresh.clone()])), []);
    let spent = |host: ProvidedHost| give_back_spent(at(1), &LIMITS, &ledger, &demand(0, vec![host]));
    let used = ProvidedHost { has_served: true, worth: Worth::NewAllocation, ..fresh.clone() };
    assert_eq!(spent(used.clone()), [gives_back("1", Cancelled::Unneeded)]);
    assert_eq!(spent(ProvidedHost { is_busy: true, ..used.clone() }), []);
    assert_eq!(spent(ProvidedHost { is_here: false, ..used.clone() }), []);
    assert_eq!(
        spent(ProvidedHost { job: Some(name("9")), ..used.clone() }),
        [],
        "of a job that is none of ours"
    );
    assert_eq!(spent(ProvidedHost { engaged: ServiceState::GivenBack, ..used }), [], "once");
    assert_eq!(spent(fresh), []);
    assert_eq!(spent(host("1", Worth::Nothing)), [], "another plan may want it");
    assert_eq!(ledger.expected(), 0);
    ledger.asked(name("2"), Nodes::new());
    assert_eq!(ledger.expected(), 1);
    ledger.hear(&demand(0, vec![host("2", Worth::Now)]));
    assert_eq!(ledger.expected(), 0);
}

#[test]
fn a_job_that_goes_on_without_its_agent_is_ended() {
    let (running, mut ledger) = ([job("1", JobState::Running)], Ledger::default());
    let used = ProvidedHost { has_served: true, ..host("1", Worth::NewAllocation) };
    looked(&mut ledger, &[0], &running, &demand(0, vec![used.clone()]));
    ledger.given_back(at(0), &name("1"), Cancelled::Unneeded);
    let gone = ProvidedHost { engaged: ServiceState::GivenBack, is_here: false, ..used };
    assert_eq!(looked(&mut ledger, &[10], &running, &demand(0, vec![gone.clone()])), []);
    let found = looked(&mut ledger, &[11], &running, &demand(0, vec![gone]));
    assert_eq!(found, [ProvisionAction::Cancel { job: name("1"), why: Cancelled::Unneeded }]);
}

#[test]
fn an_agent_that_cannot_reach_the_coordinator_is_told_at_once_and_holds_its_node_for_moments() {
    let mut ledger = Ledger::default();
    let unreached =
        |job: &str| UnreachedAgent { job: name(job), reason: "https://n:1: no such name".to_owned() };
    for (id, begin) in [("1", 0), ("2", 100), ("3", 200)] {
        let running = [Job { node: Some(name(&format!("n{id}"))), ..job(id, JobState::Running) }];
        assert_eq!(looked(&mut ledger, &[begin], &running, &demand(1, vec![])), [], "{id}");
        ledger.unreached(at(begin), vec![unreached(id)]);
        let told = ledger.unjoined.clone().unwrap();
        assert!(told.contains(&format!("job {id} ")) && told.contains("https://n:1"), "{told}");
        assert_eq!(looked(&mut ledger, &[begin + 20], &running, &demand(1, vec![])), [], "it tries again");
        ledger.unreached(at(begin + 20), vec![unreached(id)]);
        let found = looked(&mut ledger, &[begin + 21], &running, &demand(1, vec![]));
        assert_eq!(found, [ProvisionAction::Cancel { job: name(id), why: Cancelled::Unreached }]);
        ledger.cancelled(&name(id), Cancelled::Unreached);
        looked(
            &mut ledger,
            &[begin + 22],
            &[job(id, JobState::Ended(JobEnd::Cancelled))],
            &demand(0, vec![]),
        );
    }
    let stopped = ledger.stopped.clone().unwrap();
    assert!(stopped.contains("job 3 ") && stopped.contains("https://n:1"), "{stopped}");
    ledger.start_afresh();
    assert_eq!((ledger.stopped, ledger.unjoined), (None, None));
}

#[test]
fn an_agent_that_joins_after_all_is_told_no_more() {
    let (running, mut ledger) = ([job("1", JobState::Running)], Ledger::default());
    looked(&mut ledger, &[0], &running, &demand(1, vec![]));
    let unreached = UnreachedAgent { job: name("1"), reason: "no such name".to_owned() };
    ledger.unreached(at(0), vec![unreached.clone()]);
    let there = demand(0, vec![host("1", Worth::Now)]);
    assert_eq!(looked(&mut ledger, &[30], &running, &there), []);
    assert_eq!((ledger.unjoined.clone(), ledger.failures_in_a_row), (None, 0));
    ledger.unreached(at(30), vec![unreached]);
    assert_eq!(ledger.unjoined, None, "what it left is of before");
    ledger.logged(&name("1"), "words");
    assert_eq!(ledger.unjoined, None);
    ledger.asked(name("2"), Nodes::new());
    ledger.logged(&name("2"), "speedup: not found");
    let unjoined = ledger.unjoined.unwrap();
    assert!(unjoined.contains("job 2,") && unjoined.ends_with("speedup: not found"), "{unjoined}");
}

#[test]
fn a_host_that_is_needed_after_all_stays() {
    let mut one = host("1", Worth::Now);
    one.engaged = ServiceState::GivenBack;
    let found = looked(&mut Ledger::default(), &[0], &[job("1", JobState::Running)], &demand(0, vec![one]));
    assert_eq!(found, [ProvisionAction::Resume { host: name("h1") }]);
}

#[test]
fn used_nodes_are_excluded_also_from_jobs_in_the_queue() {
    let queued = [job("1", JobState::Queued)];
    let used = ProvidedHost { job: None, is_here: false, ..host("0", Worth::Nothing) };
    let drained = ProvidedHost { node: name("n2"), engaged: ServiceState::OutOfService, ..used.clone() };
    let drained = ProvidedHost { worth: Worth::Now, ..drained };
    let again = ProvidedHost { node: name("n3"), worth: Worth::NewAllocation, ..used.clone() };
    let nodes: Nodes = [name("n1"), name("n2")].into();
    let found = looked(&mut Ledger::default(), &[0], &queued, &demand(2, vec![used, drained, again]));
    let change = ProvisionAction::Exclude { job: name("1"), nodes: nodes.clone() };
    assert_eq!(found, [change, ProvisionAction::Submit { jobs: 1, hosts: 1, exclude: nodes }]);
}

#[test]
fn jobs_that_fail_stop_the_asking_with_the_engines_words() {
    let mut ledger = Ledger::default();
    for id in ["1", "2", "3"] {
        assert_eq!(ledger.stopped, None);
        ledger.asked(name(id), Nodes::new());
        ledger.observe(at(0), &[job(id, JobState::Ended(JobEnd::Failed))], &Demand::default());
        // The engine tells of it for a while.
        ledger.observe(at(1), &[job(id, JobState::Ended(JobEnd::Failed))], &Demand::default());
    }
    let words = ledger.stopped.clone().unwrap();
    assert!(words.contains("3 jobs in a row") && words.contains("NODE_FAIL"), "{words}");
    assert_eq!(decided(at(2), &LIMITS, &ledger, &[], &demand(3, vec![])), []);
    ledger.start_afresh();
    assert_eq!(decided(at(2), &LIMITS, &ledger, &[], &demand(3, vec![])).len(), 1);
}

#[test]
fn a_job_whose_agent_joined_or_that_was_preempted_has_not_failed() {
    let mut ledger = Ledger::default();
    for id in ["1", "2", "3", "4"] {
        ledger.asked(name(id), Nodes::new());
        let served = ProvidedHost { has_served: true, ..host(id, Worth::Now) };
        ledger.observe(at(0), &[job(id, JobState::Running)], &demand(0, vec![served]));
        ledger.observe(at(1), &[job(id, JobState::Ended(JobEnd::Failed))], &Demand::default());
        ledger.asked(name("9"), Nodes::new());
        ledger.observe(at(1), &[job("9", JobState::Ended(JobEnd::Preempted))], &Demand::default());
    }
    assert_eq!((ledger.failures_in_a_row, ledger.stopped), (0, None));
}

#[test]
fn refusals_stop_the_asking_with_the_engines_words() {
    let mut ledger = Ledger::default();
    (0..FAILURES_IN_A_ROW).for_each(|_| ledger.refused(at(0), "invalid: nope", None));
    assert!(ledger.stopped.unwrap().ends_with("invalid: nope"));
}

#[test]
fn allocations_that_never_hold_a_run_stop_the_asking() {
    let mut ledger = Ledger::default();
    for id in ["1", "2", "3"] {
        let one = host(id, Worth::NewAllocation);
        let running = [job(id, JobState::Running)];
        let found = looked(&mut ledger, &[0], &running, &demand(1, vec![one]));
        assert!(found.contains(&gives_back(id, Cancelled::TooShort)), "at once: {found:?}");
        ledger.given_back(at(0), &name(id), Cancelled::TooShort);
        ledger.observe(at(1), &[job(id, JobState::Ended(JobEnd::Completed))], &Demand::default());
    }
    assert!(ledger.stopped.unwrap().contains("too short for any run"));
}

#[test]
fn an_agent_that_does_not_join_is_given_up() {
    let (running, mut ledger) = ([job("1", JobState::Running)], Ledger::default());
    assert_eq!(looked(&mut ledger, &[0, 299], &running, &demand(1, vec![])), []);
    let found = looked(&mut ledger, &[302], &running, &demand(1, vec![]));
    assert_eq!(found, [ProvisionAction::Cancel { job: name("1"), why: Cancelled::Silent }]);
    ledger.cancelled(&name("1"), Cancelled::Silent);
    ledger.observe(at(303), &[], &Demand::default());
    assert_eq!(ledger.failures_in_a_row, 1);
}

#[test]
fn node_hours_are_counted_over_requeues_and_end_the_asking() {
    let mut ledger = Ledger::default();
    let limits = ProvisionLimits { node_time: Some(Span::from_secs(100)), ..LIMITS };
    let again = |second| Job { started: Some(at(second)), ..job("1", JobState::Running) };
    ledger.observe(at(10), &[again(0)], &Demand::default());
    ledger.observe(at(30), &[job("1", JobState::Queued)], &Demand::default());
    ledger.observe(at(50), &[again(40)], &Demand::default());
    assert_eq!(ledger.spent(at(50)), Span::from_secs(40));
    ledger.observe(at(70), &[again(60)], &Demand::default());
    assert_eq!(
        ledger.spent(at(80)),
        Span::from_secs(30 + 20 + 20),
        "the stint before ends with the new one at the latest"
    );
    assert_eq!(ledger.stands_still(at(80), &limits), None);
    let words = ledger.stands_still(at(120), &limits).unwrap();
    assert!(words.contains("0.03 node hours"), "{words}");
    let one = host("1", Worth::Now);
    let found = decided(at(120), &limits, &ledger, &[again(60)], &demand(5, vec![one]));
    assert_eq!(found, [gives_back("1", Cancelled::Unneeded)]);
}

#[test]
fn a_node_boots_anew_when_its_job_ends_and_the_boot_id_tells_whether_it_did() {
    let mut ledger = Ledger::default();
    let running = [job("1", JobState::Running)];
    let one = ProvidedHost { has_served: true, ..host("1", Worth::NewBoot) };
    let found = looked(&mut ledger, &[0], &running, &demand(1, vec![one.clone()]));
    let reboot = ProvisionAction::Reboot { node: one.node.clone(), leaves: one.boot.clone() };
    let asks = |exclude| ProvisionAction::Submit { jobs: 1, hosts: 1, exclude };
    assert_eq!(found, [reboot, gives_back("1", Cancelled::Unneeded), asks([one.node.clone()].into())]);
    ledger.told_to_reboot(one.node.clone(), one.boot.clone(), Ok(()));
    ledger.given_back(at(0), &name("1"), Cancelled::Unneeded);
    let one = ProvidedHost { engaged: ServiceState::GivenBack, ..one };
    let found = looked(&mut ledger, &[10], &running, &demand(1, vec![one.clone()]));
    assert_eq!(found, [asks(Nodes::new())], "a node that boots may be given out again");
    let mut late = ledger.clone();
    let back = ProvidedHost { engaged: ServiceState::Serving, job: Some(name("2")), ..one };
    late.observe(at(20), &[job("2", JobState::Running)], &demand(1, vec![back.clone()]));
    assert!(late.cannot_reboot.is_some_and(|words| words.contains("n1 came back in the boot")));
    let booted = ProvidedHost { boot: name("another"), ..back };
    ledger.observe(at(20), &[job("2", JobState::Running)], &demand(1, vec![booted]));
    assert_eq!((ledger.cannot_reboot, ledger.rebooting.len()), (None, 0));
}

#[test]
fn a_node_whose_agent_is_turned_away_is_no_failure_and_is_kept_out() {
    let mut ledger = Ledger::default();
    let refused = |id: &str| RefusedAgent { job: name(id), node: name("claimed"), reason: "why".to_owned() };
    // A job that is none of ours excludes nothing.
    ledger.turned_away(vec![refused("9")], &[]);
    assert!(ledger.refused.is_empty());
    for (id, node) in [("1", "n1"), ("2", "n2"), ("3", "n3"), ("4", "n4")] {
        ledger.asked(name(id), Nodes::new());
        let running = [Job { node: Some(name(node)), ..job(id, JobState::Running) }];
        ledger.observe(at(0), &running, &Demand::default());
        ledger.turned_away(vec![refused(id)], &running);
        ledger.observe(at(1), &[job(id, JobState::Ended(JobEnd::Failed))], &Demand::default());
    }
    assert_eq!((ledger.failures_in_a_row, ledger.stopped.clone()), (0, None));
    let excluded: Nodes = ["n1", "n2", "n3", "n4"].map(name).into();
    let found = decided(at(2), &LIMITS, &ledger, &[], &demand(1, vec![]));
    assert_eq!(
        found,
        [ProvisionAction::Submit { jobs: 1, hosts: 1, exclude: excluded }],
        "by the engine's word, not the agent's"
    );
    // One that joins there after all takes it off the list; asking anew tries all of them.
    ledger.asked(name("5"), Nodes::new());
    ledger.observe(at(3), &[job("5", JobState::Running)], &demand(0, vec![host("5", Worth::Now)]));
    assert!(!ledger.refused.contains_key(&name("n1")));
    ledger.start_afresh();
    assert!(ledger.refused.is_empty());
}

#[test]
fn a_host_whose_job_is_elsewhere_or_over_is_deserted() {
    let left = |state, node: &str| {
        let job = Job { node: Some(name(node)), ..job("1", state) };
        !deserted(&Ledger::default(), &[job], &demand(0, vec![host("1", Worth::Now)])).is_empty()
    };
    assert!(left(JobState::Ended(JobEnd::Failed), "n1") && left(JobState::Queued, "n1"));
    assert!(left(JobState::Running, "n2"), "it was put back into the queue, and runs elsewhere");
    assert!(!left(JobState::Running, "n1") && !left(JobState::Ending, "n1"));
    let silent = demand(0, vec![ProvidedHost { is_here: false, is_busy: true, ..host("1", Worth::Now) }]);
    let excused = |state| {
        let found = deserted(&Ledger::default(), &[job("1", state)], &silent);
        found.first().map(|deserted| deserted.is_excused)
    };
    assert_eq!(excused(JobState::Ending), Some(true), "before it counts as lost");
    for (end, is_excused) in [
        (JobEnd::Preempted, true),
        (JobEnd::TimedOut, true),
        (JobEnd::Cancelled, true),
        (JobEnd::Failed, false),
        (JobEnd::Completed, false),
    ] {
        assert_eq!(excused(JobState::Ended(end)), Some(is_excused), "{end:?}");
    }
    let gone = ProvidedHost { is_here: false, ..host("1", Worth::Now) };
    let over = [job("1", JobState::Ended(JobEnd::Completed))];
    assert_eq!(
        deserted(&Ledger::default(), &over, &demand(0, vec![gone.clone()])),
        [],
        "nothing is left to lose"
    );
    let holds = ProvidedHost { is_busy: true, ..gone };
    let found = |words: &str, is_excused| {
        [DesertedHost { host: name("h1"), job: name("1"), words: words.to_owned(), is_excused }]
    };
    assert_eq!(
        deserted(&Ledger::default(), &over, &demand(0, vec![holds.clone()])),
        found("job 1: NODE_FAIL", false)
    );
    let mut ledger = Ledger::default();
    assert_eq!(deserted(&ledger, &[], &demand(0, vec![holds.clone()])), [], "its job is another queue's");
    ledger.asked(name("1"), Nodes::new());
    let forgotten = deserted(&ledger, &[], &demand(0, vec![holds]));
    assert_eq!(forgotten, found("job 1: the engine no longer knows it", true));
}

#[test]
fn the_event_log_says_what_became_of_jobs() {
    let mut ledger = Ledger::default();
    let mut told = |second: u64, jobs: &[Job], hosts: Vec<ProvidedHost>| {
        let before = ledger.clone();
        ledger.observe(at(second), jobs, &demand(0, hosts));
        news(&before, jobs, &ledger).into_iter().map(|note| (note.kind, note.words)).collect::<Vec<_>>()
    };
    let running = || [job("1", JobState::Running)];
    assert_eq!(told(0, &[job("1", JobState::Queued)], vec![]), []);
    assert_eq!(told(1, &running(), vec![]), [(EngineNoteKind::JobBegan, "job 1 on n1".to_owned())]);
    assert_eq!(told(2, &running(), vec![host("1", Worth::Now)]), [], "once");
    let over = |end| [Job { words: "COMPLETED".to_owned(), ..job("1", JobState::Ended(end)) }];
    let ended = told(3, &over(JobEnd::Completed), vec![]);
    assert_eq!(ended, [(EngineNoteKind::JobEnded, "job 1: COMPLETED".to_owned())]);
    assert_eq!(told(4, &[], vec![]), []);
    for (second, id) in [(10, "2"), (20, "3"), (30, "4")] {
        told(second, &[Job { node: Some(name(&format!("n{id}"))), ..job(id, JobState::Running) }], vec![]);
        let failed = told(second + 1, &[job(id, JobState::Ended(JobEnd::Failed))], vec![]);
        assert_eq!(failed[0], (EngineNoteKind::JobFailed, format!("job {id}: NODE_FAIL")));
        let stops = failed.iter().any(|(kind, _)| *kind == EngineNoteKind::Stopped);
        assert_eq!(stops, id == "4", "the third in a row");
    }
    let long = EngineNote::by("ada", EngineNoteKind::Added, &"x".repeat(5_000));
    assert_eq!((long.by.as_str(), long.words.len()), ("ada", 1_000));
}

/// A job that ends so on a node before its agent joins.
fn fails_on(ledger: &mut Ledger, second: u64, id: &str, node: &str, end: JobEnd) {
    let on = |state| Job { node: Some(name(node)), ..job(id, state) };
    ledger.asked(name(id), ledger.left_out(at(second)).cloned().collect());
    ledger.observe(at(second), &[on(JobState::Running)], &Demand::default());
    ledger.observe(at(second), &[on(JobState::Ended(end))], &Demand::default());
}

#[test]
fn one_bad_node_is_left_out_for_longer_each_time_and_stops_nothing() {
    let mut ledger = Ledger::default();
    let excluded =
        |ledger: &Ledger, second| match &decided(at(second), &LIMITS, ledger, &[], &demand(1, vec![]))[..] {
            [ProvisionAction::Submit { exclude, .. }] => exclude.len(),
            other => panic!("{other:?}"),
        };
    let mut second = 0;
    for (failed, minutes) in [(1, 10), (2, 20), (3, 40), (4, 80)] {
        fails_on(&mut ledger, second, &failed.to_string(), "n1", JobEnd::Failed);
        assert_eq!(ledger.left_out[&name::<NodeName>("n1")].failed, failed);
        let until = second + minutes * 60;
        assert_eq!((excluded(&ledger, until - 1), excluded(&ledger, until)), (1, 0), "{failed}");
        second = until;
    }
    assert_eq!((ledger.failures_in_a_row, ledger.stopped.clone()), (1, None));
    fails_on(&mut ledger, second, "5", "n2", JobEnd::Failed);
    fails_on(&mut ledger, second, "6", "n3", JobEnd::Failed);
    assert!(ledger.stopped.clone().unwrap().contains("on n3"), "three nodes do");
    ledger.start_afresh();
    assert_eq!((excluded(&ledger, second), ledger.stopped), (0, None));
}

#[test]
fn an_agent_that_joins_on_a_node_that_was_left_out_lets_it_in_again() {
    let mut ledger = Ledger::default();
    fails_on(&mut ledger, 0, "1", "n1", JobEnd::Failed);
    ledger.observe(at(1), &[job("2", JobState::Running)], &demand(0, vec![host("2", Worth::Now)]));
    assert_eq!(ledger.left_out.len(), 0);
}

#[test]
fn an_engine_that_gives_out_what_was_excluded_is_stopped() {
    let mut ledger = Ledger::default();
    for id in ["1", "2", "3"] {
        fails_on(&mut ledger, 0, id, "n1", JobEnd::Failed);
    }
    assert!(ledger.stopped.is_some());
}

#[test]
fn a_job_that_was_in_the_queue_when_a_node_was_left_out_says_nothing_new() {
    let mut ledger = Ledger::default();
    let on = |id, state| Job { node: Some(name("n1")), ..job(id, state) };
    for id in ["1", "2", "3"] {
        ledger.asked(name(id), Nodes::new());
    }
    for id in ["1", "2", "3"] {
        ledger.observe(at(0), &[on(id, JobState::Ended(JobEnd::Failed))], &Demand::default());
        for other in ["2", "3"] {
            ledger.asked(name(other), Nodes::new());
        }
    }
    let left_out = &ledger.left_out[&name::<NodeName>("n1")];
    assert_eq!((left_out.failed, left_out.until), (1, at(600)));
    assert_eq!((ledger.failures_in_a_row, ledger.stopped.clone()), (1, None));
    ledger.observe(at(600 + 24 * 3_600), &[], &Demand::default());
    assert_eq!(ledger.left_out.len(), 0, "it is forgotten a day after it was let in");
}

#[test]
fn a_job_that_is_refused_because_of_nodes_that_are_left_out_waits_for_the_first() {
    let mut ledger = Ledger::default();
    fails_on(&mut ledger, 0, "1", "n1", JobEnd::Failed);
    let asks = |ledger: &Ledger, second| decided(at(second), &LIMITS, ledger, &[], &demand(1, vec![])).len();
    assert_eq!(asks(&ledger, 1), 1, "others may be there");
    for second in [1, 2, 3] {
        ledger.refused(at(second), "no node is left", None);
    }
    assert_eq!((asks(&ledger, 599), asks(&ledger, 600)), (0, 1));
    let claim = |second| Claim::of(at(second), &LIMITS, &ledger, &[], 1).room;
    assert_eq!((claim(599), claim(600)), (0, LIMITS.queued), "others bring what it would have brought");
    assert_eq!(ledger.stopped, None);
    for second in [600, 601, 602] {
        ledger.refused(at(second), "what else is wrong", None);
    }
    assert!(ledger.stopped.clone().unwrap().contains("what else is wrong"));
}

#[test]
fn whoever_lets_a_node_in_ends_the_pause_for_want_of_nodes() {
    let mut ledger = Ledger::default();
    fails_on(&mut ledger, 0, "1", "n1", JobEnd::Failed);
    ledger.refused(at(1), "no node is left", None);
    assert!(ledger.is_set_back(at(2)) && ledger.unjoined.is_some());
    ledger.let_in(&name("n1"));
    assert_eq!((ledger.setback, ledger.unjoined.clone()), (None, None));
    assert_eq!(decided(at(2), &LIMITS, &ledger, &[], &demand(1, vec![])).len(), 1, "a job is requested");
}

/// The clock of a machine may be set back, by years where it was wrong.
#[test]
fn no_node_is_left_out_and_no_queue_pauses_for_longer_than_a_day() {
    let mut ledger = Ledger::default();
    fails_on(&mut ledger, 100 * 24 * 3_600, "1", "n1", JobEnd::Failed);
    ledger.refused(at(100 * 24 * 3_600), "no node is left", None);
    assert!(ledger.setback.is_some());
    ledger.observe(at(5), &[], &Demand::default());
    assert_eq!((ledger.left_out.len(), ledger.setback), (0, None));
}

#[test]
fn an_agent_that_was_there_before_ends_no_pause() {
    let mut ledger = Ledger::default();
    let here = || demand(1, vec![host("9", Worth::Now)]);
    ledger.observe(at(0), &[job("9", JobState::Running)], &here());
    ledger.asked(name("1"), Nodes::new());
    ledger.observe(at(1), &[job("9", JobState::Running)], &here());
    ledger.observe(at(2), &[job("9", JobState::Running)], &here());
    assert!(ledger.setback.is_some(), "job 1 is forgotten");
    ledger.hear(&here());
    assert!(ledger.setback.is_some());
    ledger.asked(name("2"), Nodes::new());
    let joined = ProvidedHost { node: name("n2"), ..host("2", Worth::Now) };
    ledger.hear(&demand(1, vec![joined]));
    assert_eq!(ledger.setback, None);
}

#[test]
fn an_agent_that_dies_before_it_serves_anything_is_a_failure_of_its_node() {
    let mut ledger = Ledger::default();
    ledger.asked(name("1"), Nodes::new());
    ledger.observe(at(0), &[job("1", JobState::Running)], &demand(1, vec![host("1", Worth::Now)]));
    let ended = Job { node: Some(name("n1")), ..job("1", JobState::Ended(JobEnd::Failed)) };
    ledger.observe(at(1), &[ended], &Demand::default());
    assert!(ledger.left_out[&name::<NodeName>("n1")].words.contains("before it served anything"));
}

#[test]
fn of_a_job_for_several_hosts_the_node_of_its_script_is_to_blame() {
    let mut ledger = Ledger::default();
    let parts = |state| {
        [("9.0", "n1"), ("9.1", "n2"), ("9.2", "n3")]
            .map(|(id, node)| Job { node: Some(name(node)), ..job(id, state) })
    };
    for id in ["9.0", "9.1", "9.2"] {
        ledger.asked(name(id), Nodes::new());
    }
    ledger.observe(at(0), &parts(JobState::Running), &Demand::default());
    ledger.observe(at(1), &parts(JobState::Ended(JobEnd::Failed)), &Demand::default());
    let nodes: Vec<&str> = ledger.left_out.keys().map(NodeName::as_str).collect();
    assert_eq!((nodes, ledger.failures_in_a_row), (vec!["n1"], 1));
    // What is cancelled because one part is silent is cancelled as a whole.
    for id in ["10.0", "10.1"] {
        ledger.asked(name(id), Nodes::new());
    }
    ledger.cancelled(&name("10.1"), Cancelled::Silent);
    let cancelled = [("10.0", "n4"), ("10.1", "n5")]
        .map(|(id, node)| Job { node: Some(name(node)), ..job(id, JobState::Ended(JobEnd::Cancelled)) });
    ledger.observe(at(2), &cancelled, &Demand::default());
    assert_eq!((ledger.failures_in_a_row, ledger.setback), (1, None));
}

#[test]
fn jobs_that_slurm_forgot_or_others_cancelled_are_requested_again_after_a_pause_and_not_for_ever() {
    for end in [None, Some(JobEnd::Cancelled)] {
        let (mut ledger, mut second) = (Ledger::default(), 0);
        for pause in [5, 10, 20, 40, 80] {
            assert_eq!(ledger.stopped, None);
            for id in ["1", "2", "3", "4"] {
                ledger.asked(name(id), Nodes::new());
            }
            let ended = end.map(|end| ["1", "2", "3", "4"].map(|id| job(id, JobState::Ended(end))));
            ledger.observe(at(second), ended.as_ref().map_or(&[][..], |jobs| jobs), &Demand::default());
            assert_eq!(ledger.setback.unwrap().until, at(second + pause), "{end:?} {pause}");
            let asks = |second| decided(at(second), &LIMITS, &ledger, &[], &demand(1, vec![])).len() as u32;
            let is_on = u32::from(ledger.stopped.is_none());
            assert_eq!((asks(second + pause - 1), asks(second + pause)), (0, is_on), "{end:?} {pause}");
            second += pause;
        }
        assert!(ledger.stopped.clone().unwrap().starts_with("5 times in a row"), "{:?}", ledger.stopped);
        assert_eq!(ledger.failures_in_a_row, 0);
    }
}

#[test]
fn jobs_that_a_queue_withdrew_say_nothing_of_the_one_in_its_place() {
    let mut ledger = Ledger::default();
    for id in ["1", "2", "3", "4"] {
        ledger.asked(name(id), Nodes::new());
    }
    // Slurm tells no more of the fourth.
    ledger.withdrawn(at(0), &["1", "2", "3"].map(name::<JobId>));
    ledger.start_afresh();
    let ended = ["1", "2", "3"].map(|id| job(id, JobState::Ended(JobEnd::Failed)));
    ledger.observe(at(1), &ended, &Demand::default());
    assert_eq!((ledger.failures_in_a_row, ledger.stopped, ledger.setback), (0, None, None));
}
