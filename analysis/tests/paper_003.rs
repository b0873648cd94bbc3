//! The numbers printed in paper 003, to the digits printed.

use speedup_analysis::{
    ConfidenceLevel, EarlierError, EarlierProtocol, NormalityReading, Sample, lowest_confidence,
};

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).expect("finite numbers")
}

fn level(level: f64) -> ConfidenceLevel {
    ConfidenceLevel::new(level).expect("a level")
}

/// T1 and T2 of example 2.1.
fn times() -> (Sample, Sample) {
    (sample(&[2.799, 2.046, 1.259, 1.877, 2.244]), sample(&[1.046, 0.259, 0.877, 1.244, 1.799]))
}

/// `value` as R prints it.
fn to_seven_digits(value: f64) -> String {
    let before_point = value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(6 - before_point).expect("a number below ten million"))
}

#[test]
fn example_2_1_a_speedup_at_95_but_not_at_99_percent() {
    let (baseline, candidate) = times();
    let protocol = EarlierProtocol::new(&baseline, &candidate).unwrap();
    for reading in [NormalityReading::NotRejected, NormalityReading::TabledAtLevel] {
        protocol.check_normality(level(0.95), reading).expect("p = 0.9647");
    }
    let sure = protocol.at(level(0.99));
    assert_eq!(to_seven_digits(sure.difference.lower), "-0.02574667");
    assert_eq!((sure.difference.upper, sure.accelerated), (f64::INFINITY, false));
    let less_sure = protocol.at(level(0.95));
    assert_eq!(to_seven_digits(less_sure.difference.lower), "0.3414632");
    assert!(less_sure.accelerated);
}

#[test]
fn example_2_2_a_speedup_below_one_at_1_percent() {
    let (baseline, candidate) = times();
    let exchanged = EarlierProtocol::new(&candidate, &baseline).unwrap();
    let unsure = exchanged.at(level(0.01));
    assert_eq!(to_seven_digits(unsure.difference.lower), "0.02574667");
    assert!(unsure.accelerated);
    assert_eq!(to_seven_digits(exchanged.mean_speedup()), "0.5110024");
    assert_eq!(to_seven_digits(exchanged.median_speedup()), "0.5112414");
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

#[test]
fn section_3_a_suite_is_as_sure_as_its_least_sure_benchmark() {
    assert_eq!(lowest_confidence([level(0.95), level(0.8), level(0.99)]), Some(level(0.8)));
    assert_eq!(lowest_confidence([]), None);
}
