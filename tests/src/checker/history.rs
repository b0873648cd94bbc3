//! What happened when, on which host, and whether the evidence of each lease is what the export itself says of the time
//! before.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, Row, Rule};

/// What is wrong with times, hosts and their evidence.
pub(super) fn complaints(rows: &[Row]) -> Vec<Complaint> {
    let attempts: Vec<&Row> = in_order(rows.iter().filter(|row| row.is_attempt()));
    let mut found: Vec<Complaint> = attempts.iter().filter_map(|row| own_time(row)).collect();
    for of_run in grouped(&attempts, |row| row.run).values() {
        found.extend(of_run.windows(2).filter_map(|pair| follows(Rule::Time, pair[0], pair[1])));
    }
    for of_host in grouped(&attempts, Row::host).values() {
        found.extend(of_host.windows(2).filter_map(|pair| follows(Rule::Host, pair[0], pair[1])));
        found.extend(starts(of_host));
        found.extend(evidence(of_host));
    }
    found
}

/// By lease: the order in which they were given.
pub(super) fn in_order<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<&'a Row> {
    let mut rows: Vec<&Row> = rows.collect();
    rows.sort_by_key(|row| row.lease_epoch);
    rows
}

/// Rows by a key, each group in their order.
pub(super) fn grouped<'a, K: Ord>(rows: &[&'a Row], key: impl Fn(&'a Row) -> K) -> BTreeMap<K, Vec<&'a Row>> {
    let mut groups: BTreeMap<K, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row);
    }
    groups
}

fn own_time(row: &Row) -> Option<Complaint> {
    let started = row.started_ns.or(row.granted_ns);
    let is_right = row.granted_ns.is_some() && row.granted_ns <= started && started <= row.ended_ns;
    let Row { granted_ns, started_ns, ended_ns, .. } = row;
    (!is_right).then(|| {
        let what = format!("{row}: granted {granted_ns:?}, started {started_ns:?}, ended {ended_ns:?}");
        Complaint::new(Rule::Time, what)
    })
}

/// One lease ends before the next is given.
fn follows(rule: Rule, first: &Row, second: &Row) -> Option<Complaint> {
    (second.granted_ns < first.ended_ns)
        .then(|| Complaint::new(rule, format!("{second} was granted before {first} had ended")))
}

/// Starts of the agent never go back, and a new boot has a new start and does not come back.
fn starts(of_host: &[&Row]) -> Vec<Complaint> {
    let mut wrong = Vec::new();
    let mut past_boots = BTreeSet::new();
    for pair in of_host.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if second.agent_epoch < first.agent_epoch {
            wrong.push(format!("{second} was served by an older start than {first}"));
        }
        if second.boot == first.boot {
            continue;
        }
        past_boots.insert(first.boot());
        if second.agent_epoch == first.agent_epoch {
            wrong.push(format!("{second} was served by the same start as {first}, in another boot"));
        }
        if past_boots.contains(second.boot()) {
            wrong.push(format!("{second} was served in boot {} again", second.boot()));
        }
    }
    wrong.into_iter().map(|what| Complaint::new(Rule::Host, what)).collect()
}

fn evidence(of_host: &[&Row]) -> Vec<Complaint> {
    let mut wrong = Vec::new();
    for row in of_host.iter().filter(|row| row.host.is_none() || row.boot.is_none()) {
        wrong.push(format!("{row} does not say which host in which boot"));
    }
    for pair in of_host.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        // Runs of other experiments may lie in between.
        let is_of_this = second.previous_experiment.as_ref() == Some(&second.experiment);
        let (experiment, run) = (&second.previous_experiment, second.previous_run);
        if run.is_none() || is_of_this && run != Some(first.run) {
            wrong.push(format!(
                "{second} followed {first}, but run {run:?} of {experiment:?} is written down"
            ));
        }
        if second.served_in_all <= first.served_in_all {
            wrong.push(format!(
                "{second} was the host's {:?}th attempt after {first}, its {:?}th",
                second.served_in_all, first.served_in_all
            ));
        }
    }
    wrong.into_iter().map(|what| Complaint::new(Rule::Evidence, what)).collect()
}
