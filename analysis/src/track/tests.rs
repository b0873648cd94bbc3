//! What a track knows of its benchmarks, point after point.

use super::{PointBlocks, TrackEntry, TrackEntryState, TrackHistory, TrackReport, TrackStanding, TrackTerms};
use crate::{conclusion::Verdict, gate::Conclusion};
use speedup_core::experiment::metric::Better;
use speedup_core::{experiment::commit::Commit, value::time::Timestamp};
use speedup_statistics::inference::Threshold;

fn commit(number: u32) -> Commit {
    Commit { id: format!("{number:040x}"), revision: format!("c{number}"), subject: String::new() }
}

/// Six blocks of reference, commit and control, whose ratio is about `level`.
fn blocks(benchmark: &str, level: f64) -> PointBlocks {
    let block = |at: i32| {
        let noise = 1.0 + 0.001 * f64::from(if at % 2 == 0 { at + 1 } else { -at });
        vec![Some(1e8), Some(1e8 * level * noise), Some(1e8 / noise)]
    };
    PointBlocks { benchmark: benchmark.to_owned(), blocks: (0..6).map(block).collect() }
}

/// The report of a track on which `large` takes so many times as long as the reference, and `small` never changes.
fn report(levels: &[f64]) -> TrackReport {
    let entry = |(number, level): (u32, &f64)| TrackEntry {
        commit: commit(number),
        passed: Vec::new(),
        experiment: format!("{number:032x}").parse().unwrap(),
        ended: Timestamp(u64::from(number)),
        state: TrackEntryState::Measured.into(),
        benchmarks: vec![blocks("large", *level), blocks("small", 1.0)],
    };
    let terms = TrackTerms {
        name: "prog".to_owned(),
        branch: "main".to_owned(),
        references: vec![commit(0)],
        start: commit(0),
        benchmarks: vec!["large".to_owned(), "small".to_owned()],
        metric: "wall".to_owned(),
        better: Better::Lower,
        margin: None,
        builds_alike: true,
        confidence: 0.95,
        false_alarms_a_year: 1.0,
        points_a_year: 365.0,
    };
    let entries = (1..).zip(levels).map(entry).collect();
    TrackHistory { terms, entries, acknowledged: Vec::new() }.report().unwrap()
}

fn standings(report: &TrackReport) -> Vec<TrackStanding> {
    report.benchmarks.iter().map(|benchmark| report.standing(benchmark)).collect()
}

/// Before an alarm is possible nobody says that nothing changed, and after one nobody says that it is too early for any.
#[test]
fn verdict_and_caveats_of_a_track_agree() {
    use TrackStanding::{Changed, TooEarly, Unchanged};
    let early = report(&[2.0]);
    assert_eq!(standings(&early), [TooEarly, TooEarly]);
    let gated: Vec<Verdict> =
        Conclusion::of_track(&early, Threshold::NONE).iter().map(|one| one.verdict).collect();
    assert_eq!(gated, [Verdict::NotEnoughData; 2]);
    assert_eq!((early.sentences.len(), early.caveats.len()), (1, 1));
    assert!(!early.sentences[0].contains("No change"), "{}", early.sentences[0]);
    assert_eq!(standings(&report(&[1.0; 6])), [Unchanged, Unchanged]);
    let changed = report(&[1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.5]);
    assert_eq!(standings(&changed), [Changed, Unchanged]);
    assert!(changed.caveats.iter().all(|caveat| !caveat.contains("too early")), "{:?}", changed.caveats);
}
