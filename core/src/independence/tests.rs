//! What the policies answer, beside each other.

use super::*;

const UNUSED: Traces = Traces::UNUSED;

fn judged(traces: Traces) -> [Option<Violation>; 6] {
    let rest = Rest { idle: Span::from_secs(10), ..Rest::default() };
    let of = |policy| Independence { rest, ..Independence::unchecked(policy, Scope::Benchmark) };
    Policy::ALL.map(|policy| of(policy).violation(&traces))
}

#[test]
fn a_policy_has_one_name_in_plans_and_reports() {
    for policy in Policy::ALL {
        assert_eq!(serde_json::to_value(policy).unwrap(), policy.name());
    }
    for scope in [Scope::Benchmark, Scope::Experiment, Scope::Cell] {
        assert_eq!(serde_json::to_value(scope).unwrap(), scope.name());
    }
}

#[test]
fn each_policy_asks_for_what_its_name_says() {
    use Violation::{HostUsed, NoAllocation, NotReallocated, NotRebooted, SetUsed};
    assert_eq!(judged(UNUSED), [None; 6]);
    let used = Traces { was_used: true, boot: Since::Kept, ..UNUSED };
    let unallocated = [Some(HostUsed), None, Some(NotRebooted), Some(NoAllocation), None, None];
    assert_eq!(judged(used), unallocated);
    let same = Traces { allocation: Since::Kept, ..used };
    assert_eq!(judged(same), [Some(HostUsed), None, Some(NotRebooted), Some(NotReallocated), None, None]);
    let booted = Traces { boot: Since::Renewed, ..same };
    assert_eq!(judged(booted), [Some(HostUsed), None, None, Some(NotReallocated), None, None]);
    let allocated = Traces { allocation: Since::Renewed, ..used };
    assert_eq!(judged(allocated), [Some(HostUsed), None, Some(NotRebooted), None, None, None]);
    let together = Traces { was_set_used: true, ..allocated };
    assert_eq!(judged(together), [Some(HostUsed), Some(SetUsed), Some(NotRebooted), None, None, None]);
}

#[test]
fn only_rested_asks_for_rest() {
    let rested = |traces| {
        let [distinct, sets, rebooted, reallocated, rested, any] = judged(traces);
        assert_eq!([distinct, sets, rebooted, reallocated, any], [None; 5]);
        rested
    };
    let idle = |secs| Traces { idle: Some(Span::from_secs(secs)), ..UNUSED };
    assert_eq!(rested(idle(10)), None);
    assert_eq!(rested(idle(9)), Some(Violation::NotRested));
    let read = |readings| Traces { readings, ..idle(10) };
    assert_eq!(rested(read(Readings::Beyond)), Some(Violation::BeyondBounds));
    assert_eq!(rested(read(Readings::Absent)), Some(Violation::NoReadings));
}

#[test]
fn what_was_then_is_held_against_what_is_now() {
    assert_eq!(Since::compare(&[None, None], Some(1)), Since::Unknown);
    assert_eq!(Since::compare(&[Some(1), None], None), Since::Unknown);
    assert_eq!(Since::compare(&[Some(1), None], Some(1)), Since::Kept);
    assert_eq!(Since::compare(&[None, Some(1)], Some(1)), Since::Kept);
    assert_eq!(Since::compare(&[Some(1), Some(2)], Some(3)), Since::Renewed);
}

#[test]
fn hosts_that_serve_again_are_those_that_can_be_renewed() {
    let of = Renewable { hosts: 4, by_boot: 9, by_allocation: 2 };
    assert_eq!(Policy::ALL.map(|policy| policy.reusable(of)), [0, 4, 4, 2, 4, 4]);
}

/// What users read of a host that served again, and what a plan is told that its pool is too small for.
#[test]
fn each_policy_says_how_a_host_comes_again_and_what_would_ask_for_less() {
    let renewed = [None, None, Some("booted"), Some("been allocated anew"), Some("rested"), None];
    assert_eq!(Policy::ALL.map(Policy::renewed), renewed);
    let less = [Some(Policy::Rebooted), None, None, None, None, None];
    assert_eq!(Policy::ALL.map(Policy::with_reboots), less);
    assert_eq!(Policy::ALL.map(Policy::asks_for_freshness), [true, true, true, true, true, false]);
    assert_eq!(Policy::ALL.map(Policy::allows_longer_visits), [true, true, true, false, true, true]);
    assert_eq!(Policy::ALL.map(Policy::reuses_hosts), [false, true, true, true, true, true]);
    assert_eq!(Policy::ALL.map(Policy::is_of_sets), [false, true, false, false, false, false]);
    let rests = |policy| Independence::unchecked(policy, Scope::Cell).wanted_rest().is_some();
    assert_eq!(Policy::ALL.map(rests), [false, false, false, false, true, false]);
}
