//! One share that a study found.

use super::{LawShape, Replication, replication::Tally};
use serde::Serialize;
use speedup_statistics::test::error_of_share;

/// A share, for a method in a cell of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyRow {
    /// The section of the study.
    pub section: &'static str,
    /// The shape of the law drawn from; none where there is no choice.
    pub distribution: Option<LawShape>,
    /// What the section varies first: runs, units of the highest level, or benchmarks.
    pub size: u64,
    /// What the section varies besides: a threshold, a proportion, a true speedup.
    pub parameter: Option<f64>,
    /// The method's short name, which stays the same between releases.
    pub method: &'static str,
    /// The share.
    pub share: f64,
    /// Its standard error from the finite number of replicates; zero for a share that was computed exactly.
    pub standard_error: f64,
    /// What the method promises, or a formula says where one is known.
    pub expected: Option<f64>,
    /// The replicates; none for a share that was computed exactly.
    pub replicates: Option<u64>,
    /// Replicates in which the method had no answer.
    pub unanswered: u64,
}

/// The cell to which rows belong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) section: &'static str,
    pub(super) distribution: Option<LawShape>,
    pub(super) size: u64,
}

/// What replicates without an answer count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Nothing: the share is of the answers. An interval that was not given can neither cover nor miss.
    LeftOut,
    /// No: a test that stops has found nothing.
    No,
}

impl Cell {
    /// The name of the cell's random streams.
    pub(super) fn stream(&self) -> String {
        let shape = self.distribution.map_or("", LawShape::code);
        format!("simulation {} {shape} {}", self.section, self.size)
    }

    /// The row of a method with the parameter and the expectation that it has.
    pub(super) fn row(
        &self,
        method: &'static str,
        tally: Tally,
        unanswered: Unanswered,
        [parameter, expected]: [Option<f64>; 2],
    ) -> StudyRow {
        let of = match unanswered {
            Unanswered::LeftOut => tally.yes + tally.no,
            Unanswered::No => tally.yes + tally.no + tally.unanswered,
        };
        StudyRow {
            parameter,
            expected,
            replicates: Some(tally.yes + tally.no + tally.unanswered),
            unanswered: tally.unanswered,
            ..self.exact(method, tally.yes as f64 / of as f64, None).with_error(of)
        }
    }

    /// The row of a share that was computed, not drawn.
    pub(super) fn exact(&self, method: &'static str, share: f64, parameter: Option<f64>) -> StudyRow {
        let &Self { section, distribution, size } = self;
        let standard_error = 0.0;
        let expected = None;
        let replicates = None;
        let unanswered = 0;
        StudyRow {
            section,
            distribution,
            size,
            parameter,
            method,
            share,
            standard_error,
            expected,
            replicates,
            unanswered,
        }
    }

    /// The row of an average of numbers, one a replicate.
    pub(super) fn average(&self, method: &'static str, values: &[f64], parameter: Option<f64>) -> StudyRow {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let standard_error = if n > 1.0 { (squares / (n - 1.0) / n).sqrt() } else { f64::NAN };
        let replicates = Some(values.len() as u64);
        StudyRow { standard_error, replicates, ..self.exact(method, mean, parameter) }
    }
}

impl StudyRow {
    fn with_error(self, of: u64) -> Self {
        let of = of as f64;
        Self { standard_error: error_of_share(self.share * of, of), ..self }
    }
}

impl Replication {
    /// The level, which an interval promises.
    pub(super) fn promised_coverage(&self) -> Option<f64> {
        Some(self.confidence.get())
    }

    /// The risk, which a test promises.
    pub(super) fn promised_risk(&self) -> Option<f64> {
        Some(self.confidence.risk().get())
    }
}
