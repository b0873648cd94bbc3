//! What the policies promise: one function each, of the attempts that one host was given in one unit of the scope.

use std::collections::BTreeSet;

use super::history::{grouped, in_order};
use super::plan::Planned;
use super::{Complaint, Row, Rule};

/// What is wrong with the attempts of one host in one unit of the scope, in the order of their leases.
type Promise = fn(&[&Row]) -> Vec<String>;

/// The promise of a policy. A new policy is one more line here.
fn promise(policy: &str) -> Option<Promise> {
    match policy {
        "distinct" => Some(distinct),
        "rebooted" => Some(rebooted),
        "reallocated" => Some(reallocated),
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
        "benchmark" => |row| (&row.benchmark, ""),
        "cell" => |row| (&row.benchmark, &row.version),
        "experiment" => |_| ("", ""),
        scope => return unknown("scope", scope),
    };
    let attempts = in_order(rows.iter().filter(|row| row.is_attempt()));
    let together = grouped(&attempts, |row| (row.host(), unit(row)));
    let broken = together.values().flat_map(|attempts| promise(attempts));
    broken.map(|what| Complaint::new(Rule::Freshness, what)).collect()
}

/// A host serves once.
fn distinct(attempts: &[&Row]) -> Vec<String> {
    let again = attempts.iter().skip(1).map(|row| format!("{row}: the host had served in the scope"));
    let said = attempts.iter().filter(|row| row.served_in_scope != Some(0));
    let said = said.map(|row| format!("{row}: the evidence says {:?} times before", row.served_in_scope));
    again.chain(said).collect()
}

/// A host has booted since it served last.
fn rebooted(attempts: &[&Row]) -> Vec<String> {
    let mut boots = BTreeSet::new();
    let again = attempts.iter().filter(|row| !boots.insert(row.boot()));
    again.map(|row| format!("{row}: the host had served in the scope in boot {}", row.boot())).collect()
}

/// A host sits in another allocation than when it served last.
fn reallocated(attempts: &[&Row]) -> Vec<String> {
    let mut allocations = BTreeSet::new();
    let again =
        attempts.iter().filter(|row| row.allocation.is_none() || !allocations.insert(&row.allocation));
    again.map(|row| format!("{row}: not a new allocation: {:?}", row.allocation)).collect()
}

/// Nothing.
fn any(_: &[&Row]) -> Vec<String> {
    Vec::new()
}
