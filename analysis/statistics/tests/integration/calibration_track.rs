//! Tracks of simulated series, seeded: that false alarms stay below their declared number on every kind of series, and how often sets and sizes cover the change. The
//! bounds are four standard errors of the simulation.
//!
//! `SPEEDUP_CALIBRATION_SCALE` multiplies the number of simulations. Power and delays, for more laws, are `speedup-studies track`.
#![expect(clippy::print_stdout, reason = "the figures found are printed, for --nocapture")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use speedup_statistics::{inference::Threshold, track::AlarmRate};
use speedup_studies::{LawShape, SeriesKind, SeriesLaw, StudyRow, TrackStudy};

use crate::simulation::replication;

const SIMULATIONS: u32 = 25;

fn rows(sections: &[SeriesKind]) -> Vec<StudyRow> {
    let points_a_year = 20.0;
    let study = TrackStudy {
        replication: replication(SIMULATIONS, 12),
        sections: sections.to_vec(),
        distributions: vec![LawShape::Normal, LawShape::Bimodal, LawShape::Pareto],
        series: SeriesLaw {
            step: 0.02,
            variation: 0.01,
            machines: 0.02,
            machine_points: 10,
            stalled: 0.02,
            builds: 0.005,
        },
        points: vec![60],
        blocks: vec![5],
        // Three are expected at most in each series, so that the bound could be exceeded.
        alarms: AlarmRate::new(1.0, points_a_year, 1).unwrap(),
        points_a_year,
        margin: Threshold::NONE,
    };
    let rows = study.run().unwrap();
    rows.iter().for_each(|row| println!("{row:?}"));
    rows
}

fn of<'a>(rows: &'a [StudyRow], method: &'a str) -> impl Iterator<Item = &'a StudyRow> {
    rows.iter().filter(move |row| row.method == method)
}

#[test]
fn false_alarms_stay_below_their_declared_number_and_changes_are_found() {
    let kinds = [SeriesKind::Quiet, SeriesKind::Stalls, SeriesKind::Machines];
    let rows = rows(&kinds);
    for method in ["alarms_a_year", "unknown_alarms_a_year", "points_alarms_a_year"] {
        assert_eq!(of(&rows, method).count(), 9, "{method}");
        for row in of(&rows, method) {
            assert!(row.share <= row.expected.unwrap() + 4.0 * row.standard_error, "{row:?}");
        }
    }
    // The bound is not met by never raising an alarm.
    assert!(of(&rows, "alarms_a_year").all(|row| row.share > 0.1));
    assert!(of(&rows, "step_found").all(|row| row.share > 0.6));
    assert!(of(&rows, "unknown_step_found").all(|row| row.share > 0.8));
    for row in of(&rows, "floor_change_found").chain(of(&rows, "floor_exceeded")) {
        assert!((row.share - row.expected.unwrap()).abs() < 0.05 + 4.0 * row.standard_error, "{row:?}");
    }
}

/// Where the blocks of a point share a cause, as the layout of a build, only one number of them is an observation.
#[test]
fn builds_that_differ_break_the_promise_for_blocks_and_not_for_points() {
    let rows = rows(&[SeriesKind::Builds]);
    for row in of(&rows, "points_alarms_a_year") {
        assert!(row.share <= row.expected.unwrap() + 4.0 * row.standard_error, "{row:?}");
    }
    assert!(of(&rows, "unknown_alarms_a_year").all(|row| row.share > 0.0));
}
