//! Each planned run is settled once, after attempts that follow from each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, Row, Rule, plan::Planned};

/// What is wrong with runs, attempts and leases.
pub(super) fn complaints(planned: &Planned, rows: &[Row]) -> Vec<Complaint> {
    let mut found = form(planned, rows);
    found.extend(rows.iter().filter_map(counts));
    for run in 0..planned.runs() {
        let of_run: Vec<&Row> = rows.iter().filter(|row| row.run == run).collect();
        found.extend(settled(run, &of_run));
        found.extend(attempts(planned, run, &of_run));
    }
    found.extend(leases(rows));
    found
}

/// The rows are of one experiment and of the plan's runs, each run of one cell and repetition.
fn form(planned: &Planned, rows: &[Row]) -> Vec<Complaint> {
    let mut wrong = Vec::new();
    let mut places: BTreeMap<u32, (&str, &str, u32)> = BTreeMap::new();
    for row in rows {
        if row.run >= planned.runs() || !planned.cells.contains(&(row.benchmark.clone(), row.version.clone()))
        {
            wrong.push(format!("{row} is not in the plan"));
        }
        if row.experiment != rows[0].experiment {
            wrong.push(format!("{row} is of experiment {}", row.experiment));
        }
        let place = (row.benchmark.as_str(), row.version.as_str(), row.repetition);
        if *places.entry(row.run).or_insert(place) != place {
            wrong.push(format!("{row} is elsewhere of another cell or repetition"));
        }
    }
    let distinct: BTreeSet<_> = places.values().collect();
    if distinct.len() < places.len() {
        wrong.push("two runs are the same repetition of a cell".to_owned());
    }
    for (benchmark, version, repetition) in distinct {
        if !(1..=planned.repetitions).contains(repetition) {
            wrong.push(format!("{benchmark}, {version} has no repetition {repetition}"));
        }
    }
    wrong.into_iter().map(|what| Complaint::new(Rule::Form, what)).collect()
}

fn counts(row: &Row) -> Option<Complaint> {
    let measured = row.run_state.as_deref() == Some("measured");
    let is_right = row.counts == measured && row.counts == row.why_not.is_none();
    (!is_right).then(|| {
        let (state, why_not) = (&row.run_state, &row.why_not);
        let what = format!("{row}: counts = {}, run_state = {state:?}, why_not = {why_not:?}", row.counts);
        Complaint::new(Rule::Counts, what)
    })
}

fn settled(run: u32, of_run: &[&Row]) -> Option<Complaint> {
    let states: Vec<&str> = of_run.iter().filter_map(|row| row.run_state.as_deref()).collect();
    let is_settled = matches!(states[..], ["measured" | "failed" | "abandoned" | "cancelled"]);
    (!is_settled).then(|| Complaint::new(Rule::Settled, format!("run {run} is settled by {states:?}")))
}

fn attempts(planned: &Planned, run: u32, of_run: &[&Row]) -> Vec<Complaint> {
    let mut attempts: Vec<&Row> = of_run.iter().copied().filter(|row| row.is_attempt()).collect();
    attempts.sort_by_key(|row| row.lease_epoch);
    let mut wrong = Vec::new();
    let numbers: Vec<Option<u32>> = attempts.iter().map(|row| row.attempt).collect();
    let expected: Vec<Option<u32>> = (1..=attempts.len() as u32).map(Some).collect();
    if numbers != expected {
        wrong.push(format!("run {run} has attempts {numbers:?}"));
    }
    // What an engine ended does not count.
    let counted = attempts.iter().filter(|row| row.loss.as_deref() != Some("job_ended")).count() as u32;
    if counted > planned.attempts {
        wrong.push(format!("run {run} has {counted} attempts of {}", planned.attempts));
    }
    if let [earlier @ .., last] = &attempts[..] {
        for row in earlier {
            let is_lost = row.outcome.as_deref() == Some("lost") && row.after.as_deref() == Some("again");
            if !is_lost || row.run_state.is_some() {
                wrong.push(format!("{row} was not lost, and another attempt followed"));
            }
        }
        // Only a run that was cancelled while it waited is settled by no attempt.
        let by_none = of_run.iter().any(|row| row.attempt.is_none() && row.run_state.is_some());
        if last.run_state.is_none() && !by_none {
            wrong.push(format!("{last} is the last and did not settle its run"));
        }
    }
    wrong.into_iter().map(|what| Complaint::new(Rule::Attempts, what)).collect()
}

fn leases(rows: &[Row]) -> Vec<Complaint> {
    let mut wrong = Vec::new();
    let mut given: BTreeMap<u64, &Row> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_attempt()) {
        let Some(lease) = row.lease_epoch else {
            wrong.push(format!("{row} has no lease"));
            continue;
        };
        if let Some(other) = given.insert(lease, row) {
            wrong.push(format!("lease {lease} was given for {other} and for {row}"));
        }
    }
    let mut late = BTreeSet::new();
    for row in rows.iter().filter(|row| row.is_late()) {
        let of = row.lease_epoch.and_then(|lease| given.get(&lease));
        let is_of_it = of.is_some_and(|of| {
            let same =
                |row: &Row| (row.run, row.attempt, row.host.clone(), row.boot.clone(), row.agent_epoch);
            same(of) == same(row) && of.loss.is_some()
        });
        if !is_of_it {
            wrong.push(format!("{row} is late, and its lease {:?} was not lost", row.lease_epoch));
        }
        if !late.insert(row.lease_epoch) {
            wrong.push(format!("{row} was reported late twice"));
        }
    }
    wrong.into_iter().map(|what| Complaint::new(Rule::Leases, what)).collect()
}
