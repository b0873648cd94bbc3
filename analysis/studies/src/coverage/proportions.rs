//! Coverage of the intervals of a proportion, exactly: the sum of the binomial probabilities of the counts whose interval
//! contains the proportion (Brown, Cai, DasGupta 2001, §2).

use super::{Coverage, CoverageSection, by_levels::covers};
use crate::row::{Cell, StudyRow};
use rayon::prelude::*;
use speedup_statistics::{distribution::binomial, test::Proportion, test::ProportionMethod, test::Selection};

impl Coverage {
    pub(super) fn proportion_rows(&self) -> Vec<StudyRow> {
        self.benchmarks.par_iter().flat_map_iter(|benchmarks| self.rows_for_benchmarks(*benchmarks)).collect()
    }

    fn rows_for_benchmarks(&self, benchmarks: u64) -> Vec<StudyRow> {
        let cell =
            Cell { section: CoverageSection::Proportions.code(), distribution: None, size: benchmarks };
        let mut rows = Vec::new();
        for method in ProportionMethod::ALL {
            let intervals: Vec<_> = (0..=benchmarks)
                .filter_map(|accelerated| Proportion::new(accelerated, benchmarks, Selection::Drawn).ok())
                .map(|proportion| proportion.interval(method, self.replication.confidence))
                .collect();
            for truth in &self.proportions {
                let counts =
                    (0..=benchmarks).zip(&intervals).filter(|(_, interval)| covers(interval, *truth));
                let share = counts.map(|(count, _)| probability(count, benchmarks, *truth)).sum();
                let row = cell.exact(code(method), share, Some(*truth));
                rows.push(StudyRow { expected: self.replication.promised_coverage(), ..row });
            }
        }
        rows
    }
}

/// `P[A = count]`, the difference of two tails of the same side.
fn probability(count: u64, trials: u64, success: f64) -> f64 {
    let at_most = binomial::tails(count, trials, success);
    match count.checked_sub(1) {
        None => at_most.lower,
        Some(below) => {
            let below = binomial::tails(below, trials, success);
            if at_most.lower < 0.5 { at_most.lower - below.lower } else { below.upper - at_most.upper }
        }
    }
}

fn code(method: ProportionMethod) -> &'static str {
    match method {
        ProportionMethod::WilsonCorrected => "wilson_corrected",
        ProportionMethod::Wilson => "wilson",
        ProportionMethod::ClopperPearson => "clopper_pearson",
        ProportionMethod::AgrestiCoull => "agresti_coull",
        ProportionMethod::Jeffreys => "jeffreys",
        ProportionMethod::Wald => "wald",
    }
}
