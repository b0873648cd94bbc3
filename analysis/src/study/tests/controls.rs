//! The baseline run again: what the experiment says where nothing differs.

use super::{codes, synthetic::Synthetic, synthetic::Times};
use crate::{conclusion::Verdict, gate::Conclusion, study::ControlKind};

const AGAIN: &str = "[controls]\nbaseline_again = true\n";

#[test]
fn the_control_is_no_candidate() {
    let with = Synthetic::new(3, 2, 20, AGAIN).report();
    assert_eq!(with.head.versions, ["v0", "v1"]);
    assert!(with.benchmarks.iter().all(|one| (one.cells.len(), one.comparisons.len()) == (2, 1)));
    assert_eq!(with.suites.len(), 1);
    assert!(Conclusion::of_report(&with).iter().all(|conclusion| conclusion.candidate == "v1"));
    let controls = with.controls.expect("the plan has one");
    assert_eq!(controls.rows.len(), 3);
    assert!(controls.rows.iter().all(|row| row.kind == ControlKind::BaselineAgain));
    assert_eq!(controls.baseline_again.as_ref(), Some(&controls.rows[0].version));
    let [least, largest] = controls.smallest_effects.expect("intervals");
    assert!(0.0 < least && least <= largest && largest < 0.2, "{least} {largest}");
    assert!(controls.sentence.contains("of 3"), "{}", controls.sentence);
}

#[test]
fn alarms_beyond_chance_are_a_caveat() {
    let slow = || Times::normal(130_000_000.0, 1_000_000.0);
    let quiet = || Times::normal(100_000_000.0, 1_000_000.0);
    let of = |slow_controls: u32| {
        let mut synthetic = Synthetic::new(3, 2, 20, AGAIN);
        for benchmark in 0..3 {
            let control = if benchmark < slow_controls { slow() } else { quiet() };
            synthetic = synthetic.times(benchmark, 0, quiet()).times(benchmark, 2, control);
        }
        synthetic.report()
    };
    let all = of(3);
    let controls = all.controls.as_ref().expect("controls");
    assert_eq!((controls.alarms, controls.controls), (3, 3));
    assert!((controls.p_value - 0.05_f64.powi(3)).abs() < 1e-12, "{}", controls.p_value);
    assert!(controls.rows.iter().all(|row| row.verdict == Verdict::Slower));
    assert!(codes(&all).contains(&"controls_alarmed"));
    assert!(!codes(&of(0)).contains(&"controls_alarmed"));
}

/// In a blocked order the control is in each pair as well.
#[test]
fn controls_are_compared_by_the_design() {
    let more = format!("{AGAIN}[design]\norder = \"blocked\"\n[independence]\npolicy = \"distinct\"\n");
    let report = Synthetic::new(1, 2, 20, &more).visits().host_spread(0.1).report();
    let controls = report.controls.expect("controls");
    let effect = controls.rows[0].smallest_effect.expect("an interval");
    assert!(effect < 0.02, "pairs see through what hosts differ by: {effect}");
}

#[test]
fn too_few_runs_are_no_alarm() {
    let report = Synthetic::new(1, 2, 3, &format!("{AGAIN}[analysis]\ncenter = \"median\"\n")).report();
    let controls = report.controls.expect("controls");
    assert_eq!((controls.controls, controls.alarms), (0, 0));
    assert!(controls.sentence.contains("none has enough data"), "{}", controls.sentence);
}
