//! The examples printed in paper 000, to the digits printed.

use speedup_analysis::speedup_test::{Question, Rules, published};
use speedup_analysis::{
    ConfidenceLevel, Overall, Proportion, ProportionMethod, Sample, Selection, SpeedupTest, SuiteMember,
    Summary, Weights,
};

fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).expect("finite numbers")
}

/// `value` as the paper prints it.
fn to_thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The four benchmarks of §6.3.1.
fn benchmarks() -> Vec<(Sample, Sample)> {
    let third_baseline = [
        6.512692, 5.547728, 4.171278, 5.748114, 6.188147, 4.860546, 6.393239, 5.862367, 5.724749, 7.769651,
        6.455157, 6.975127, 5.331494, 6.779595, 4.839683,
    ];
    let third_candidate = [
        4.556838, 5.491279, 5.708276, 5.204911, 4.454981, 5.05976, 5.440053, 4.780246, 4.363734, 5.782297,
        5.195786, 5.627607, 6.114562, 6.552509, 3.055505, 4.037513, 5.445448, 3.665237, 6.965091, 4.396594,
    ];
    let fourth_candidate = [6.57175, 5.514734, 5.705132, 7.051386, 8.007863, 4.187613, 6.124584, 4.995708];
    vec![
        (sample(&[2.02, 2.25, 2.3, 2.251, 2.01]), sample(&[1.02, 2.05, 2.3, 2.071, 1.05])),
        (sample(&[2.799, 2.046, 1.259, 1.877, 2.244]), sample(&[1.046, 0.259, 0.877, 1.244, 1.799])),
        (sample(&third_baseline), sample(&third_candidate)),
        (sample(&[7.308153, 6.89117, 6.102855, 6.472642]), sample(&fourth_candidate)),
    ]
}

#[test]
fn section_6_3_the_report_of_the_original_program() {
    // SpeedupMin, SpeedupMean, MeanConfLevel, SpeedupMedian, MedianConfLevel; all but the first mean.
    let printed = [
        (1.971, 1.276, None, 1.098, Some(0.76)),
        (4.861, 1.957, Some(0.98), 1.956, Some(0.99)),
        (1.365, 1.167, Some(0.99), 1.127, Some(0.99)),
        (1.457, 1.112, Some(0.83), 1.13, Some(0.81)),
    ];
    for ((baseline, candidate), (min, mean, mean_level, median, median_level)) in
        benchmarks().iter().zip(printed)
    {
        let test = SpeedupTest::with_rules(baseline, candidate, Rules::PUBLISHED).unwrap();
        let speedups = [test.speedups.min, test.speedups.mean, test.speedups.median].map(to_thousandths);
        assert_eq!(speedups, [min, mean, median]);
        let of_mean = published::search(|risk| test.mean.at_risk(Question::CandidateFaster, risk));
        assert_eq!(of_mean.confidence.map(to_thousandths), mean_level);
        assert_eq!(of_mean.significant, Some(mean_level.is_some()));
        let of_median = published::search(|risk| test.median.at_risk(Question::CandidateFaster, risk));
        assert_eq!(of_median.confidence.map(to_thousandths), median_level);
        assert_eq!(of_median.significant, Some(true));
    }
}

#[test]
fn section_6_3_overall_and_proportions() {
    let benchmarks = benchmarks();
    let members: Vec<_> =
        benchmarks.iter().map(|(baseline, candidate)| SuiteMember { baseline, candidate }).collect();
    for (summary, gain, speedup) in
        [(Summary::Min, 0.371, 1.589), (Summary::Mean, 0.178, 1.216), (Summary::Median, 0.156, 1.185)]
    {
        let overall = Overall::new(&members, summary, &Weights::Equal).unwrap();
        assert_eq!((to_thousandths(overall.gain), to_thousandths(overall.speedup)), (gain, speedup));
    }
    for (accelerated, lower, upper) in [(3, 0.219, 0.987), (4, 0.396, 1.0)] {
        let proportion = Proportion::new(accelerated, 4, Selection::Chosen).unwrap();
        let interval = proportion.interval(ProportionMethod::WilsonCorrected, ConfidenceLevel::USUAL);
        assert_eq!((to_thousandths(interval.lower), to_thousandths(interval.upper)), (lower, upper));
        assert_eq!(interval.caveats.len(), 2, "the condition fails, and the benchmarks were chosen");
    }
}

#[test]
fn example_1_the_mean_at_95_percent() {
    let (baseline, candidate) = &benchmarks()[1];
    let test = SpeedupTest::new(baseline, candidate).unwrap();
    let conclusion = test.mean.at(Question::CandidateFaster, ConfidenceLevel::USUAL);
    assert!(conclusion.is_significant());
    let p_value = conclusion.main_test.p_value().unwrap().get();
    assert_eq!((p_value * 1e5).round() / 1e5, 0.01118);
}

#[test]
fn example_3_1_the_gain_of_a_suite() {
    // Medians 3 → 1 s and 3600 → 3428 s: G = 4.77 % by fractions of time, 4.82 % equally weighted, S = 1.05;
    // the paper cuts gains to two decimals.
    let [a, b, c, d] = [3.0, 1.0, 3600.0, 3428.0].map(|time| sample(&[time]));
    let members = [SuiteMember { baseline: &a, candidate: &b }, SuiteMember { baseline: &c, candidate: &d }];
    let percent = |weights| {
        let overall = Overall::new(&members, Summary::Median, &weights).unwrap();
        ((overall.gain * 1e4).floor() / 100.0, (overall.speedup * 100.0).round() / 100.0)
    };
    assert_eq!(percent(Weights::Fraction), (4.77, 1.05));
    assert_eq!(percent(Weights::Equal), (4.82, 1.05));
}

#[test]
fn example_3_the_proportion_of_17_in_30() {
    let proportion = Proportion::new(17, 30, Selection::Drawn).unwrap();
    // The paper prints 0.4984 for 0.4884, and cuts 0.64236 to 0.6423.
    for (level, lower, upper) in [(0.9, 0.4027, 0.7184), (0.5, 0.4884, 0.6423)] {
        let level = ConfidenceLevel::new(level).unwrap();
        let interval = proportion.interval(ProportionMethod::WilsonCorrected, level);
        assert!((interval.lower - lower).abs() < 1e-4 && (interval.upper - upper).abs() < 1e-4);
        assert!(interval.caveats.is_empty());
    }
}
