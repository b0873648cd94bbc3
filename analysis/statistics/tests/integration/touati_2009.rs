//! What Touati 2009 concludes from the numbers of `tests/reference/paper_examples.json`, and its rules.

use speedup_statistics::protocol::{EarlierError, EarlierProtocol, NormalityReading};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};

use crate::data::{level, sample};

/// T1 and T2 of example 2.1.
fn times() -> (Sample, Sample) {
    (sample(&[2.799, 2.046, 1.259, 1.877, 2.244]), sample(&[1.046, 0.259, 0.877, 1.244, 1.799]))
}

#[test]
fn examples_2_1_and_2_2_a_speedup_at_some_levels() {
    let (baseline, candidate) = times();
    let protocol = EarlierProtocol::new(&baseline, &candidate).unwrap();
    for reading in [NormalityReading::NotRejected, NormalityReading::TabledAtLevel] {
        protocol.check_normality(level(0.95), reading).expect("p = 0.9647");
    }
    assert!(!protocol.at(level(0.99)).accelerated && protocol.at(level(0.95)).accelerated);
    assert_eq!(protocol.at(level(0.99)).difference.upper, f64::INFINITY);
    let exchanged = EarlierProtocol::new(&candidate, &baseline).unwrap();
    assert!(exchanged.at(level(0.01)).accelerated, "a speedup below one, at one percent");
}

#[test]
fn section_2_1_thirty_runs_are_large() {
    let skewed = |runs: i32| sample(&(0..runs).map(|at| 1.0 + f64::from(at).powi(6)).collect::<Vec<f64>>());
    let check = |runs: i32| {
        let (baseline, candidate) = (skewed(runs), skewed(40));
        let protocol = EarlierProtocol::new(&baseline, &candidate).unwrap();
        protocol.check_normality(ConfidenceLevel::USUAL, NormalityReading::NotRejected)
    };
    assert!(matches!(check(29), Err(EarlierError::NotNormal { .. })));
    assert_eq!(check(30), Ok(()));
    assert!(matches!(check(2), Err(EarlierError::Untested { .. })));
}
