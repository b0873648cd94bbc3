//! Whether the runs were what the methods take them for: diagnostics of each cell, and of the hosts over all cells.
//!
//! Many tests are made, so many of them would be small by chance. All their p-values are one family, adjusted by Holm's
//! step-down bound, and a caveat is raised only where the adjusted one is at most the report's risk: in an undisturbed
//! experiment the report raises any of them with at most that probability, however many cells it has.

use super::diagnostic::{DiagnosedCell, DiagnosticReport, Sign};
use super::{host_effect::HostEffectReport, missing::MissingReport, placement::PlacementReport};
use crate::conclusion::{ReportWord, WarningCode, Warnings};
use crate::count::counted;
use crate::study::gather::evidence::{HostLabel, NamedLocation, RunLocations};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use speedup_statistics::diagnostics::run_order::{Autocorrelation, Drift, FirstRunEffect, RunsTest};
use speedup_statistics::diagnostics::{Granularity, MetricKind};
use speedup_statistics::inference::{Adjustment, Alternative, ConfidenceLevel, PValue};
use speedup_statistics::sample::Sample;
use std::collections::BTreeMap;

/// Below this many runs the order of a cell says nothing that could be significant among others.
const FEWEST_RUNS: usize = 5;

/// The diagnostics of one cell's wall times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticsReport {
    /// The lag-1 autocorrelation of the ranks; its statistic is the coefficient. Of the times themselves a few long runs
    /// would raise false alarms.
    pub autocorrelation: Option<DiagnosticReport>,
    /// The runs test about the median; its statistic is the number of series.
    pub runs_test: Option<DiagnosticReport>,
    /// Mann–Kendall; its statistic is Kendall's tau with the run order.
    pub drift: Option<DiagnosticReport>,
    /// The first run of the cell in each boot of a host that made several; its statistic is its distance from the others, in
    /// nanoseconds.
    pub first_run: Option<DiagnosticReport>,
    /// Whether the clusters of its mixture are hosts; its statistic is Cramér's V. Only with a mixture of several components.
    #[serde(default)]
    pub modes: Option<DiagnosticReport>,
    /// The same for the fingerprint classes of its hosts. Only where the plan allows several and several took part.
    #[serde(default)]
    pub class_modes: Option<DiagnosticReport>,
    /// The Theil–Sen slope in nanoseconds a run, or a visit, where the drift is significant after adjustment.
    pub slope_ns: Option<f64>,
    /// How coarse the times are.
    pub granularity: GranularityReport,
}

/// How coarse times are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GranularityReport {
    /// What follows for the methods.
    pub kind: GranularityKind,
    /// The estimated probability that two random runs are equal.
    pub tie_probability: f64,
    /// The share of runs whose time another run has as well.
    pub tied_share: f64,
    /// The step of the grid on which all times lie, in nanoseconds, if there is one.
    pub step_ns: Option<f64>,
}

/// The kinds of [`MetricKind`], as they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GranularityKind {
    /// Ties are absent or rare.
    Continuous,
    /// Ties are frequent.
    Coarse,
    /// A few values make up the sample.
    Discrete,
    /// All runs have one value.
    Constant,
    /// Too few runs to tell.
    Unknown,
}

/// The diagnostics of the report as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticsSummary {
    /// How many tests the family has.
    pub tests: u64,
    /// How the p-values were adjusted.
    pub adjustment: String,
    /// Of how many tests the adjusted p-value is at most the report's risk, by the code name of the caveat.
    pub significant: BTreeMap<String, u64>,
    /// Whether first runs differ, over the boots of all cells at once; its statistic is in standard deviations of a cell.
    pub first_run: Option<DiagnosticReport>,
    /// Whether hosts differ.
    pub hosts: HostEffectReport,
    /// Where in the network the runs were, and whether that mattered; absent where that is not known or does not vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementReport>,
    /// Whether the versions differ in what is missing from their samples, one a candidate.
    #[serde(default)]
    pub missing: Vec<MissingReport>,
}

impl DiagnosticsReport {
    /// Of a cell, p-values not yet adjusted.
    pub(crate) fn new(cell: &DiagnosedCell<'_>) -> Option<Self> {
        let sample = cell.sample;
        if sample.len() < FEWEST_RUNS {
            return None;
        }
        let two_sided = Alternative::TwoSided;
        let pairs = (cell.independent.len() * (cell.independent.len() - 1) / 2) as f64;
        let ordered = Some(cell.independent).filter(|independent| independent.len() >= FEWEST_RUNS);
        let autocorrelation = ordered.and_then(ranks).and_then(|ranks| Autocorrelation::new(&ranks).ok());
        let runs_test = ordered.and_then(|ordered| RunsTest::new(ordered).ok());
        let drift = ordered.and_then(|ordered| Drift::new(ordered).ok());
        let first_run = FirstRunEffect::from_runs(ByBoot::new(sample, cell.locations).boots()).ok();
        Some(Self {
            autocorrelation: autocorrelation
                .map(|test| DiagnosticReport::new(test.coefficient(), test.p_value(two_sided))),
            runs_test: runs_test
                .map(|test| DiagnosticReport::new(test.series() as f64, test.p_value(two_sided))),
            drift: drift.map(|test| DiagnosticReport::new(test.s() as f64 / pairs, test.p_value(two_sided))),
            first_run: first_run
                .map(|test| DiagnosticReport::new(test.difference(), test.p_value(two_sided))),
            modes: None,
            class_modes: None,
            slope_ns: None,
            granularity: GranularityReport::from(&Granularity::new(sample)),
        })
    }

    /// The tests with what they are signs of.
    fn tests(&mut self) -> [(Sign, Option<&mut DiagnosticReport>); 6] {
        [
            (Sign::Autocorrelation, self.autocorrelation.as_mut()),
            (Sign::RunsInSeries, self.runs_test.as_mut()),
            (Sign::Drift, self.drift.as_mut()),
            (Sign::FirstRun, self.first_run.as_mut()),
            (Sign::ModesAreHosts, self.modes.as_mut()),
            (Sign::ModesAreClasses, self.class_modes.as_mut()),
        ]
    }
}

impl From<&Granularity> for GranularityReport {
    fn from(granularity: &Granularity) -> Self {
        let kind = match granularity.kind() {
            MetricKind::Continuous => GranularityKind::Continuous,
            MetricKind::Coarse => GranularityKind::Coarse,
            MetricKind::Discrete => GranularityKind::Discrete,
            MetricKind::Constant => GranularityKind::Constant,
            MetricKind::Unknown => GranularityKind::Unknown,
        };
        Self {
            kind,
            tie_probability: granularity.tie_probability(),
            tied_share: granularity.tied_share(),
            step_ns: granularity.grid().filter(|step| *step > 1.0),
        }
    }
}

/// The midranks of the observations, in run order: the law of a statistic of them is the same whatever that of the times.
fn ranks(sample: &Sample) -> Option<Sample> {
    let sorted = sample.sorted();
    let mut midranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|one, other| one == other) {
        let midrank = (2 * midranks.len() + tied.len() + 1) as f64 / 2.0;
        midranks.extend(tied.iter().map(|_| midrank));
    }
    let midrank = |value: &f64| midranks[sorted.partition_point(|other| other < value)];
    Sample::new(sample.in_run_order().iter().map(midrank).collect()).ok()
}

/// The runs of a cell by the boots of hosts, in run order within each.
struct ByBoot {
    values: Vec<f64>,
    /// Where each boot ends.
    ends: Vec<usize>,
}

impl ByBoot {
    fn new(sample: &Sample, locations: &RunLocations<'_>) -> Self {
        let key = |(place, location): (usize, NamedLocation)| {
            (u128::from(location.host) << 64) | (u128::from(location.boot) << 32) | place as u128
        };
        let mut keys: Vec<u128> = locations.iter().enumerate().map(key).collect();
        keys.sort_unstable();
        let value = |key: &u128| sample.in_run_order()[*key as u32 as usize];
        let mut end = 0;
        let ends = keys.chunk_by(|one, other| one >> 32 == other >> 32).map(|of_boot| {
            end += of_boot.len();
            end
        });
        Self { ends: ends.collect(), values: keys.iter().map(value).collect() }
    }

    fn boots(&self) -> impl Iterator<Item = &[f64]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.values[start..*end])
    }
}

/// First runs over all cells: groups in standard deviations of their cell, so that the typical difference has a unit.
fn pooled_first_run(cells: &[DiagnosedCell<'_>]) -> Option<DiagnosticReport> {
    let scaled = |cell: &DiagnosedCell<'_>| {
        let sd = cell.sample.standard_deviation().filter(|sd| *sd > 0.0)?;
        let mut by_boot = ByBoot::new(cell.sample, cell.locations);
        by_boot.values.iter_mut().for_each(|value| *value = (*value - cell.sample.mean()) / sd);
        Some(by_boot)
    };
    let cells: Vec<ByBoot> = cells.par_iter().filter_map(scaled).collect();
    let test = FirstRunEffect::from_runs(cells.iter().flat_map(ByBoot::boots)).ok()?;
    (test.groups() > 1).then(|| DiagnosticReport::new(test.difference(), test.p_value(Alternative::TwoSided)))
}

/// Adjusts all diagnostics as one family, and raises what stays significant. The reports are those of the `cells`, in
/// their order; `names` are those of the hosts, by number.
pub(crate) fn conclude(
    cells: &[DiagnosedCell<'_>],
    reports: &mut [Option<&mut DiagnosticsReport>],
    names: &[HostLabel],
    mut placement: Option<PlacementReport>,
    mut missing: Vec<MissingReport>,
    level: ConfidenceLevel,
    warnings: &mut Warnings,
) -> DiagnosticsSummary {
    let (mut first_run, mut hosts) =
        rayon::join(|| pooled_first_run(cells), || HostEffectReport::new(cells, names, level));
    let mut family: Vec<(Sign, String, &mut DiagnosticReport)> = Vec::new();
    for (cell, report) in cells.iter().zip(reports.iter_mut()) {
        let tests = report.iter_mut().flat_map(|report| report.tests());
        family.extend(tests.filter_map(|(sign, test)| Some((sign, cell.about.to_owned(), test?))));
    }
    family.extend(first_run.as_mut().map(|test| (Sign::FirstRun, String::new(), test)));
    family.extend(hosts.tests().into_iter().map(|(sign, test)| (sign, String::new(), test)));
    family.extend(placement.iter_mut().flat_map(PlacementReport::tests));
    for of_candidate in &mut missing {
        let about = of_candidate.benchmark.as_ref().unwrap_or(&of_candidate.candidate).clone();
        family.extend(of_candidate.tests().map(|(sign, test)| (sign, about.clone(), test)));
    }
    let p_values: Vec<_> = family.iter().map(|(_, _, test)| Some(PValue::from_told(test.p_value))).collect();
    let tests = p_values.len() as u64;
    let adjusted = Adjustment::Holm.adjust(&p_values);
    let mut significant: BTreeMap<String, u64> = BTreeMap::new();
    let mut alarms: Vec<(Sign, String)> = Vec::new();
    for ((sign, about, test), adjusted) in family.into_iter().zip(adjusted) {
        let Some(adjusted) = adjusted else { continue };
        test.adjusted = adjusted.told();
        if adjusted.rejects_at(level.risk()) {
            *significant.entry(WarningCode::from(sign).name().to_owned()).or_default() += 1;
            alarms.push((sign, about));
        }
    }
    for (cell, report) in cells.iter().zip(reports.iter_mut()) {
        let Some(report) = report else { continue };
        if report.drift.is_some_and(|drift| drift.adjusted <= level.risk().get()) {
            report.slope_ns = Drift::new(cell.independent).ok().map(|drift| drift.slope());
        }
    }
    for sign in Sign::ALL {
        for (_, about) in alarms.iter().filter(|(of, _)| *of == sign) {
            let sentence = || sentence(sign, &hosts, placement.as_ref(), tests);
            match about.as_str() {
                "" => warnings.raise(sign.into(), sentence()),
                about => warnings.concern(sign.into(), about, sentence),
            }
        }
    }
    warn_of_coarse_times(cells, reports, warnings);
    DiagnosticsSummary {
        tests,
        adjustment: Adjustment::Holm.name().to_owned(),
        significant,
        first_run,
        hosts,
        placement,
        missing,
    }
}

fn warn_of_coarse_times(
    cells: &[DiagnosedCell<'_>],
    reports: &[Option<&mut DiagnosticsReport>],
    warnings: &mut Warnings,
) {
    for (cell, report) in cells.iter().zip(reports) {
        if report.as_ref().is_some_and(|report| report.granularity.kind == GranularityKind::Discrete) {
            warnings.concern(WarningCode::CoarseTimes, cell.about, || {
                "The times take a few values only, so that any two runs are equal with a probability above 10 %: tests \
                 and intervals are for finer times; use a finer clock or a longer run."
                    .to_owned()
            });
        }
    }
}

fn sentence(sign: Sign, hosts: &HostEffectReport, placement: Option<&PlacementReport>, tests: u64) -> String {
    let of_family = format!("significant after Holm's adjustment for {}", counted(tests, "diagnostic"));
    match sign {
        Sign::Autocorrelation => format!(
            "A run resembles the one before it, or is unlike it ({of_family}), so the runs are worth fewer than they \
             are and the intervals are off: look for what lasts longer than a run, and spread the runs over hosts and time."
        ),
        Sign::RunsInSeries => format!(
            "Runs above and below the median come in series, or alternate ({of_family}), which independent runs do not: \
             look at the times in run order for what changes the host's state."
        ),
        Sign::Drift => format!(
            "The times drift with the order of the runs ({of_family}); both versions drift alike since their runs are \
             mixed, but the spread is not that of one state: find what changes (heat, a filling disk or cache)."
        ),
        Sign::FirstRun => format!(
            "The first run on a host, or after it booted, differs from those after it ({of_family}): plan a warm-up, or one run per host."
        ),
        Sign::ModesAreHosts => format!(
            "The clusters of the times are not spread evenly over the hosts ({of_family}): a mode may be a host, not the \
             program; look at the times by host."
        ),
        Sign::ModesAreClasses => format!(
            "The clusters of the times are not spread evenly over the fingerprint classes of the hosts ({of_family}): a mode is \
             a class, not the program; versions are compared within the classes, so go by the verdict and not by the modes."
        ),
        Sign::LossesDiffer => format!(
            "A candidate lost another share of its attempts than the baseline (Fisher's exact test, {of_family}), so the \
             difference of the samples may be of what is missing from them: fix what loses attempts, and repeat."
        ),
        Sign::FailuresDiffer => format!(
            "A candidate failed in another share of its runs than the baseline (Fisher's exact test, {of_family}), and the \
             samples hold only the successful ones: do not quote a speedup until you know why."
        ),
        Sign::PlacementEffect => {
            let test = placement.and_then(|placement| placement.test);
            let long = if test.is_some_and(|test| test.statistic < 0.0) { "less long" } else { "longer" };
            let size = placement.and_then(PlacementReport::size);
            let size = size.map_or_else(String::new, |size| format!("; {size}"));
            format!(
                "Runs over more leaf switches take {long} ({of_family}{size}), so a part of the spread is that of the placement, \
                 which the engine chooses: ask it for nodes below one switch."
            )
        }
        Sign::PlacementsDiffer => format!(
            "A candidate's runs were spread over another number of leaf switches than the baseline's ({of_family}), so the \
             difference of the versions may be that of their placement: go by the runs of equal placement, and let the \
             engine place both alike."
        ),
        Sign::HostEffect => hosts.sentence(),
        Sign::OutlyingHosts => match hosts.outlying() {
            Some(outlying) => {
                let all = outlying.hosts.len() as u64 + outlying.more;
                let (is, it) = if all == 1 { ("is", "it") } else { ("are", "them") };
                format!(
                    "{} {is} unlike the others ({of_family}): {}; look into {it} before you use the pool again.",
                    counted(all, "host"),
                    outlying.named(),
                )
            }
            None => String::new(),
        },
    }
}
