//! False alarms of what `speedup compare` concludes of plain samples, gates included: by its own code, from the samples to the exit
//! code.

use super::{AlarmSection, FalseAlarmStudy};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_analysis::conclusion::{Verdict, Warning, WarningCode};
use speedup_analysis::gate::{Conclusion, GateRulings};
use speedup_analysis::inquiry::{Findings, Inquiry, Method, NamedSample, RatioOptions, RatioSuite, Suite};
use speedup_core::experiment::Center;
use speedup_statistics::{
    inference::Threshold, ratio::QuantileRatio, sample::Sample, sample::SampleQuantile,
};

const OF_SUITES: [&str; 6] =
    ["gate", "gate_by_median", "gate_by_mean", "suite_verdict", "any_adjusted", "any_plain"];
const DEPENDENT: [&str; 3] = ["median_ratio", "mean_ratio", "order_told"];
const OF_HOSTS: [&str; 4] = ["runs_as_units", "hosts_as_units", "a_host_each", "twenty_hosts_as_units"];
const OF_STALLS: [&str; 4] =
    ["mean_of_3_percent", "mean_of_3_percent_untold", "mean_of_5_percent", "mean_of_5_percent_untold"];
/// The shares of runs that stall there.
const STALLED: [f64; 2] = [0.03, 0.05];
/// What an answer says of an interval of means that may fail.
const OF_MEANS: [&str; 3] = ["mean_of_doubtful_law", "mean_of_rare_runs", "few_runs"];
const OF_TAILS: [(&str, f64); 2] = [("p90", 0.9), ("p95", 0.95)];
/// The correlation of a run with the one before it.
const CORRELATION: f64 = 0.5;
/// The hosts of each version: few, and as many as a median of hosts takes.
pub(super) const HOSTS: [u64; 2] = [5, 20];
/// The share of the variance that lies between them.
const BETWEEN: f64 = 0.5;
const MEAN: f64 = 100.0;

/// What a comparison of one candidate concluded.
struct Concluded {
    suite: RatioSuite,
    caveats: Vec<Warning>,
    is_regression: bool,
}

impl FalseAlarmStudy {
    /// Suites in which the candidate is slower by just the threshold of the gate, the parameter, on all benchmarks: nothing that the gate
    /// should see.
    pub(super) fn gated_suite_rows(&self) -> Vec<StudyRow> {
        self.thresholds.iter().flat_map(|threshold| self.gated_suites(*threshold)).collect()
    }

    fn gated_suites(&self, threshold: Threshold) -> Vec<StudyRow> {
        let rows = self.each_cell(AlarmSection::Gates, &OF_SUITES, |shape, runs, draws| {
            let mut version = |name: &str, runs: u64, factor: f64| {
                let mut benchmarks = Vec::new();
                for at in 0..self.suite.benchmarks {
                    let times = self.times(shape, runs, draws)?;
                    let times = times.in_run_order().iter().map(|time| vec![time * factor]);
                    benchmarks.push(NamedSample::new(format!("b{at}"), times.collect()));
                }
                Some(Suite::new(name, benchmarks))
            };
            let old = version("old", runs * self.baseline_times, 1.0)?;
            let suites = vec![old, version("new", runs, 1.0 + threshold.get())?];
            let by = |center| self.conclude(suites.clone(), Some(center), threshold);
            let found = by(Center::Trimmed)?;
            let [by_median, by_mean] = [by(Center::Median), by(Center::Mean)]
                .map(|found| found.is_some_and(|found| found.is_regression));
            let comparisons = || found.suite.benchmarks.iter().map(|one| &one.comparison);
            let any_adjusted = comparisons().any(|one| is_effect(&one.familywise().0));
            let any_plain = comparisons().any(|one| is_effect(&one.verdict));
            let one_word = is_effect(&found.suite.suite.verdict);
            answered([found.is_regression, by_median, by_mean, one_word, any_adjusted, any_plain])
        });
        rows.into_iter().map(|row| StudyRow { parameter: Some(threshold.get()), ..row }).collect()
    }

    /// Equal versions of which each run resembles the one before it.
    pub(super) fn dependent_run_rows(&self) -> Vec<StudyRow> {
        self.each_cell(AlarmSection::Dependent, &DEPENDENT, |shape, runs, draws| {
            let old = self.dependent_series(shape, runs, draws);
            let new = self.dependent_series(shape, runs, draws);
            let median = self.conclude_one(old.clone(), new.clone(), Some(Center::Median))?;
            let mean = self.conclude_one(old, new, Some(Center::Mean))?;
            let told = median.caveats.iter().any(|caveat| caveat.code == WarningCode::OrderDependence);
            answered([is_called(&median), is_called(&mean), told])
        })
    }

    fn dependent_series(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Vec<Vec<f64>> {
        let mut series = Vec::new();
        let mut deviate = shape.deviate(draws);
        for _ in 0..runs {
            series.push(vec![MEAN * (1.0 + self.variation * deviate)]);
            deviate = CORRELATION * deviate + (1.0 - CORRELATION * CORRELATION).sqrt() * shape.deviate(draws);
        }
        series
    }

    /// Equal versions, each on hosts of its own, half of whose variance lies between hosts: with the runs as units, with the means of
    /// hosts, and with a fresh host for each run.
    pub(super) fn host_rows(&self) -> Vec<StudyRow> {
        self.each_cell(AlarmSection::Hosts, &OF_HOSTS, |shape, runs, draws| {
            let old = self.runs_on_hosts(shape, runs, HOSTS[0], draws);
            let new = self.runs_on_hosts(shape, runs, HOSTS[0], draws);
            let by_runs = self.conclude_one(as_units(&old), as_units(&new), None)?;
            let by_hosts = self.conclude_one(old, new, None)?;
            let old = self.runs_on_hosts(shape, runs, runs, draws);
            let new = self.runs_on_hosts(shape, runs, runs, draws);
            let distinct = self.conclude_one(old, new, None)?;
            let mut found = [&by_runs, &by_hosts, &distinct].map(|found| Some(is_called(found))).to_vec();
            let old = self.runs_on_hosts(shape, runs, HOSTS[1], draws);
            let new = self.runs_on_hosts(shape, runs, HOSTS[1], draws);
            let of_twenty = if runs >= HOSTS[1] { self.conclude_one(old, new, None) } else { None };
            found.push(of_twenty.as_ref().map(is_called));
            Some(found)
        })
    }

    /// Draws `runs` times, shared evenly among `hosts`, each with an effect of its own.
    fn runs_on_hosts(&self, shape: LawShape, runs: u64, hosts: u64, draws: &mut Draws) -> Vec<Vec<f64>> {
        let mut times = Vec::new();
        for number in 0..hosts {
            let host = BETWEEN.sqrt() * draws.normal();
            let of_host = (0..runs / hosts + u64::from(number < runs % hosts)).map(|_| {
                MEAN * (1.0 + self.variation * (host + (1.0 - BETWEEN).sqrt() * shape.deviate(draws)))
            });
            times.push(of_host.collect());
        }
        times
    }

    /// Versions of equal mean, of which the candidate has rare runs that take twice as long: by the mean, and where no caveat of the
    /// answer says that its interval may fail.
    pub(super) fn rare_stall_rows(&self) -> Vec<StudyRow> {
        self.each_cell(AlarmSection::RareStalls, &OF_STALLS, |shape, runs, draws| {
            let mut found = Vec::new();
            for share in STALLED {
                let steady = self.times(shape, runs, draws)?;
                let stalled = self.times(shape, runs, draws)?;
                let stall = |time: &f64| {
                    let stall = if draws.uniform() <= share { MEAN } else { 0.0 };
                    vec![(time + stall) / (1.0 + share)]
                };
                let stalled = stalled.in_run_order().iter().map(stall).collect();
                let one = self.conclude_one(one_each(&steady), stalled, Some(Center::Mean))?;
                let told = one.caveats.iter().any(|caveat| OF_MEANS.contains(&caveat.code.as_str()));
                found.extend([is_called(&one), is_called(&one) && !told].map(Some));
            }
            Some(found)
        })
    }

    /// Quantiles of two samples of one law.
    pub(super) fn tail_rows(&self) -> Vec<StudyRow> {
        let names = OF_TAILS.map(|(name, _)| name);
        self.each_cell(AlarmSection::Tails, &names, |shape, runs, draws| {
            let x = self.times(shape, runs, draws)?;
            let y = self.times(shape, runs, draws)?;
            let calls = |(_, probability): &(&str, f64)| {
                let [x, y] = [SampleQuantile::new(&x, *probability)?, SampleQuantile::new(&y, *probability)?];
                let interval = QuantileRatio::new(x, y).ok()?.interval(self.replication.confidence);
                interval.bounded().map(|ends| ends.lower > 1.0 || ends.upper < 1.0)
            };
            Some(OF_TAILS.iter().map(calls).collect())
        })
    }

    /// The rows of a section: what `experiment` finds of each method, for each law and number of runs.
    fn each_cell(
        &self,
        section: AlarmSection,
        methods: &[&'static str],
        experiment: impl Fn(LawShape, u64, &mut Draws) -> Option<Vec<Option<bool>>> + Sync,
    ) -> Vec<StudyRow> {
        let row = |(shape, runs)| {
            let cell = Cell { section: section.code(), distribution: Some(shape), size: runs };
            let tallies = self.replication.tally(&cell.stream(), methods.len(), |draws| {
                experiment(shape, runs, draws).unwrap_or_else(|| vec![None; methods.len()])
            });
            let promised = self.replication.promised_risk();
            let rows = methods.iter().zip(tallies);
            rows.map(move |(method, tally)| cell.row(method, tally, Unanswered::No, [None, promised]))
                .collect::<Vec<_>>()
        };
        self.cells().flat_map(row).collect()
    }

    fn conclude_one(
        &self,
        old: Vec<Vec<f64>>,
        new: Vec<Vec<f64>>,
        center: Option<Center>,
    ) -> Option<Concluded> {
        let suite = |version: &str, runs| Suite {
            version: version.to_owned(),
            missing: Vec::new(),
            benchmarks: vec![NamedSample::new("b", runs)],
        };
        self.conclude(vec![suite("old", old), suite("new", new)], center, Threshold::NONE)
    }

    /// What `speedup compare` says, and whether its gate fails.
    fn conclude(
        &self,
        suites: Vec<Suite>,
        center: Option<Center>,
        noise_threshold: Threshold,
    ) -> Option<Concluded> {
        let method = Method::Ratio(RatioOptions { center, ..RatioOptions::default() });
        let confidence = Some(self.replication.confidence.get());
        let answer = Inquiry { confidence, noise_threshold, ..Inquiry::new(suites, method) }.answer().ok()?;
        let judgement = GateRulings::new(Conclusion::from_answer(&answer).ok()?);
        let Findings::Ratio(found) = answer.findings else { return None };
        let suite = found.into_iter().next()?;
        let caveats = [answer.caveats, suite.caveats.clone()].concat();
        Some(Concluded { suite, caveats, is_regression: !judgement.regressions.is_empty() })
    }
}

fn answered<const N: usize>(found: [bool; N]) -> Option<Vec<Option<bool>>> {
    Some(found.map(Some).to_vec())
}

/// Each run as a unit of its own.
fn as_units(hosts: &[Vec<f64>]) -> Vec<Vec<f64>> {
    hosts.iter().flatten().map(|time| vec![*time]).collect()
}

fn one_each(sample: &Sample) -> Vec<Vec<f64>> {
    sample.in_run_order().iter().map(|time| vec![*time]).collect()
}

fn is_effect(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn is_called(found: &Concluded) -> bool {
    found.suite.benchmarks.iter().any(|one| is_effect(&one.comparison.verdict))
}
