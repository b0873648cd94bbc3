//! What plots are drawn from.

use super::synthetic::{Synthetic, Times};
use crate::study::{
    Figures, FiguresReport, MOST_BENCHMARKS_DRAWN, MOST_CELLS_DRAWN, MOST_POINTS_DRAWN, Report, ReportOptions,
};

fn drawn(synthetic: &Synthetic, in_reverse: bool) -> Report {
    let mut attempts = synthetic.attempts();
    if in_reverse {
        attempts.reverse();
    }
    let asked = ReportOptions { figures: Figures::Drawn, ..ReportOptions::default() };
    synthetic.study_of(&attempts).report_with(asked).unwrap()
}

fn figures(synthetic: &Synthetic) -> FiguresReport {
    drawn(synthetic, false).figures.unwrap()
}

#[test]
fn figures_come_on_request_and_change_nothing_else() {
    let synthetic = Synthetic::new(2, 2, 12, "").hosts(3);
    let (with, without) = (drawn(&synthetic, false), synthetic.report());
    assert!(with.figures.is_some() && without.figures.is_none());
    assert_eq!(Report { figures: None, ..with.clone() }, without);
    let reversed = drawn(&synthetic, true);
    assert!(reversed.figures == with.figures, "whatever the order in which attempts come");
    assert!(reversed == with, "nor does anything else depend on it");
}

#[test]
fn all_values_of_few_runs_are_drawn_in_run_order() {
    let synthetic = Synthetic::new(1, 2, 12, "").hosts(3).times(0, 1, Times::normal(80e6, 1e6));
    let report = drawn(&synthetic, false);
    let figures = report.figures.unwrap();
    assert_eq!((figures.hosts.len(), figures.left_out), (3, 0));
    for (cell, of_report) in figures.benchmarks[0].cells.iter().zip(&report.benchmarks[0].cells) {
        let wall = of_report.wall_ns.as_ref().unwrap();
        let mean = cell.values_ns.iter().sum::<f64>() / 12.0;
        assert!((mean / wall.mean - 1.0).abs() < 1e-12);
        assert!(cell.runs.windows(2).all(|pair| pair[0] < pair[1]) && cell.runs.len() == 12);
        let largest = cell.values_ns.iter().position(|value| *value == wall.max).unwrap();
        assert_eq!(cell.shares[largest], 1.0);
        assert!(cell.hosts.iter().all(|host| *host < 3));
        assert!(cell.fit.is_none() && cell.bandwidth_ns.is_some(), "a mixture takes more runs");
    }
    let mut runs: Vec<u32> =
        figures.benchmarks[0].cells.iter().flat_map(|cell| cell.runs.iter().copied()).collect();
    runs.sort_unstable();
    assert_eq!(runs, (0..24).collect::<Vec<_>>());
}

#[test]
fn of_many_runs_evenly_spaced_ranks_are_drawn() {
    let synthetic = Synthetic::new(1, 2, 700, "");
    let report = drawn(&synthetic, false);
    let figures = report.figures.unwrap();
    let wall = report.benchmarks[0].cells[0].wall_ns.clone().unwrap();
    let cell = &figures.benchmarks[0].cells[0];
    assert_eq!((cell.n, cell.values_ns.len()), (700, MOST_POINTS_DRAWN));
    assert!(cell.values_ns.contains(&wall.min) && cell.values_ns.contains(&wall.max));
    assert!(figures.sentence.contains("evenly spaced ranks"), "{}", figures.sentence);
    let fit = cell.fit.as_ref().unwrap();
    assert_eq!(fit.density.len(), figures.benchmarks[0].grid_ns.len());
    assert_eq!(cell.density.len(), fit.density.len());
    assert!(fit.distribution.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn of_many_benchmarks_those_with_the_largest_effects_are_drawn() {
    let mut synthetic = Synthetic::new(60, 2, 5, "");
    for at in 0..60 {
        // The later ones differ more, in either direction.
        let factor = 1.0 + f64::from(at) * if at % 2 == 0 { 0.01 } else { -0.01 };
        synthetic = synthetic.times(at, 1, Times::normal(100e6 * factor, 1e4)).times(
            at,
            0,
            Times::normal(100e6, 1e4),
        );
    }
    let report = drawn(&synthetic, false);
    let of_many = report.figures.unwrap();
    let names: Vec<&str> = of_many.benchmarks.iter().map(|one| one.benchmark.as_str()).collect();
    let last: Vec<&str> = report.benchmarks[10..].iter().map(|one| one.name.as_str()).collect();
    assert_eq!((names, of_many.left_out), (last, 10));
    assert_eq!(of_many.benchmarks.len(), MOST_BENCHMARKS_DRAWN);
    let many_versions = figures(&Synthetic::new(12, 11, 2, ""));
    let cells: usize = many_versions.benchmarks.iter().map(|one| one.cells.len()).sum();
    assert!(cells <= MOST_CELLS_DRAWN && many_versions.left_out == 3, "{cells}");
}

#[test]
fn precision_is_bought_with_runs() {
    let figures = figures(&Synthetic::new(1, 2, 20, ""));
    let precision = figures.benchmarks[0].precision[0].as_ref().unwrap();
    assert!(precision.runs.contains(&20) && precision.runs.last() == Some(&320));
    assert!(precision.relative_half_width.windows(2).all(|pair| pair[0] > pair[1]));
    let each = precision.cost_ns[0] / precision.runs[0] as f64;
    assert!((each / 200e6 - 1.0).abs() < 0.01, "a run of each version: {each}");
}
