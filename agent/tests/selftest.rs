//! The selftest on the host where the tests run, with real processes.

use speedup_agent::selftest::{self, Depth, MemoryProgram, Quality, Selftest};
use speedup_core::value::seed::Seed;
use std::time::Duration;

/// One test: two selftests at once would be each other's neighbours.
#[test]
fn a_full_selftest_finds_what_is_there() {
    let (no_op, busy) =
        (MemoryProgram::no_op().unwrap(), MemoryProgram::busy(Duration::from_millis(1)).unwrap());
    assert_eq!(no_op.is_some(), cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
    for program in [no_op, busy].into_iter().flatten() {
        let output = std::process::Command::new(program.path()).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    }
    let found = Selftest::measure(Depth::Full { rounds: 10, busy: 5 }, Seed(1)).unwrap();
    let test = found.test().unwrap();
    assert!(test.floor_ns > 0 && test.step_ns > 0 && found.clock.resolution_ns > 0, "{found:?}");
    for against in [found.no_op, found.bin_true, found.no_op_beside].into_iter().flatten() {
        let (floor, timer) = (against.floor, against.timer);
        assert_eq!(against.bias_ns, timer.median_ns.cast_signed() - floor.median_ns.cast_signed());
        assert!(floor.min_ns <= floor.median_ns && floor.median_ns <= floor.max_ns && floor.min_ns > 0);
    }
    // The truth is on the side of the program, which reads the same clock.
    for busy in [found.busy, found.busy_beside].into_iter().flatten() {
        assert_eq!((busy.runs, busy.short, busy.wanted_ns), (5, 0, 10_000_000));
        assert!(busy.timer.min_ns >= busy.wanted_ns, "{busy:?}");
    }
    let asleep = found.asleep.unwrap();
    assert!(asleep.wall_ns >= 1_000_000_000, "{asleep:?}");
    let verdict = found.verdict();
    assert_ne!(verdict.quality, Quality::Short);
    assert!(verdict.sentences.iter().any(|sentence| sentence.contains("0 times in 5")));

    let state = tempfile::tempdir().unwrap();
    let [boot, other] = ["boot-1", "boot-2"].map(|boot| boot.parse().unwrap());
    assert_eq!(selftest::read(state.path(), &boot), None);
    selftest::write(state.path(), &boot, &found).unwrap();
    assert_eq!(selftest::read(state.path(), &boot), Some(found));
    assert_eq!(selftest::read(state.path(), &other), None, "another boot is another kernel");
    std::fs::write(state.path().join("selftest.json"), "{\"release\":").unwrap();
    assert_eq!(selftest::read(state.path(), &boot), None, "a file cut short is none");
}
