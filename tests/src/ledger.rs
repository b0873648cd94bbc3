//! The ledger: what an export says, and the checks that need nothing else.

use std::collections::{BTreeMap, BTreeSet};

/// One row of an export.
pub type Row = BTreeMap<String, String>;

/// The rows of an export.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// In the export's order.
    pub rows: Vec<Row>,
}

impl Ledger {
    /// Reads a CSV export.
    pub fn read(csv: &str) -> Self {
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        Self { rows: reader.deserialize().map(|row| row.expect("a row")).collect() }
    }

    /// Asserts that the export holds each planned run exactly once as settled, that none counts twice, and that every
    /// row which does not count says why not. Gives how many count.
    pub fn assert_exactly_once(&self, runs: usize) -> usize {
        let mut settled: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in &self.rows {
            assert_eq!(
                row["counts"] == "true",
                row["why_not"].is_empty(),
                "a row counts or says why not: {row:?}"
            );
            if !row["run_state"].is_empty() {
                settled.entry(&row["run"]).or_default().push(row);
            }
        }
        let planned: BTreeSet<String> = (0..runs).map(|run| run.to_string()).collect();
        let found: BTreeSet<String> = settled.keys().map(|run| (*run).to_owned()).collect();
        assert_eq!(found, planned, "every planned run is there");
        for (run, rows) in &settled {
            assert_eq!(rows.len(), 1, "run {run} is settled once: {rows:?}");
            assert_ne!(rows[0]["run_state"], "open", "run {run} is settled");
        }
        let counting = self.rows.iter().filter(|row| row["counts"] == "true");
        let distinct: BTreeSet<&str> = counting.clone().map(|row| row["run"].as_str()).collect();
        assert_eq!(counting.count(), distinct.len(), "no run counts twice");
        distinct.len()
    }

    /// Asserts that lease epochs are never given twice.
    pub fn assert_leases_are_unique(&self) {
        let attempts =
            self.rows.iter().filter(|row| row["why_not"] != "superseded" && !row["attempt"].is_empty());
        let leases: Vec<&str> = attempts.map(|row| row["lease_epoch"].as_str()).collect();
        let distinct: BTreeSet<&str> = leases.iter().copied().collect();
        assert_eq!(leases.len(), distinct.len(), "a lease is given once");
    }

    /// Asserts that no host served two attempts of the same unit (a benchmark, a cell, the experiment).
    pub fn assert_fresh(&self, unit: impl Fn(&Row) -> String) {
        let mut used = BTreeSet::new();
        for row in self.rows.iter().filter(|row| row["why_not"] != "superseded" && !row["attempt"].is_empty())
        {
            assert!(used.insert((row["host"].clone(), unit(row))), "a host served twice: {row:?}");
            assert_eq!(row["served_in_scope"], "0", "the evidence says fresh: {row:?}");
        }
    }
}
