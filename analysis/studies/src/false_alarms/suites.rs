//! False alarms over a suite: two machines of one speed.

use super::{AlarmSection, FalseAlarmStudy};
use crate::{law::suite_model::Scores, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::inference::{Alternative, Side};
use speedup_statistics::protocol::hierarchical_performance_test::{
    HierarchicalPerformanceTest, PerformanceRules,
};

/// All ask whether the candidate is the faster, so that the risk is of one side.
pub(crate) const SUITE_METHODS: [&str; 3] =
    ["hierarchical_performance_test", "paired_t_of_means", "interval_of_means"];

impl FalseAlarmStudy {
    pub(super) fn suite_rows(&self) -> Vec<StudyRow> {
        let rows = self.cells().flat_map(|(shape, runs)| {
            let cell = Cell { section: AlarmSection::Suites.code(), distribution: Some(shape), size: runs };
            let tallies = self.replication.tally(&cell.stream(), SUITE_METHODS.len(), |draws| {
                let scores = self.suite.draw(shape, runs, self.variation, draws);
                let confidences = scores.map_or([None; 3], |scores| confidences(&scores));
                confidences.map(|c| c.map(|c| c >= self.replication.confidence.get())).to_vec()
            });
            let risk = self.replication.promised_risk();
            let methods = SUITE_METHODS.iter().zip(tallies);
            methods.map(move |(method, tally)| cell.row(method, tally, Unanswered::No, [None, risk]))
        });
        rows.collect()
    }
}

/// The confidence of each method that the candidate has the higher scores.
pub(crate) fn confidences(scores: &Scores) -> [Option<f64>; 3] {
    let hierarchical = scores.suite().and_then(|suite| {
        let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
        Some(test.at(1.0).ok()?.confidence(Side::Candidate))
    });
    let of_means = scores.tests_of_means();
    let greater = Alternative::Greater;
    let paired = of_means.map(|tests| 1.0 - tests.paired.p_value(greater).get());
    let unpaired = of_means.map(|tests| 1.0 - tests.unpaired.p_value(greater).get());
    [hierarchical, paired, unpaired]
}
