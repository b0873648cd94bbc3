//! Puts the report of a study together.

use super::cell::CellRecords;
use super::comparison::{BenchmarkReport, CellReport, Pair};
use super::condition::ConditionCounts;
use super::count::{counted, grouped};
use super::diagnostics::{self, DiagnosedCell, DiagnosticsReport, DiagnosticsSummary};
use super::independence::{IndependenceKind, IndependenceReport};
use super::method::MethodReport;
use super::metric::MetricReport;
use super::mixture::MixtureReport;
use super::multiplicity;
use super::report::{Head, MishapTotals, Report, SCHEMA_VERSION, State};
use super::suite::{Suite, SuiteReport};
use super::warning::Warnings;
use super::{Mixtures, Phase, Standing, Study, lacking, proportion};
use crate::{ConfidenceLevel, FisherExact, Sample, Selection, SuiteMember, Weights};
use rayon::prelude::*;
use speedup_core::experiment::{self, Experiment, Rule};
use speedup_core::metric::Metric;
use speedup_core::time::Timestamp;
use std::collections::BTreeMap;

/// A benchmark with the samples of its versions.
struct Sampled<'a> {
    name: &'a str,
    weight: Option<f64>,
    records: &'a [CellRecords],
    samples: Vec<Option<Sample>>,
    /// The host of each run of each sample, by the order of the hosts' names.
    hosts: Vec<Vec<u32>>,
}

/// The report of `study` at `level`.
pub(super) fn report(study: &Study, level: ConfidenceLevel, mixtures: Mixtures) -> Report {
    let experiment = &study.plan.experiment;
    let versions = experiment.versions.len().max(1);
    let sampled: Vec<Sampled<'_>> = sample(study, versions);
    let totals = totals(study);
    let head = head(study, level);
    let independence = IndependenceReport::new(experiment.independence, &study.cells, versions);
    let mut warnings = Warnings::default();
    warn_of_the_whole(&head, &independence, &mut warnings);
    match experiment.rule {
        Rule::Fixed => warn_of_the_extension(&head, &mut warnings),
        rule @ (Rule::Pilot { .. } | Rule::Sequential { .. } | Rule::Budget { .. }) => {
            super::rule::warn(rule, &head, &mut warnings);
        }
    }
    warn_of_losses(&sampled, &totals, head.may_be_extended(), &mut warnings);
    warn_of_survivors(&sampled, &mut warnings);
    warn_of_conditions(&sampled, experiment, level, &mut warnings);
    let records: Vec<_> = sampled.iter().map(|sampled| (sampled.name, sampled.records)).collect();
    lacking::warn(&records, &experiment.own_metrics, &mut warnings);
    let mut benchmarks = benchmarks(&sampled, study, level, mixtures, &mut warnings);
    let multiplicity: Vec<_> =
        (1..experiment.versions.len()).map(|version| adjust(&mut benchmarks, version, level)).collect();
    let diagnostics = diagnose(&sampled, &mut benchmarks, study, level, &mut warnings);
    let selection = selection(study);
    let suites = (1..experiment.versions.len())
        .map(|version| suite(study, &sampled, &benchmarks, version, level, selection, &mut warnings));
    let suites = suites.zip(multiplicity);
    let suites = suites.map(|(suite, multiplicity)| SuiteReport { multiplicity, ..suite }).collect();
    let others = experiment.metrics.iter().filter(|metric| **metric != Metric::Wall);
    let rows = || records.iter().copied();
    let own = experiment.own_metrics.iter().enumerate();
    let own = own.map(|(place, metric)| MetricReport::of_own(place, metric, rows()));
    let from_plan = level.get() == experiment.analysis.confidence;
    Report {
        schema_version: SCHEMA_VERSION,
        suites,
        independence,
        diagnostics,
        metrics: others.map(|metric| MetricReport::new(*metric, rows())).chain(own).collect(),
        mishaps: totals,
        rule: super::rule::report(study, level),
        warnings: warnings.into_list(),
        method: MethodReport::new(experiment, level, from_plan, benchmarks.len() as u64),
        benchmarks,
        head,
    }
}

fn sample(study: &Study, versions: usize) -> Vec<Sampled<'_>> {
    let by_name = numbers_by_name(study);
    let taking_part = study.plan.benchmarks.iter().zip(study.cells.chunks(versions));
    let named =
        taking_part.filter_map(|(index, records)| Some((study.plan.experiment.benchmark(*index)?, records)));
    named
        .map(|(benchmark, records)| Sampled {
            name: &benchmark.name,
            weight: benchmark.weight,
            records,
            samples: records.iter().map(|cell| cell.sample(Metric::Wall).ok()).collect(),
            hosts: records
                .iter()
                .map(|cell| {
                    cell.hosts_in_run_order(Metric::Wall).iter().map(|host| by_name[*host as usize]).collect()
                })
                .collect(),
        })
        .collect()
}

/// The place of each host among their sorted names, by its number in the study: that number is by the order in which
/// attempts came, which must not reach a report.
fn numbers_by_name(study: &Study) -> Vec<u32> {
    let mut by_name = vec![0; study.hosts.len()];
    for (place, number) in (0..).zip(study.hosts.values()) {
        by_name[*number as usize] = place;
    }
    by_name
}

/// All benchmarks, in parallel; their caveats in plan order.
fn benchmarks(
    sampled: &[Sampled<'_>],
    study: &Study,
    level: ConfidenceLevel,
    mixtures: Mixtures,
    warnings: &mut Warnings,
) -> Vec<BenchmarkReport> {
    let one = |sampled: &Sampled<'_>| {
        let mut warnings = Warnings::default();
        (benchmark(sampled, study, level, mixtures, &mut warnings), warnings)
    };
    let reported: Vec<_> = sampled.par_iter().map(one).collect();
    let keep = |(report, raised)| {
        warnings.append(raised);
        report
    };
    reported.into_iter().map(keep).collect()
}

/// Adjusts the verdicts on one candidate for the number of benchmarks.
fn adjust(
    benchmarks: &mut [BenchmarkReport],
    version: usize,
    level: ConfidenceLevel,
) -> Vec<multiplicity::MultiplicityReport> {
    let mut comparisons: Vec<_> =
        benchmarks.iter_mut().map(|benchmark| &mut benchmark.comparisons[version - 1]).collect();
    multiplicity::adjust(&mut comparisons, level)
}

/// Concludes the diagnostics of all cells as one family.
fn diagnose(
    sampled: &[Sampled<'_>],
    benchmarks: &mut [BenchmarkReport],
    study: &Study,
    level: ConfidenceLevel,
    warnings: &mut Warnings,
) -> Option<DiagnosticsSummary> {
    let (mut cells, mut reports) = (Vec::new(), Vec::new());
    for (sampled, benchmark) in sampled.iter().zip(benchmarks) {
        for ((sample, hosts), cell) in sampled.samples.iter().zip(&sampled.hosts).zip(&mut benchmark.cells) {
            if let Some(sample) = sample {
                cells.push(DiagnosedCell { about: sampled.name, sample, hosts });
                reports.push(cell.diagnostics.as_mut());
            }
        }
    }
    let names: Vec<String> = study.hosts.keys().map(ToString::to_string).collect();
    (!cells.is_empty()).then(|| diagnostics::conclude(&cells, &mut reports, &names, level, warnings))
}

fn benchmark(
    sampled: &Sampled<'_>,
    study: &Study,
    level: ConfidenceLevel,
    mixtures: Mixtures,
    warnings: &mut Warnings,
) -> BenchmarkReport {
    let versions = &study.plan.experiment.versions;
    let seed = study.plan.experiment.seed;
    let cell = |version: usize| {
        let (name, sample) = (&versions[version].name, sampled.samples[version].as_ref());
        let diagnosed =
            |sample| DiagnosedCell { about: sampled.name, sample, hosts: &sampled.hosts[version] };
        let mixture = match mixtures {
            Mixtures::LeftOut => None,
            Mixtures::Fitted => sample.map(|sample| MixtureReport::new(sample, sampled.name, name, seed)),
        };
        CellReport {
            diagnostics: sample.and_then(|sample| DiagnosticsReport::new(&diagnosed(sample))),
            mixture,
            ..CellReport::new(name, sample, &sampled.records[version])
        }
    };
    let cells: Vec<CellReport> = (0..sampled.samples.len()).map(cell).collect();
    let comparisons = (1..versions.len())
        .map(|version| {
            let samples = [0, version].map(|version| sampled.samples[version].as_ref());
            let pair = Pair { baseline: &cells[0], candidate: &cells[version], samples };
            let about = match versions.len() {
                2 => sampled.name.to_owned(),
                _ => format!("{} ({})", sampled.name, versions[version].name),
            };
            pair.compare(level, &about, warnings)
        })
        .collect();
    BenchmarkReport { name: sampled.name.to_owned(), cells, comparisons }
}

fn suite(
    study: &Study,
    sampled: &[Sampled<'_>],
    benchmarks: &[BenchmarkReport],
    version: usize,
    level: ConfidenceLevel,
    selection: Selection,
    warnings: &mut Warnings,
) -> SuiteReport {
    let experiment = &study.plan.experiment;
    let compared: Vec<_> =
        benchmarks.iter().map(|benchmark| (benchmark, &benchmark.comparisons[version - 1])).collect();
    let comparable =
        sampled.iter().zip(&compared).filter(|(_, (_, comparison))| comparison.observed.is_some());
    let (mut members, mut given) = (Vec::new(), Vec::new());
    for (sampled, _) in comparable {
        if let (Some(baseline), Some(candidate)) = (&sampled.samples[0], &sampled.samples[version]) {
            members.push(SuiteMember { baseline, candidate });
            given.push(sampled.weight.unwrap_or(f64::NAN));
        }
    }
    let weights = match experiment.analysis.weights {
        experiment::Weights::Equal => Weights::Equal,
        experiment::Weights::Fraction => Weights::Fraction,
        experiment::Weights::Custom => Weights::Custom(given),
    };
    let names = [0, version].map(|version| experiment.versions[version].name.as_str());
    let comparisons: Vec<_> = compared.iter().map(|(_, comparison)| *comparison).collect();
    let [baseline, candidate] = names;
    let suite = Suite { candidate, baseline, benchmarks: compared, members, weights, level };
    let mut report = suite.report(warnings);
    report.proportions = proportion::all(&comparisons, selection, level);
    report.required = report.proportions.first().and_then(|accelerated| {
        proportion::required(accelerated, experiment.analysis.precision, selection, level)
    });
    report
}

/// How the plan selected its benchmarks.
fn selection(study: &Study) -> Selection {
    match study.plan.experiment.drawn {
        Some(_) => Selection::DrawnFromFinite { size: study.plan.experiment.benchmarks.len() as u64 },
        None => Selection::Chosen,
    }
}

fn head(study: &Study, level: ConfidenceLevel) -> Head {
    let experiment = &study.plan.experiment;
    let Standing { experiment: id, submitted, submitted_by, phase, tally } = &study.standing;
    let versions: Vec<String> = experiment.versions.iter().map(|version| version.name.clone()).collect();
    let measured_runs: u64 = study.cells.iter().map(|cell| cell.hosts.len() as u64).sum();
    let planned_runs = u64::from(study.plan.runs());
    let (finished, phase) = match phase {
        Phase::Running => (None, "running"),
        Phase::Paused { .. } => (None, "paused"),
        Phase::Deciding => (None, "deciding"),
        Phase::Cancelling => (None, "cancelling"),
        Phase::Finished { at, cancelled: true } => (Some(*at), "cancelled"),
        Phase::Finished { at, cancelled: false } => (Some(*at), "finished"),
    };
    let state = match (measured_runs, phase) {
        (0, _) => State::Empty,
        (_, "finished") => State::Complete,
        (_, _) => State::Partial,
    };
    Head {
        experiment: id.to_string(),
        name: experiment.name.clone(),
        description: experiment.description.clone(),
        seed: experiment.seed.0,
        baseline: versions.first().cloned().unwrap_or_default(),
        versions,
        confidence: level.get(),
        submitted_unix_ns: submitted.0,
        submitted: calendar(*submitted),
        submitted_by: submitted_by.clone(),
        finished_unix_ns: finished.map(|at| at.0),
        finished: finished.map(calendar),
        state,
        phase: phase.to_owned(),
        planned_runs,
        runs_per_cell: planned_runs / u64::from(study.plan.cells()).max(1),
        planned_runs_per_cell: Some(experiment.runs_of_a_cell()),
        measured_runs,
        tally: *tally,
    }
}

/// A moment as RFC 3339 in UTC, to the second.
fn calendar(at: Timestamp) -> String {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |at| at.to_string())
}

fn totals(study: &Study) -> MishapTotals {
    let mut totals = MishapTotals { beyond_plan: study.beyond_plan, ..MishapTotals::default() };
    for cell in &study.cells {
        totals.failed_runs += cell.mishaps.failed_runs();
        totals.timeouts += cell.mishaps.timeouts();
        totals.lost_attempts += cell.mishaps.lost_attempts();
        totals.abandoned_runs += cell.mishaps.abandoned_runs;
        totals.late_reports += cell.mishaps.late_reports;
    }
    totals
}

fn warn_of_the_whole(head: &Head, independence: &IndependenceReport, warnings: &mut Warnings) {
    warn_of_the_state(head, warnings);
    let (code, sentence) = match independence.kind {
        IndependenceKind::NoRuns | IndependenceKind::Provided => return,
        IndependenceKind::WithinCells => (
            "dependent_through_host",
            "The versions of a benchmark met on the same hosts, so their samples are not independent of each other: \
             take scope = \"benchmark\", or a blocked design, which uses the pairs.",
        ),
        IndependenceKind::NotProvided => (
            "independence_not_provided",
            "Runs shared hosts, so the confidence levels hold for these machines in these states only: take policy = \
             \"distinct\" and a pool of enough identical hosts to claim more.",
        ),
        IndependenceKind::Broken => (
            "independence_broken",
            "The policy asked for fresh hosts and the evidence is against it: do not quote the confidence levels \
             before it is known why.",
        ),
    };
    warnings.raise(code, sentence.to_owned());
}

fn warn_of_the_state(head: &Head, warnings: &mut Warnings) {
    let from = format!("{} of {}", grouped(head.measured_runs), counted(head.planned_runs, "planned run"));
    let (code, sentence) = match (head.state, head.phase.as_str()) {
        (State::Complete, _) => return,
        (State::Partial, "cancelled" | "cancelling") => (
            "partial",
            format!(
                "This report is from {from}, for the experiment was cancelled: the stated confidence levels do not \
                 hold if it was cancelled for its results; submit a new experiment to have all its runs."
            ),
        ),
        (State::Partial, _) => (
            "partial",
            format!(
                "This report is from {from}: a verdict read while runs arrive is not one at its confidence level; \
                 wait for the end."
            ),
        ),
        (State::Empty, "cancelled" | "finished") => (
            "empty",
            "No run was measured, and none will be: there is nothing to conclude; submit a new experiment."
                .to_owned(),
        ),
        (State::Empty, _) => ("empty", "No run is measured yet: there is nothing to conclude.".to_owned()),
    };
    warnings.raise(code, sentence);
}

fn warn_of_the_extension(head: &Head, warnings: &mut Warnings) {
    let Some(before) = head.planned_runs_per_cell.filter(|before| *before < head.runs_per_cell) else {
        return;
    };
    let sentence = format!(
        "The experiment was extended after it was submitted, from {} to {} of each cell: if results were looked at \
         before, the stated confidence levels do not hold; the honest way is a new experiment with more runs.",
        grouped(before),
        counted(head.runs_per_cell, "run")
    );
    warnings.raise("extended", sentence);
}

/// What a timed command leaves running is ended after the clock has stopped.
fn warn_of_survivors(sampled: &[Sampled<'_>], warnings: &mut Warnings) {
    let outlived = |sampled: &Sampled<'_>| sampled.records.iter().map(|cell| cell.outlived).sum::<u64>();
    let all: u64 = sampled.iter().map(outlived).sum();
    for concerned in sampled.iter().filter(|sampled| outlived(sampled) > 0) {
        warnings.concern("survivors", concerned.name, || {
            format!(
                "Processes outlived the timed command in {}, and what they did after it is not timed: let the command \
                 wait for all that it starts.",
                counted(all, "measured run")
            )
        });
    }
}

/// Disturbed runs are in their samples: noise if both versions have their share of it, else bias.
fn warn_of_conditions(
    sampled: &[Sampled<'_>],
    experiment: &Experiment,
    level: ConfidenceLevel,
    warnings: &mut Warnings,
) {
    let of =
        |sampled: &Sampled<'_>| ConditionCounts::sum(sampled.records.iter().map(|cell| &cell.conditions));
    let all =
        ConditionCounts::sum(sampled.iter().flat_map(|sampled| sampled.records).map(|cell| &cell.conditions));
    let disturbed = || counted(all.disturbed, "measured run");
    for concerned in sampled.iter().filter(|sampled| of(sampled).disturbed > 0) {
        warnings.concern("host_disturbed", concerned.name, || {
            format!(
                "The host was disturbed during {} of {} ({}); they stay in their samples: find the cause, and repeat the \
                 experiment on quiet hosts if the verdict depends on them.",
                disturbed(),
                grouped(all.recorded),
                told(&all.disturbances)
            )
        });
    }
    for concerned in sampled.iter().filter(|sampled| !of(sampled).unmet.is_empty()) {
        warnings.concern("environment_unmet", concerned.name, || {
            format!(
                "The plan's environment could not be brought about for all measured runs ({}): the export says for which \
                 and on which hosts; strict = true in [environment] refuses such hosts.",
                told(&all.unmet)
            )
        });
    }
    let of_version = |version: usize| {
        let cells = sampled.iter().filter_map(|sampled| sampled.records.get(version));
        let counts = ConditionCounts::sum(cells.map(|cell| &cell.conditions));
        (counts.disturbed, counts.recorded)
    };
    for (at, version) in experiment.versions.iter().enumerate().skip(1) {
        let test = FisherExact::of_shares(of_version(0), of_version(at));
        if test.is_some_and(|test| test.p_value() < 1.0 - level.get()) {
            warnings.concern("disturbed_unevenly", &version.name, || {
                "A candidate's runs were disturbed in another share than the baseline's (Fisher's exact test at the \
                 report's confidence level), so that the disturbance may be part of the difference: look at the runs \
                 that the export marks before believing the verdict."
                    .to_owned()
            });
        }
    }
}

/// Names with their counts of runs.
fn told(counts: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(name, runs)| format!("{name} {}", grouped(*runs))).collect();
    each.join(", ")
}

fn warn_of_losses(
    sampled: &[Sampled<'_>],
    totals: &MishapTotals,
    may_be_extended: bool,
    warnings: &mut Warnings,
) {
    for Sampled { name, records, .. } in sampled {
        let sum = |count: fn(&CellRecords) -> u64| records.iter().map(count).sum::<u64>();
        if sum(|cell| cell.mishaps.timeouts()) > 0 {
            warnings.concern("timeouts_censor", name, || {
                "Runs that did not end in time are missing from their samples, which so look faster than they \
                 are: raise the timeout and repeat."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.failed_runs()) > 0 {
            warnings.concern("failed_runs", name, || {
                "Runs failed; the samples hold only those that did not, so the comparison is of the successful \
                 runs: look at the failures before believing it."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.lost_attempts()) > 0 {
            warnings.concern("retries_can_bias", name, || {
                "Attempts were lost and their runs repeated, which can bias a sample, since slow runs are lost \
                 more often: compare the lost attempts of the versions, and mend what loses them."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.abandoned_runs) > 0 {
            warnings.concern("abandoned_runs", name, || {
                let then = match may_be_extended {
                    true => "extend the experiment",
                    false => "submit a new experiment with more runs",
                };
                format!(
                    "Runs lost all their attempts, so samples are smaller than planned: mend what loses them, and \
                     {then}."
                )
            });
        }
    }
    if totals.beyond_plan > 0 {
        let attempts = counted(totals.beyond_plan, "attempt");
        let sentence = format!(
            "The plan was extended while this report was made, and {attempts} are not in it: ask again."
        );
        warnings.raise("plan_extended_meanwhile", sentence);
    }
}
