//! What programs were really executed, by a log of their own: each appends a line to it before it does anything else. A line
//! belongs to the latest attempt that its host had been given when it was written, since a host serves one at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Complaint, Row, Rule, history::grouped, history::in_order, plan::Planned};

/// One line of the log: `seconds.microseconds host boot allocation benchmark version`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line<'a> {
    at_ns: u64,
    host: &'a str,
    boot: &'a str,
    allocation: &'a str,
    benchmark: &'a str,
    version: &'a str,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut words = text.split(' ');
        let (seconds, micros) = words.next()?.split_once('.')?;
        let micros: u64 = micros.parse().ok().filter(|_| micros.len() == 6)?;
        let at_ns = (seconds.parse::<u64>().ok()? * 1_000_000 + micros) * 1_000;
        let mut word = || words.next();
        let line = Self {
            at_ns,
            host: word()?,
            boot: word()?,
            allocation: word()?,
            benchmark: word()?,
            version: word()?,
        };
        words.next().is_none().then_some(line)
    }
}

/// What is wrong with an export, or with what it says of a plan, by the log of its programs.
pub(super) fn complaints(planned: &Planned, rows: &[Row], log: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut lines = Vec::new();
    for (number, text) in log.lines().enumerate() {
        match Line::read(text) {
            Some(line) => lines.push(line),
            None => complaints.push(Complaint::new(Rule::Form, format!("line {} of the log", number + 1))),
        }
    }
    lines.sort_by_key(|line| line.at_ns);
    complaints.extend(against_attempts(rows, &lines));
    complaints.extend(against_policy(planned, rows, &lines));
    complaints
}

/// Each line is of an attempt, each attempt that was executed has one, and one that was lost at most one.
fn against_attempts(rows: &[Row], lines: &[Line<'_>]) -> Vec<Complaint> {
    let wrong = |what: String| Complaint::new(Rule::Executed, what);
    let attempts = in_order(rows.iter().filter(|row| row.is_attempt()));
    let late: BTreeSet<Option<u64>> =
        rows.iter().filter(|row| row.is_late()).map(|row| row.lease_epoch).collect();
    let of_hosts = grouped(&attempts, Row::host);
    let mut executed: BTreeMap<Option<u64>, u32> = BTreeMap::new();
    let mut complaints = Vec::new();
    for line in lines {
        let given = of_hosts.get(line.host).into_iter().flatten();
        let Some(row) = given.rev().find(|row| row.granted_ns.is_some_and(|at| at <= line.at_ns)) else {
            complaints.push(wrong(format!("{line:?} was executed, and its host had been given nothing")));
            continue;
        };
        *executed.entry(row.lease_epoch).or_default() += 1;
        let is_of_row = (line.benchmark, line.version, line.boot, Some(line.allocation))
            == (&row.benchmark, &row.version, row.boot(), row.allocation.as_deref());
        if !is_of_row {
            let (boot, allocation) = (row.boot(), &row.allocation);
            complaints
                .push(wrong(format!("{row} in boot {boot}, allocation {allocation:?}, executed {line:?}")));
        }
    }
    for row in attempts {
        let times = executed.get(&row.lease_epoch).copied().unwrap_or(0);
        let is_executed = row.loss.is_none() || late.contains(&row.lease_epoch);
        if times > 1 || is_executed && times == 0 {
            complaints.push(wrong(format!("{row} was executed {times} times")));
        }
    }
    complaints
}

/// What the policy promises, of the programs alone.
fn against_policy(planned: &Planned, rows: &[Row], lines: &[Line<'_>]) -> Vec<Complaint> {
    let broken = |what: String| Complaint::new(Rule::Freshness, what);
    let mut seen = BTreeSet::new();
    let mut complaints = Vec::new();
    for line in lines {
        let unit = match planned.scope.as_str() {
            "benchmark" => (line.benchmark, ""),
            "cell" => (line.benchmark, line.version),
            _ => ("", ""),
        };
        let place = match planned.policy.as_str() {
            "distinct" => "",
            "rebooted" => line.boot,
            "reallocated" => line.allocation,
            _ => continue,
        };
        if !seen.insert((line.host, place, unit)) {
            complaints.push(broken(format!("{line:?} was executed where another of the scope was before")));
        }
    }
    if let Some(idle) = planned.idle_ns.filter(|_| planned.policy == "rested") {
        for row in rows.iter().filter(|row| row.is_attempt()) {
            let ended = row.ended_ns.unwrap_or(u64::MAX);
            let next = lines.iter().find(|line| line.host == row.host() && line.at_ns > ended);
            if let Some(line) = next.filter(|line| line.at_ns < ended + idle) {
                complaints
                    .push(broken(format!("{line:?} was executed before {idle} ns had passed since {row}")));
            }
        }
    }
    complaints.extend(apart(planned, rows).into_iter().map(broken));
    complaints
}

/// Where the plan repeats over hosts, runs of a cell are on different ones.
fn apart(planned: &Planned, rows: &[Row]) -> Vec<String> {
    if !planned.is_nested {
        return Vec::new();
    }
    let mut runs: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    let mut broken = Vec::new();
    for row in rows.iter().filter(|row| row.is_attempt()) {
        let run = *runs.entry((&row.benchmark, &row.version, row.host())).or_insert(row.run);
        if run != row.run {
            broken.push(format!("{row}: the host has visited the cell for run {run}"));
        }
    }
    broken
}
