//! A report as OpenMetrics text (version 1.0), which Prometheus, its Pushgateway and node_exporter's textfile
//! collector take: gauges of the times in seconds, of the speedups with their intervals, of scaling, of what was not
//! measured, and the verdicts as states.
//!
//! A series is named by the experiment's name, not its id, so that the same experiment goes on in it night after night.

use std::fmt::Write as _;

use speedup_analysis::conclusion::Verdict;
use speedup_analysis::study::{
    ComparisonReport, IntervalReport, Report, SampleReport, ScalingRow, ScalingValue, State,
};
use speedup_core::value::foreign::{one_line, without_commands};

/// What every name begins with.
const PREFIX: &str = "speedup";
/// Nanoseconds of a second, the base unit of times.
const SECOND_NS: f64 = 1e9;

/// A label of a sample.
type Label<'a> = (&'static str, &'a str);
/// Which time of a sample a series is of.
type Statistic = (&'static str, fn(&SampleReport) -> Option<f64>);

const STATISTICS: [Statistic; 6] = [
    ("mean", |wall| Some(wall.mean)),
    ("median", |wall| Some(wall.median)),
    ("trimmed_mean", |wall| wall.trimmed_mean),
    ("min", |wall| Some(wall.min)),
    ("max", |wall| Some(wall.max)),
    ("standard_deviation", |wall| wall.standard_deviation),
];

/// Samples of one name, in the lines of the text.
struct Family {
    name: String,
    text: String,
}

/// The report.
pub fn text(report: &Report) -> String {
    let families = [
        info(report),
        times(report),
        ratios(report),
        totals(report),
        verdicts(report, "speedup_verdict", "as tested", |comparison| comparison.verdict),
        verdicts(
            report,
            "speedup_adjusted_verdict",
            "after Holm's adjustment, which gates go by",
            |comparison| comparison.familywise().0,
        ),
        runs(report),
        scaling(report),
    ];
    let mut text: String = families.into_iter().flatten().map(|family| family.text).collect();
    text.push_str("# EOF\n");
    without_commands(&text).into_owned()
}

impl Family {
    fn new(name: &str, kind: &str, unit: Option<&str>, help: &str) -> Self {
        let name = format!("{PREFIX}_{name}");
        let mut text = format!("# TYPE {name} {kind}\n");
        if let Some(unit) = unit {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        Self { name, text }
    }

    /// Adds a sample, whose first label is the experiment's name.
    fn sample(&mut self, report: &Report, suffix: &str, labels: &[Label<'_>], value: f64) {
        if !value.is_finite() {
            return;
        }
        let _ = write!(self.text, "{}{suffix}{{experiment=\"{}\"", self.name, escaped(&report.head.name));
        for (name, value) in labels {
            let _ = write!(self.text, ",{name}=\"{}\"", escaped(value));
        }
        let _ = writeln!(self.text, "}} {value}");
    }
}

/// The escapes of a label's value.
fn escaped(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('"', "\\\"")
}

fn info(report: &Report) -> Vec<Family> {
    let head = &report.head;
    let state = match head.state {
        State::Complete => "complete",
        State::Partial => "partial",
        State::Empty => "empty",
    };
    let confidence = head.confidence.to_string();
    let mut family = Family::new("experiment", "info", None, "The experiment of a report.");
    let labels = [
        ("id", head.experiment.as_str()),
        ("baseline", head.baseline.as_str()),
        ("state", state),
        ("confidence", confidence.as_str()),
    ];
    family.sample(report, "_info", &labels, 1.0);
    vec![family]
}

fn times(report: &Report) -> Vec<Family> {
    let mut family =
        Family::new("wall_time_seconds", "gauge", Some("seconds"), "Wall times of the measured runs.");
    for benchmark in &report.benchmarks {
        for cell in &benchmark.cells {
            for (name, of) in STATISTICS {
                let Some(value) = cell.wall_ns.as_ref().and_then(of) else { continue };
                let labels =
                    [("benchmark", benchmark.name.as_str()), ("version", &cell.version), ("statistic", name)];
                family.sample(report, "", &labels, value / SECOND_NS);
            }
        }
    }
    vec![family]
}

/// A speedup with its interval, as three series each.
fn ratios(report: &Report) -> Vec<Family> {
    let mut families = bounded("ratio", "Time of the baseline over time of the candidate");
    for benchmark in &report.benchmarks {
        for comparison in &benchmark.comparisons {
            let Some(headline) = comparison.headline() else { continue };
            let labels = [("benchmark", benchmark.name.as_str()), ("candidate", &comparison.candidate)];
            add(&mut families, report, &labels, headline.speedup, headline.interval.ends());
        }
    }
    families
}

fn totals(report: &Report) -> Vec<Family> {
    let mut families = bounded("total_ratio", "The same over all benchmarks");
    for suite in &report.suites {
        let Some(speedup) = suite.speedup else { continue };
        let labels = [("candidate", suite.candidate.as_str())];
        add(&mut families, report, &labels, speedup, suite.interval.as_ref().and_then(IntervalReport::ends));
    }
    families
}

fn bounded(name: &str, help: &str) -> Vec<Family> {
    let parts =
        [("", ""), ("_lower", ": lower end of the interval"), ("_upper", ": upper end of the interval")];
    parts
        .iter()
        .map(|(suffix, part)| {
            Family::new(&format!("{name}{suffix}"), "gauge", None, &format!("{help}{part}."))
        })
        .collect()
}

fn add(families: &mut [Family], report: &Report, labels: &[Label<'_>], value: f64, ends: Option<(f64, f64)>) {
    let values = [Some(value), ends.map(|ends| ends.0), ends.map(|ends| ends.1)];
    for (family, value) in families.iter_mut().zip(values) {
        if let Some(value) = value {
            family.sample(report, "", labels, value);
        }
    }
}

/// The verdicts on candidates, each state with the label that a state set wants: the family's name with the prefix.
fn verdicts(
    report: &Report,
    label: &'static str,
    which: &str,
    of: fn(&ComparisonReport) -> Verdict,
) -> Vec<Family> {
    let name = label.trim_start_matches("speedup_");
    let help = format!("The verdict on a candidate, {which}.");
    let mut family = Family::new(name, "stateset", None, &help);
    for benchmark in &report.benchmarks {
        for comparison in &benchmark.comparisons {
            for verdict in Verdict::ALL {
                let labels = [
                    ("benchmark", benchmark.name.as_str()),
                    ("candidate", &comparison.candidate),
                    (label, verdict.words()),
                ];
                family.sample(report, "", &labels, if of(comparison) == verdict { 1.0 } else { 0.0 });
            }
        }
    }
    vec![family]
}

fn runs(report: &Report) -> Vec<Family> {
    let mut family =
        Family::new("runs", "gauge", None, "Runs of a benchmark in a version, by what became of them.");
    for benchmark in &report.benchmarks {
        for cell in &benchmark.cells {
            let failed: u64 = cell.mishaps.failures.values().map(|failure| failure.runs).sum();
            let outcomes =
                [("measured", cell.n), ("failed", failed), ("abandoned", cell.mishaps.abandoned_runs)];
            for (outcome, runs) in outcomes {
                let labels = [
                    ("benchmark", benchmark.name.as_str()),
                    ("version", &cell.version),
                    ("outcome", outcome),
                ];
                family.sample(report, "", &labels, runs as f64);
            }
        }
    }
    vec![family]
}

/// A name, what it is, and where it stands in a row.
type ScalingGauge = (&'static str, &'static str, fn(&ScalingRow) -> Option<&ScalingValue>);

/// What more hosts bring, each estimate with its interval; nothing where the plan has no scaling series.
fn scaling(report: &Report) -> Vec<Family> {
    if report.scaling.is_empty() {
        return Vec::new();
    }
    let of_hosts: [ScalingGauge; 3] = [
        ("scaling_speedup", "Work done in a time, over that on the fewest hosts", |row| row.speedup.as_ref()),
        ("scaling_efficiency", "The same over that of hosts without loss", |row| row.efficiency.as_ref()),
        ("scaling_serial_fraction", "The serial fraction of Karp and Flatt", |row| {
            row.serial_fraction.as_ref()
        }),
    ];
    let mut all: Vec<Family> = Vec::new();
    for (name, help, value) in of_hosts {
        let mut families = bounded(name, help);
        for (series, version, row) in scaling_rows(report) {
            let Some(value) = value(row) else { continue };
            let hosts = row.hosts.to_string();
            let labels = [("series", series), ("version", version), ("hosts", &hosts)];
            add(&mut families, report, &labels, value.estimate, value.interval.ends());
        }
        all.extend(families);
    }
    all.extend(serial_shares(report));
    all.extend(efficiency_ratios(report));
    all
}

/// Each number of hosts of each version, with its series.
fn scaling_rows(report: &Report) -> impl Iterator<Item = (&str, &str, &ScalingRow)> {
    report.scaling.iter().flat_map(|of| {
        let versions = of.versions.iter();
        versions.flat_map(|version| {
            version.rows.iter().map(|row| (of.series.as_str(), version.version.as_str(), row))
        })
    })
}

fn serial_shares(report: &Report) -> Vec<Family> {
    let mut families = bounded("scaling_serial_share", "The share of the work that hosts do not divide");
    for of in &report.scaling {
        for version in &of.versions {
            let Some(share) = &version.serial_share else { continue };
            let labels = [("series", of.series.as_str()), ("version", &version.version)];
            add(&mut families, report, &labels, share.estimate, share.interval.ends());
        }
    }
    families
}

fn efficiency_ratios(report: &Report) -> Vec<Family> {
    let help = "Efficiency of the candidate over that of the baseline";
    let mut families = bounded("scaling_efficiency_ratio", help);
    for of in &report.scaling {
        for comparison in &of.comparisons {
            for row in &comparison.rows {
                let Some(ratio) = &row.ratio else { continue };
                let hosts = row.hosts.to_string();
                let labels =
                    [("series", of.series.as_str()), ("candidate", &comparison.candidate), ("hosts", &hosts)];
                add(&mut families, report, &labels, ratio.estimate, ratio.interval.ends());
            }
        }
    }
    families
}
