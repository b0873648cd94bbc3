//! Puts the report of a study together.

use super::{figures::FiguresReport, method::MethodReport};
use crate::study::compare::comparison::{BenchmarkReport, CellReport, ComparisonReport, Pair};
use crate::study::compare::suite::{Suite, SuiteReport, Total};
use crate::study::compare::{family, proportion, rule_verdict};
use crate::study::validity::missing::{AttemptCounts, MissingReport, completeness, lacking, losses};
use crate::study::validity::{built, diagnostics, disturbance, software};
use crate::study::{Figures, Mixtures, ReportOptions, Study, scaling};
use crate::study::{
    compare::controls::ControlsReport, compare::endpoint::EndpointReport, compare::members::Members,
    compare::metric::MetricReport, compare::mixture::MixtureReport,
    compare::multiplicity::MultiplicityReport, design::Design, design::DesignKind, design::INDEPENDENT_RUN,
    gather::cell::CellRecords, gather::mishap::FailureTotals, head::Head, ranks::RanksReport, report::Report,
    report::SCHEMA_VERSION, rule::RuleKind, rule::RuleReport, rule::RuleState, sampled::BenchmarkSamples,
    scaling::ScalingReport, two_sample::headline::HeadlineSpec, validity::canary::CanaryReport,
    validity::diagnostic::DiagnosedCell, validity::diagnostics::DiagnosticsReport,
    validity::diagnostics::DiagnosticsSummary, validity::exclusion::ExclusionsReport,
    validity::host_effect::OutlyingReport, validity::host_effect::WithoutReport,
    validity::independence::IndependenceReport, validity::placement::PlacementReport,
};
use crate::{conclusion::Warnings, count::counted, count::grouped, gate::Conclusion};
use rayon::prelude::*;
use speedup_core::{experiment, experiment::Rule, experiment::metric::Metric, value::id::HostId};
use speedup_statistics::{
    inference::ConfidenceLevel, inference::Threshold, ratio::BenchmarkWeights, test::Selection,
};
use std::collections::BTreeSet;

/// What all comparisons of a report share.
#[derive(Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    pub(crate) study: &'a Study,
    pub(crate) level: ConfidenceLevel,
    noise: Threshold,
    mixtures: Mixtures,
    /// What the plan's rule says, where the plan has looks.
    looks: Option<&'a RuleReport>,
    /// Whether runs of the plan are outstanding, before which there is no verdict.
    is_so_far: bool,
}

impl Circumstances<'_> {
    /// What is declared of the headlines.
    fn declared(&self) -> HeadlineSpec {
        HeadlineSpec::new(&self.study.plan.experiment, self.level, self.noise)
    }
}

/// The report of `study` at `level`, with what `asked` wants besides.
pub(crate) fn report(study: &Study, level: ConfidenceLevel, asked: ReportOptions) -> Report {
    let ReportOptions { confidence: _, noise, mixtures, figures } = asked;
    let experiment = &study.plan.experiment;
    // A bisection has one answer and no comparisons: most of its versions are run seldom or not at all.
    let bisects = experiment.bisection().is_some();
    let (sampled, independence) = rayon::join(
        || if bisects { Vec::new() } else { BenchmarkSamples::all(study) },
        || IndependenceReport::new(&study.evidence, &study.plan),
    );
    let mishaps = study.cells.iter().map(|cell| &cell.mishaps);
    let totals = FailureTotals::from_cells(mishaps, study.beyond_plan);
    let head = Head::new(study, level, noise);
    let mut warnings = Warnings::default();
    warn_of_the_runs(study, &head, &independence, &mut warnings);
    software::warn_programs(study, &sampled, &mut warnings);
    software::warn(study, &sampled, &mut warnings);
    warn_of_losses(study, &sampled, &totals, &head, &mut warnings);
    disturbance::warn(&sampled, study, level, &mut warnings);
    let records: Vec<_> = sampled.iter().map(|sampled| (sampled.name, sampled.records)).collect();
    lacking::warn(&records, &experiment.own_metrics, &mut warnings);
    let mut rule = crate::study::rule::report(study, level);
    let looks = rule.as_ref().filter(|rule| rule.is_by_looks());
    // Looks have a verdict when they are due.
    let is_so_far = looks.is_none() && awaits_runs(&head, rule.as_ref());
    let circumstances = Circumstances { study, level, noise, mixtures, looks, is_so_far };
    let (mut benchmarks, metrics) = rayon::join(
        || benchmarks(&sampled, &circumstances, &mut warnings),
        || metrics(study, &records, level),
    );
    let mut endpoints = EndpointReport::all(study, &sampled, &circumstances.declared());
    if is_so_far {
        withhold_verdicts(&mut benchmarks, &mut endpoints);
    }
    let adjusted = all_concluded(&sampled, &mut benchmarks, &mut endpoints, &circumstances);
    let mut diagnostics = diagnose(&sampled, &mut benchmarks, study, level, &mut warnings);
    if let Some(outlying) = diagnostics.as_mut().and_then(|diagnostics| diagnostics.hosts.outlying_mut()) {
        compare_without(outlying, &benchmarks, &circumstances);
    }
    let suites = suites(&sampled, &benchmarks, adjusted, &circumstances, &mut warnings);
    if !suites.is_empty() {
        scaling::warn(study, &mut warnings);
    }
    let figures = match figures {
        Figures::LeftOut => None,
        Figures::Drawn => Some(FiguresReport::new(&sampled, &benchmarks, &study.evidence)),
    };
    if let Some(rule) = &mut rule {
        conclude_budget(rule, &benchmarks);
    }
    let canary = canary(study, level, &mut warnings);
    let from_plan = level.get() == experiment.analysis.confidence;
    let mut controls = None;
    let mut scaling = Vec::new();
    if !is_so_far {
        controls = ControlsReport::new(study, &sampled, &benchmarks, level);
        scaling = ScalingReport::all(study, &sampled, level);
    }
    if let Some(controls) = &controls {
        controls.warn(level, &mut warnings);
    }
    let report = Report {
        schema_version: SCHEMA_VERSION,
        gates: Vec::new(),
        suites,
        independence,
        diagnostics,
        canary,
        controls,
        exclusions: ExclusionsReport::new(study),
        scaling,
        ranks: RanksReport::all(study, &sampled, level),
        metrics,
        endpoints,
        mishaps: totals,
        rule,
        figures,
        warnings: warnings.into_list(),
        method: MethodReport::new(&study.plan, level, from_plan, benchmarks.len() as u64),
        benchmarks,
        head,
    };
    Report { gates: Conclusion::of_rows(&report), ..report }
}

/// Gives the rows of a budget the verdicts of the benchmarks when both stages are over, as that rule has none of its own.
///
/// They are valid because the number of runs was computed from variances and costs before any difference was looked at:
/// given the variances, the means of normal times are independent of it, so that a test at the final number of runs keeps
/// its level; for other times approximately.
fn conclude_budget(rule: &mut RuleReport, benchmarks: &[BenchmarkReport]) {
    if rule.rule != RuleKind::Budget || rule.state != RuleState::Enough {
        return;
    }
    for row in &mut rule.rows {
        let benchmark = benchmarks.iter().find(|benchmark| benchmark.name == row.benchmark);
        let comparison = benchmark.and_then(|benchmark| {
            benchmark.comparisons.iter().find(|comparison| comparison.candidate == row.candidate)
        });
        let Some(comparison) = comparison else { continue };
        row.verdict = comparison.verdict;
        if let Some(headline) = comparison.headline() {
            row.speedup = Some(headline.speedup);
            row.speedup_interval = headline.interval.ends().map(|(lower, upper)| [lower, upper]);
            row.test = headline.interval.method().map(str::to_owned);
        }
        let (unit, [of_baseline, of_candidate]) = match &comparison.design {
            Some(design) => (design.noun(), [design.baseline_units, design.candidate_units]),
            None => (INDEPENDENT_RUN, [comparison.baseline_n, comparison.candidate_n]),
        };
        row.sentence = format!(
            "{}, {}: {} by the report's test, of {} and {} of the two versions.",
            row.benchmark,
            row.candidate,
            comparison.verdict.words(),
            grouped(of_baseline),
            counted(of_candidate, unit)
        );
    }
    rule.words += " The verdicts are the report's and keep its confidence level: the number of runs was set from variances and costs \
                   alone, before a difference was looked at, exactly so for normal times and approximately for others.";
}

/// Raises what there is of failed and lost runs.
fn warn_of_losses(
    study: &Study,
    sampled: &[BenchmarkSamples<'_>],
    totals: &FailureTotals,
    head: &Head,
    warnings: &mut Warnings,
) {
    losses::warn(sampled, totals, head.may_be_extended(), warnings);
    losses::warn_of_hosts(study, warnings);
    losses::warn_of_survivors(sampled, warnings);
}

/// Whether runs of the plan are outstanding, or its rule may append some.
fn awaits_runs(head: &Head, rule: Option<&RuleReport>) -> bool {
    let asks_for_more =
        rule.is_some_and(|rule| matches!(rule.state, RuleState::Further | RuleState::Pending));
    head.awaits_runs() || (head.may_be_extended() && asks_for_more)
}

/// Each candidate over all benchmarks.
fn suites(
    sampled: &[BenchmarkSamples<'_>],
    benchmarks: &[BenchmarkReport],
    adjusted: Vec<(Total, Vec<MultiplicityReport>)>,
    circumstances: &Circumstances<'_>,
    warnings: &mut Warnings,
) -> Vec<SuiteReport> {
    let mut suites = Vec::new();
    for (version, (total, multiplicity)) in (1..).zip(adjusted) {
        let suite = suite(sampled, benchmarks, version, total, circumstances, warnings);
        suites.push(suite.with_multiplicity(multiplicity));
    }
    suites
}

/// Takes back what only all runs of the plan allow.
fn withhold_verdicts(benchmarks: &mut [BenchmarkReport], endpoints: &mut [EndpointReport]) {
    for comparison in benchmarks.iter_mut().flat_map(|benchmark| &mut benchmark.comparisons) {
        comparison.withhold();
    }
    for row in endpoints.iter_mut().flat_map(|endpoint| &mut endpoint.rows) {
        row.withhold();
    }
}

/// What is concluded of each candidate in total, and of all its verdicts together.
fn all_concluded(
    sampled: &[BenchmarkSamples<'_>],
    benchmarks: &mut [BenchmarkReport],
    endpoints: &mut [EndpointReport],
    circumstances: &Circumstances<'_>,
) -> Vec<(Total, Vec<MultiplicityReport>)> {
    let experiment = &circumstances.study.plan.experiment;
    let mut concluded = Vec::new();
    if experiment.bisection().is_some() {
        return concluded;
    }
    for version in 1..experiment.compared().len() {
        let mut total = over_all(sampled, benchmarks, version, circumstances).conclusion();
        let mut multiplicity = Vec::new();
        // The looks of each benchmark are its own, and outstanding runs allow no verdict.
        if circumstances.looks.is_none() && !circumstances.is_so_far {
            multiplicity = adjust(benchmarks, endpoints, version, &mut total, circumstances.level);
        }
        concluded.push((total, multiplicity));
    }
    concluded
}

/// Repeats the comparisons without the outlying hosts, if there are any. No sample loses a run by this: it only shows which
/// verdicts depend on these hosts. Looks use all runs.
fn compare_without(
    outlying: &mut OutlyingReport,
    benchmarks: &[BenchmarkReport],
    circumstances: &Circumstances<'_>,
) {
    if circumstances.looks.is_none() && !circumstances.is_so_far && !outlying.hosts.is_empty() {
        let names = outlying.hosts.iter().map(|host| host.host.as_str()).collect();
        let brief = Circumstances { mixtures: Mixtures::LeftOut, ..*circumstances };
        outlying.without = without_hosts(circumstances.study, &names, &brief, benchmarks);
    }
}

/// The metrics beside the wall time, those that the plan adds last.
fn metrics(study: &Study, records: &[(&str, &[CellRecords])], level: ConfidenceLevel) -> Vec<MetricReport> {
    let experiment = &study.plan.experiment;
    let rows = || records.iter().copied();
    let others = experiment.metrics.iter().filter(|metric| **metric != Metric::Wall);
    let own = experiment.own_metrics.iter().enumerate();
    let own = own.map(|(place, metric)| MetricReport::of_own(study, place, metric, rows(), level));
    others.map(|metric| MetricReport::new(study, *metric, rows())).chain(own).collect()
}

/// What is to be said of the runs as a whole.
fn warn_of_the_runs(study: &Study, head: &Head, independence: &IndependenceReport, warnings: &mut Warnings) {
    if study.plan.experiment.bisection().is_none() {
        completeness::warn(head, warnings);
        built::warn(study, warnings);
    }
    match study.plan.experiment.rule {
        Rule::Fixed => completeness::warn_of_the_extension(head, warnings),
        Rule::Bisection(_) => {}
        rule @ (Rule::Pilot { .. } | Rule::Sequential { .. } | Rule::Budget { .. }) => {
            crate::study::rule::warn(rule, head, warnings);
        }
    }
    completeness::warn_of_a_cap(head, study, warnings);
    independence.warn(warnings);
}

/// Reports the canary, where the plan has one, and raises its caveats.
fn canary(study: &Study, level: ConfidenceLevel, warnings: &mut Warnings) -> Option<CanaryReport> {
    study.plan.experiment.canary.as_ref()?;
    let names = study.evidence.hosts.numbered().into_iter();
    let names = names.map(|(name, number)| (number, name.to_string()));
    let report = study.canary.report(&names.collect(), |host| study.evidence.name_of(host), level);
    report.warn(warnings);
    Some(report)
}

/// All benchmarks, in parallel; their caveats in plan order.
pub(crate) fn benchmarks(
    sampled: &[BenchmarkSamples<'_>],
    circumstances: &Circumstances<'_>,
    warnings: &mut Warnings,
) -> Vec<BenchmarkReport> {
    let one = |sampled: &BenchmarkSamples<'_>| {
        let mut warnings = Warnings::default();
        (benchmark(sampled, circumstances, &mut warnings), warnings)
    };
    let reported: Vec<_> = sampled.par_iter().map(one).collect();
    let keep = |(report, raised)| {
        warnings.append(raised);
        report
    };
    reported.into_iter().map(keep).collect()
}

/// Adjusts the verdicts on one candidate for their number.
pub(crate) fn adjust(
    benchmarks: &mut [BenchmarkReport],
    endpoints: &mut [EndpointReport],
    version: usize,
    total: &mut Total,
    level: ConfidenceLevel,
) -> Vec<MultiplicityReport> {
    let mut comparisons: Vec<_> =
        benchmarks.iter_mut().map(|benchmark| &mut benchmark.comparisons[version - 1]).collect();
    let candidate = comparisons.first().map_or_else(String::new, |comparison| comparison.candidate.clone());
    endpoints.iter_mut().for_each(|endpoint| endpoint.adjust_own(&candidate, level));
    let mut common: Vec<_> = EndpointReport::common(endpoints, &candidate).collect();
    family::adjust(&mut comparisons, &mut common, total, level)
}

/// Concludes the diagnostics of all cells as one family.
fn diagnose(
    sampled: &[BenchmarkSamples<'_>],
    benchmarks: &mut [BenchmarkReport],
    study: &Study,
    level: ConfidenceLevel,
    warnings: &mut Warnings,
) -> Option<DiagnosticsSummary> {
    let (mut cells, mut reports) = (Vec::new(), Vec::new());
    for (sampled, benchmark) in sampled.iter().zip(benchmarks) {
        for (version, cell) in benchmark.cells.iter_mut().enumerate() {
            if let Some(diagnosed) = DiagnosedCell::new(sampled, version) {
                cells.push(diagnosed);
                reports.push(cell.diagnostics.as_mut());
            }
        }
    }
    let missing = missing(sampled, study);
    let names = study.evidence.labels();
    let placement = PlacementReport::new(study, sampled, &cells, level);
    (!cells.is_empty())
        .then(|| diagnostics::conclude(&cells, &mut reports, &names, placement, missing, level, warnings))
}

/// What is missing from the samples of each candidate: over all benchmarks, and of several on each that lacks any.
fn missing(sampled: &[BenchmarkSamples<'_>], study: &Study) -> Vec<MissingReport> {
    let mut reports = Vec::new();
    for (at, version) in study.plan.experiment.compared().iter().enumerate().skip(1) {
        let over = |sampled: &[BenchmarkSamples<'_>]| {
            let counts = [0, at].map(|cell| AttemptCounts::sum(sampled.iter().map(|one| &one.records[cell])));
            MissingReport::new(&version.name, counts)
        };
        reports.push(over(sampled));
        for one in sampled {
            let report = over(std::slice::from_ref(one));
            let lacks_any = report.losses.is_some() || report.failures.is_some();
            if sampled.len() > 1 && lacks_any {
                reports.push(MissingReport { benchmark: Some(one.name.to_owned()), ..report });
            }
        }
    }
    reports
}

fn benchmark(
    sampled: &BenchmarkSamples<'_>,
    circumstances: &Circumstances<'_>,
    warnings: &mut Warnings,
) -> BenchmarkReport {
    let Circumstances { study, mixtures, looks, .. } = *circumstances;
    let versions = study.plan.experiment.compared();
    let seed = study.plan.experiment.seed;
    let cell = |version: usize| {
        let (name, sample) = (&versions[version].name, sampled.samples[version].as_ref());
        let mixture = match mixtures {
            Mixtures::LeftOut => None,
            Mixtures::Fitted => sample.map(|sample| MixtureReport::new(sample, sampled.name, name, seed)),
        };
        let diagnosed = DiagnosedCell::new(sampled, version);
        let mut diagnostics = diagnosed.as_ref().and_then(DiagnosticsReport::new);
        if let (Some(diagnostics), Some(cell), Some(mixture)) = (&mut diagnostics, &diagnosed, &mixture) {
            diagnostics.modes = mixture.against_hosts(cell, name, seed);
            diagnostics.class_modes = mixture.against_classes(cell, name, seed);
        }
        CellReport { diagnostics, mixture, ..CellReport::new(name, sample, &sampled.records[version]) }
    };
    let mut cells: Vec<CellReport> = (0..sampled.samples.len()).map(cell).collect();
    let declared = circumstances.declared();
    // Some tell the verdict.
    let mut unsaid = Warnings::default();
    let warnings = if circumstances.is_so_far { &mut unsaid } else { warnings };
    CellReport::add_trimmed_means(&mut cells, &sampled.samples, &declared);
    let comparisons = (1..versions.len())
        .map(|version| {
            let samples = [0, version].map(|version| sampled.samples[version].as_ref());
            let arranged = sampled.arranged[version - 1].as_ref();
            let looked = rule_verdict::interim_verdict(looks, sampled.name, &versions[version].name);
            let looked = looked.as_ref();
            let pair = Pair { baseline: &cells[0], candidate: &cells[version], samples, arranged, looked };
            let about = match versions.len() {
                2 => sampled.name.to_owned(),
                _ => format!("{} ({})", sampled.name, versions[version].name),
            };
            pair.compare(&declared, &about, warnings)
        })
        .collect();
    BenchmarkReport { name: sampled.name.to_owned(), cells, comparisons }
}

/// A candidate over all benchmarks, which are adjusted together with its total.
pub(crate) fn suite(
    sampled: &[BenchmarkSamples<'_>],
    benchmarks: &[BenchmarkReport],
    version: usize,
    total: Total,
    circumstances: &Circumstances<'_>,
    warnings: &mut Warnings,
) -> SuiteReport {
    let Circumstances { study, level, .. } = *circumstances;
    let report = over_all(sampled, benchmarks, version, circumstances).report(total, warnings);
    let precision = study.plan.experiment.analysis.precision;
    let required = report
        .proportions
        .first()
        .and_then(|accelerated| proportion::required(accelerated, precision, selection(study), level));
    let true_share = report.true_share.map(|share| share.requiring(precision, level));
    SuiteReport { required, true_share, ..report }
}

/// What the overall numbers of a candidate are computed from.
fn over_all<'a>(
    sampled: &'a [BenchmarkSamples<'_>],
    benchmarks: &'a [BenchmarkReport],
    version: usize,
    circumstances: &Circumstances<'a>,
) -> Suite<'a> {
    let Circumstances { study, is_so_far, .. } = *circumstances;
    let experiment = &study.plan.experiment;
    let compared: Vec<_> =
        benchmarks.iter().map(|benchmark| (benchmark, &benchmark.comparisons[version - 1])).collect();
    let comparable =
        sampled.iter().zip(&compared).filter(|(_, (_, comparison))| comparison.observed.is_some());
    let (mut members, mut given) = (Members::new(), Vec::new());
    for (sampled, _) in comparable {
        if let Some((baseline, candidate)) = sampled.compared(version) {
            members.add(baseline, candidate, sampled.blocks(version), sampled.builds(version));
            given.push(sampled.weight.unwrap_or(f64::NAN));
        }
    }
    let weights = match experiment.analysis.weights {
        experiment::Weights::Equal => BenchmarkWeights::Equal,
        experiment::Weights::Fraction => BenchmarkWeights::Fraction,
        experiment::Weights::Custom => BenchmarkWeights::Custom(given),
    };
    let [baseline, candidate] = [0, version].map(|version| experiment.versions[version].name.as_str());
    // Builds that make no pairs are compared as if no visits were shared.
    let by_builds =
        |one: &ComparisonReport| one.design.as_ref().is_some_and(|design| design.kind == DesignKind::Builds);
    let are_pairs = Design::of(&study.plan) == Design::Pairs
        && !compared.iter().any(|(_, comparison)| by_builds(comparison));
    let is_by_looks = matches!(experiment.rule, Rule::Sequential { .. });
    Suite {
        candidate,
        baseline,
        benchmarks: compared,
        members,
        are_pairs,
        is_by_looks,
        is_so_far,
        selection: selection(study),
        larger_is_better: false,
        weights,
        declared: circumstances.declared(),
    }
}

/// How the plan selected its benchmarks.
fn selection(study: &Study) -> Selection {
    match study.plan.experiment.drawn {
        Some(_) => Selection::DrawnFromFinite { size: study.plan.experiment.benchmarks.len() as u64 },
        None => Selection::Chosen,
    }
}

/// Each candidate without the hosts of these names, beside what is reported of it.
fn without_hosts(
    study: &Study,
    names: &BTreeSet<&str>,
    circumstances: &Circumstances<'_>,
    reported: &[BenchmarkReport],
) -> Vec<WithoutReport> {
    let hosts: BTreeSet<u32> = study
        .evidence
        .hosts
        .numbered()
        .into_iter()
        .filter(|(name, _)| names.contains(HostId::as_str(name)))
        .map(|(_, number)| number)
        .collect();
    let runs = study.evidence.runs_on(&hosts);
    let cells: Vec<CellRecords> = study.cells.iter().map(|cell| cell.without(&runs)).collect();
    let versions = study.plan.experiment.compared().len();
    let sampled = BenchmarkSamples::of_cells(study, &cells);
    // What these verdicts are worth is not asked.
    let mut unsaid = Warnings::default();
    let mut compared = benchmarks(&sampled, circumstances, &mut unsaid);
    let mut reports = Vec::new();
    for version in 1..versions {
        let mut total = over_all(&sampled, &compared, version, circumstances).conclusion();
        adjust(&mut compared, &mut [], version, &mut total, circumstances.level);
        let SuiteReport { candidate, verdict, speedup, .. } =
            suite(&sampled, &compared, version, total, circumstances, &mut unsaid);
        let mut changed = Vec::new();
        for (with, without) in reported.iter().zip(&compared) {
            if with.comparisons[version - 1].verdict != without.comparisons[version - 1].verdict {
                changed.push(with.name.clone());
            }
        }
        reports.push(WithoutReport { candidate, verdict, speedup, changed });
    }
    reports
}
