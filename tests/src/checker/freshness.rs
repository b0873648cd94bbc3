//! What the policies promise: one function each, of the attempts that one host was given in one unit of the scope.

use std::collections::BTreeSet;

use super::{Complaint, Row, Rule, history::grouped, history::in_order, plan::Planned};

/// What is wrong with the attempts of one host in one unit of the scope, in the order of their leases.
type Promise = fn(&Planned, &[&Row]) -> Vec<String>;

/// The promise of a policy. A new policy is one more line here.
fn promise(policy: &str) -> Option<Promise> {
    match policy {
        "distinct" => Some(distinct),
        "distinct_sets" => Some(distinct_sets),
        "rebooted" => Some(rebooted),
        "reallocated" => Some(reallocated),
        "rested" => Some(rested),
        "any" => Some(any),
        _ => None,
    }
}

/// What breaks the promise of the plan's policy. A host counts as used from the grant of a lease on: the program may have
/// run, whatever became of the attempt.
pub(super) fn complaints(planned: &Planned, rows: &[Row]) -> Vec<Complaint> {
    let unknown =
        |what: &str, name: &str| vec![Complaint::new(Rule::Form, format!("{what} {name} is unknown"))];
    let Some(promise) = promise(&planned.policy) else { return unknown("policy", &planned.policy) };
    let unit: fn(&Row) -> (&str, &str) = match planned.scope.as_str() {
        // A host rests from whatever it did.
        _ if planned.policy == "rested" => |_| ("", ""),
        "benchmark" => |row| (&row.benchmark, ""),
        "cell" => |row| (&row.benchmark, &row.version),
        "experiment" => |_| ("", ""),
        scope => return unknown("scope", scope),
    };
    let attempts = in_order(rows.iter().filter(|row| row.is_attempt()));
    // A set is of several hosts, whose attempts are held against each other.
    let of_host: fn(&Row) -> &str = if planned.policy == "distinct_sets" { |_| "" } else { Row::host };
    let together = grouped(&attempts, |row| (of_host(row), unit(row)));
    let broken = together.values().flat_map(|attempts| promise(planned, attempts));
    broken.map(|what| Complaint::new(Rule::Freshness, what)).collect()
}

/// A host serves once.
fn distinct(_: &Planned, attempts: &[&Row]) -> Vec<String> {
    let again = attempts.iter().skip(1).map(|row| format!("{row}: the host had served in the scope"));
    let said = attempts.iter().filter(|row| row.served_in_scope != Some(0));
    let said = said.map(|row| format!("{row}: the evidence says {:?} times before", row.served_in_scope));
    again.chain(said).collect()
}

/// Hosts serve together once.
fn distinct_sets(_: &Planned, attempts: &[&Row]) -> Vec<String> {
    let mut sets = BTreeSet::new();
    let again = attempts.iter().filter(|row| !sets.insert(row.set()));
    let again = again.map(|row| format!("{row}: {:?} had served in the scope together", row.set()));
    let said = attempts.iter().filter(|row| row.set_served != Some(false));
    let said = said.map(|row| format!("{row}: the evidence says {:?}", row.set_served));
    again.chain(said).collect()
}

/// A host has booted since it served last.
fn rebooted(_: &Planned, attempts: &[&Row]) -> Vec<String> {
    let mut boots = BTreeSet::new();
    let again = attempts.iter().filter(|row| !boots.insert(row.boot()));
    let again = again.map(|row| format!("{row}: the host had served in the scope in boot {}", row.boot()));
    let said = attempts.windows(2).filter(|pair| pair[1].boot_before.as_deref() != Some(pair[0].boot()));
    let said = said.map(|pair| {
        format!(
            "{} was in boot {}, the evidence for {} says {:?}",
            pair[0],
            pair[0].boot(),
            pair[1],
            pair[1].boot_before
        )
    });
    again.chain(said).collect()
}

/// A host sits in another allocation than when it served last, as the evidence says, and in none that it had left.
fn reallocated(_: &Planned, attempts: &[&Row]) -> Vec<String> {
    let mut allocations = BTreeSet::new();
    let again =
        attempts.iter().filter(|row| row.allocation.is_none() || !allocations.insert(&row.allocation));
    let again = again.map(|row| format!("{row}: not a new allocation: {:?}", row.allocation));
    let said = attempts.windows(2).filter(|pair| pair[1].allocation_before != pair[0].allocation);
    let said = said.map(|pair| {
        let (was, says) = (&pair[0].allocation, &pair[1].allocation_before);
        format!("{} was in allocation {was:?}, the evidence for {} says {says:?}", pair[0], pair[1])
    });
    again.chain(said).collect()
}

/// A host has done nothing for as long as the plan says, by its evidence and by the times of what it did before.
fn rested(planned: &Planned, attempts: &[&Row]) -> Vec<String> {
    let Some(idle) = planned.idle_ns else {
        return vec!["the plan does not say how long a host rests".to_owned()];
    };
    let said = attempts.iter().filter(|row| row.idle_ns.is_some_and(|said| said < idle));
    let said = said.map(|row| format!("{row}: the evidence says it was idle for {:?} ns", row.idle_ns));
    let too_soon = |pair: &&[&Row]| match (pair[0].ended_ns, pair[1].granted_ns) {
        (Some(ended), Some(granted)) => granted < ended.saturating_add(idle) || pair[1].idle_ns.is_none(),
        (None, _) | (_, None) => true,
    };
    let soon = attempts.windows(2).filter(too_soon);
    let soon = soon.map(|pair| format!("{} followed {} without {idle} ns of rest", pair[1], pair[0]));
    said.chain(soon).collect()
}

fn any(_: &Planned, _: &[&Row]) -> Vec<String> {
    Vec::new()
}
