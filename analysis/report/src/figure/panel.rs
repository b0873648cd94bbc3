//! The runs of one benchmark: small drawings beside each other that share their versions' marks.

use speedup_analysis::count::{counted, grouped, percent};
use speedup_analysis::study::{
    BenchmarkFigures, BenchmarkReport, CellFigures, FiguresReport, PrecisionFigure, Report,
};
use speedup_core::value::foreign::one_line;

use super::axis::Axis;
use crate::{duration::Unit, duration::span};

/// The drawings of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Panels {
    pub benchmark: String,
    /// What was shown of it, in a few words.
    pub verdict: String,
    /// The versions, in their order: what the marks stand for.
    pub versions: Vec<String>,
    pub panels: Vec<Panel>,
    /// What they are drawn from.
    pub figures: BenchmarkFigures,
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The unit of their times.
    pub(crate) unit: Unit,
}

/// A drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    pub kind: PanelKind,
    pub title: &'static str,
    /// The same in words.
    pub description: String,
}

/// What is drawn of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// Every value where its run stands in the plan, and the violins.
    RunOrder,
    /// The densities with the fitted mixtures.
    Density,
    /// The empirical distribution functions with the fitted ones.
    Distribution,
    /// Every value above its host.
    Hosts,
    /// What precision further runs buy.
    Precision,
}

impl Panels {
    /// Every benchmark that has figures.
    pub(crate) fn all(report: &Report, figures: &FiguresReport) -> Vec<Self> {
        let hosts: Vec<String> = figures.hosts.iter().map(|host| one_line(host)).collect();
        let drawn = figures.benchmarks.iter().filter(|one| one.cells.iter().any(|cell| cell.n > 0));
        let panels = drawn.filter_map(|one| {
            let of = report.benchmarks.iter().find(|benchmark| benchmark.name == one.benchmark)?;
            Some(Self::new(of, one, &hosts))
        });
        panels.collect()
    }

    fn new(report: &BenchmarkReport, figures: &BenchmarkFigures, hosts: &[String]) -> Self {
        let values = figures.cells.iter().flat_map(|cell| cell.values_ns.iter().copied());
        let verdicts: Vec<&str> =
            report.comparisons.iter().map(|comparison| comparison.verdict.words()).collect();
        // Of a single host there is nothing to compare.
        let is_shared =
            figures.cells.iter().flat_map(|cell| &cell.hosts).any(|host| *host != 0) || hosts.len() > 1;
        let mut panels = vec![panel(PanelKind::RunOrder, "Wall time in run order", &describe_runs(figures))];
        if !figures.grid_ns.is_empty() {
            panels.push(panel(
                PanelKind::Density,
                "Density, with the fitted mixture dotted",
                &describe_density(figures),
            ));
            let text = &describe_distribution(figures);
            panels.push(panel(
                PanelKind::Distribution,
                "Distribution function, with the fitted one dotted",
                text,
            ));
        }
        if is_shared {
            panels.push(panel(PanelKind::Hosts, "Wall time by host", &describe_hosts(figures, hosts)));
        }
        if figures.precision.iter().any(Option::is_some) {
            panels.push(panel(
                PanelKind::Precision,
                "Precision against machine time",
                &describe_precision(figures),
            ));
        }
        Self {
            benchmark: one_line(&figures.benchmark),
            verdict: verdicts.join(", "),
            versions: figures.cells.iter().map(|cell| one_line(&cell.version)).collect(),
            panels,
            unit: Unit::fitting(values),
            figures: figures.clone(),
            hosts: hosts.to_vec(),
        }
    }
}

fn panel(kind: PanelKind, title: &'static str, description: &str) -> Panel {
    Panel { kind, title, description: one_line(description) }
}

/// What is told of each cell with runs.
fn describe_cells(figures: &BenchmarkFigures, told: impl Fn(&CellFigures) -> String) -> String {
    let cells = figures.cells.iter().filter(|cell| cell.n > 0);
    let told: Vec<String> = cells.map(|cell| format!("{}: {}", cell.version, told(cell))).collect();
    format!("{}: {}.", figures.benchmark, told.join("; "))
}

fn describe_runs(figures: &BenchmarkFigures) -> String {
    describe_cells(figures, |cell| {
        let least = cell.values_ns.iter().copied().fold(f64::INFINITY, f64::min);
        let most = cell.values_ns.iter().copied().fold(0.0, f64::max);
        format!("{} from {} to {}", counted(cell.n, "run"), span(least), span(most))
    })
}

fn describe_density(figures: &BenchmarkFigures) -> String {
    describe_cells(figures, |cell| {
        let peak = figures.grid_ns.iter().zip(&cell.density).max_by(|a, b| a.1.total_cmp(b.1));
        let peak = peak
            .map_or_else(|| "all times are equal".to_owned(), |(at, _)| format!("densest at {}", span(*at)));
        let Some(fit) = &cell.fit else { return format!("{peak}, without a fitted mixture") };
        let components = fit.components.iter().map(|one| {
            let share = percent((one.weight * 1e2).round() / 1e2);
            format!("{share} about {}", span(one.mean_ns))
        });
        format!("{peak}, mixture of {}", components.collect::<Vec<_>>().join(" and "))
    })
}

/// The steps of a version's empirical distribution function: each time with the share of runs up to it.
pub(crate) fn distribution_steps(cell: &CellFigures) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> =
        cell.values_ns.iter().copied().zip(cell.shares.iter().copied()).collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    steps
}

fn describe_distribution(figures: &BenchmarkFigures) -> String {
    describe_cells(figures, |cell| {
        let steps = distribution_steps(cell);
        let [quarter, half, three_quarters] = [0.25, 0.5, 0.75].map(|share| {
            steps.iter().find(|step| step.1 >= share).map_or_else(String::new, |step| span(step.0))
        });
        format!("a quarter within {quarter}, half within {half}, three quarters within {three_quarters}")
    })
}

fn describe_hosts(figures: &BenchmarkFigures, hosts: &[String]) -> String {
    /// Hosts that are named.
    const MOST_NAMED: usize = 20;
    let told = describe_cells(figures, |cell| {
        let mut used = cell.hosts.clone();
        used.sort_unstable();
        used.dedup();
        counted(used.len() as u64, "host")
    });
    let numbered = hosts.iter().zip(1..).take(MOST_NAMED).map(|(name, number)| format!("{number} {name}"));
    let more = match hosts.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    format!("{told} Hosts: {}{more}.", numbered.collect::<Vec<_>>().join(", "))
}

fn describe_precision(figures: &BenchmarkFigures) -> String {
    let told = figures.precision.iter().flatten().filter_map(|one| {
        let now = now(one)?;
        let last = one.runs.len() - 1;
        let text = format!(
            "{}: ±{} with {} of each version in {}; ±{} with {} in {}",
            one.candidate,
            half_width(one.relative_half_width[now]),
            counted(one.runs[now], "run"),
            span(one.cost_ns[now]),
            half_width(one.relative_half_width[last]),
            grouped(one.runs[last]),
            span(one.cost_ns[last])
        );
        Some(text)
    });
    let told: Vec<String> = told.collect();
    format!("{}: half the width of the speedup's interval. {}.", figures.benchmark, told.join("; "))
}

/// The place of the runs that there are.
pub(crate) fn now(figure: &PrecisionFigure) -> Option<usize> {
    figure.runs.iter().position(|runs| *runs == figure.runs_now)
}

/// A share of the speedup in percent, to two digits.
pub(crate) fn half_width(share: f64) -> String {
    let digits = speedup_analysis::count::decimals(share * 10.0, 4);
    format!("{:.digits$}\u{a0}%", 100.0 * share)
}

/// A share in percent, as it stands at an axis.
pub(crate) fn as_percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 1.0 { 1 } else { 4 };
    format!("{}%", super::axis::label(percent, digits))
}

/// Round costs, each in the unit that fits it.
pub(crate) fn costs(axis: &Axis) -> Vec<(f64, String)> {
    /// Labels of the costs, which are words.
    const COSTS: usize = 4;
    const ROUND: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
    let short = [1.0, 1e3, 1e6].into_iter().flat_map(|unit| ROUND.map(|round| round * unit));
    let seconds =
        [1.0, 5.0, 20.0, 60.0, 300.0, 1_200.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0, 432_000.0, 2_592_000.0];
    let all = short.chain(seconds.into_iter().map(|second| second * 1e9));
    let within: Vec<f64> = all.filter(|cost| axis.holds(*cost)).collect();
    let every = within.len().div_ceil(COSTS).max(1);
    within.into_iter().step_by(every).map(|cost| (cost, trimmed(&span(cost)))).collect()
}

/// A round time without its zeros: "50 ms" of "50.0 ms".
fn trimmed(span: &str) -> String {
    match span.split_once('\u{a0}') {
        Some((number, unit)) if number.contains('.') => {
            format!("{}\u{a0}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        Some(_) | None => span.to_owned(),
    }
}
