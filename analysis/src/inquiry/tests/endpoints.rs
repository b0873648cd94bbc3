//! Verdicts on quantiles beside the centre, and controls.

use super::*;
use crate::conclusion::{ReasonCode, WarningCode};
use crate::{gate::Conclusion, gate::GateRulings, study::ControlKind, study::EndpointVerdict};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::{ratio::QuantileRatio, sample::Sample, sample::SampleQuantile};

/// Times without a pattern whose last tenth is `tail` times as long.
fn with_tail(seed: usize, tail: f64) -> Vec<f64> {
    let time = |at: usize| 1.0 + ((at * 61 + seed * 37) % 199) as f64 / 1000.0;
    (0..200).map(|at| if (at * 7) % 10 == 3 { tail * time(at) } else { time(at) }).collect()
}

fn quantiles(quantiles: &[f64]) -> Method {
    Method::Ratio(RatioOptions { quantiles: quantiles.to_vec(), ..RatioOptions::default() })
}

fn controlled(control: &str) -> Method {
    Method::Ratio(RatioOptions { control: Some(control.to_owned()), ..RatioOptions::default() })
}

fn ratio(answer: &Answer) -> &[RatioSuite] {
    let Findings::Ratio(of) = &answer.findings else { panic!("another method") };
    of
}

#[test]
fn a_tail_has_a_verdict_of_its_own_in_one_family_with_the_centre() {
    let (before, after) = (with_tail(1, 1.5), with_tail(2, 3.0));
    let suites = two(before.clone(), after.clone());
    let answer = Inquiry::new(suites.clone(), quantiles(&[0.95, 0.99])).answer().unwrap();
    let suite = &ratio(&answer)[0];
    let [p95, p99] = &suite.endpoints[..] else { panic!("two endpoints") };
    assert_eq!((p95.name().as_str(), p99.name().as_str()), ("p95", "p99"));
    let row = &p95.rows[0];
    let [x, y] = [before, after].map(|values| Sample::new(values).unwrap());
    let [x, y] = [&x, &y].map(|sample| SampleQuantile::new(sample, 0.95).unwrap());
    let expected = QuantileRatio::new(x, y).unwrap();
    let interval = expected.interval(ConfidenceLevel::USUAL);
    let interval = interval.bounded().unwrap();
    assert_eq!((row.verdict, row.ratio), (EndpointVerdict::Worse, Some(expected.estimate())));
    assert_eq!(row.interval.as_ref().unwrap().ends(), Some((interval.lower, interval.upper)));
    // Holm over the centre and both quantiles: what could not be tested counts.
    let adjusted = row.adjusted.iter().find(|one| one.is_familywise()).unwrap();
    assert!((adjusted.p_value - 3.0 * row.p_value.unwrap()).abs() < 1e-12, "{row:?}");
    assert_eq!(suite.suite.multiplicity[0].endpoints, 2);
    // A quantile that so few runs cannot tell says how many it takes.
    let refused = p99.rows[0].reason.as_ref().unwrap();
    let needed = SampleQuantile::runs_needed(0.99, ConfidenceLevel::USUAL);
    assert!(refused.code == ReasonCode::TooFewRuns, "{refused:?}");
    assert!(refused.sentence.contains(&needed.to_string()), "{refused:?}");
    // The gate goes by it, as by the centre.
    let judged = GateRulings::new(Conclusion::from_answer(&answer).unwrap());
    let said: Vec<String> = judged.regressions.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].starts_with("after on sort: p95 "), "{said:?}");
    assert!(judged.undecided.iter().any(|one| one.endpoint.as_deref() == Some("p99")));
    // Where larger is better, the side of the tail is the other.
    let higher = Inquiry { better: Preference::Higher, ..Inquiry::new(suites, quantiles(&[0.95])) };
    let answer = higher.answer().unwrap();
    assert_eq!(ratio(&answer)[0].endpoints[0].rows[0].verdict, EndpointVerdict::Better);
}

#[test]
fn quantiles_that_cannot_be_meant_are_refused() {
    let code = |method: Method| {
        Inquiry::new(two(BEFORE.to_vec(), AFTER.to_vec()), method).answer().unwrap_err().code()
    };
    for outside in [0.0, 1.0, -0.5, f64::NAN] {
        assert_eq!(code(quantiles(&[0.9, outside])), "probability");
    }
    assert_eq!(code(quantiles(&[0.9, 0.9])), "quantile_twice");
    let many: Vec<f64> = (1..=17).map(|at| f64::from(at) / 20.0).collect();
    assert_eq!(code(quantiles(&many)), "too_many_quantiles");
    // Of means there are no tails.
    let runs = |values: &[f64]| values.iter().map(|value| vec![*value, *value]).collect();
    let suites = [("before", BEFORE), ("after", AFTER)].map(|(version, values)| Suite {
        version: version.to_owned(),
        missing: Vec::new(),
        benchmarks: vec![NamedSample::new("sort", runs(&values))],
    });
    let answer = Inquiry::new(suites.to_vec(), quantiles(&[0.5])).answer().unwrap();
    let row = &ratio(&answer)[0].endpoints[0].rows[0];
    assert_eq!(row.verdict, EndpointVerdict::NotEnoughData);
    assert_eq!(row.reason.as_ref().unwrap().code.as_str(), "no_single_runs");
}

#[test]
fn a_control_is_no_candidate_and_in_no_family() {
    let mut suites = two(BEFORE.to_vec(), AFTER.to_vec());
    let alone = Inquiry::new(suites.clone(), Method::ratio()).answer().unwrap();
    suites.insert(1, Suite::single("again", "sort", scaled(&BEFORE, 1.002)));
    let answer = Inquiry::new(suites.clone(), controlled("again")).answer().unwrap();
    assert_eq!((answer.versions.as_slice(), &answer.findings), (alone.versions.as_slice(), &alone.findings));
    let controls = answer.controls.as_ref().unwrap();
    assert_eq!((controls.controls, controls.alarms), (1, 0));
    let row = &controls.rows[0];
    assert_eq!(row.version.as_str(), "again");
    assert_eq!(row.kind, ControlKind::BaselineAgain);
    assert_eq!(row.verdict, Verdict::Undecided);
    let (lower, upper) = row.interval.as_ref().unwrap().ends().unwrap();
    // Half the interval's width is found about every second time; four of five times takes more.
    let half_width = (upper / lower).sqrt() - 1.0;
    let smallest = row.smallest_effect.unwrap() / half_width;
    assert!((1.2..1.6).contains(&smallest), "{smallest}");
    assert!(controls.sentence.contains("0 of 1"), "{}", controls.sentence);
    let conclusions = Conclusion::from_answer(&answer).unwrap();
    assert!(conclusions.iter().all(|one| one.candidate == "after"), "{conclusions:?}");
    assert!(answer.samples.iter().any(|sample| sample.version == "again"));
    // A difference where there is none is an alarm, and the caveat says what that means.
    suites[1] = Suite::single("again", "sort", scaled(&BEFORE, 0.5));
    let answer = Inquiry::new(suites, controlled("again")).answer().unwrap();
    assert_eq!(answer.controls.as_ref().unwrap().alarms, 1);
    assert!(
        answer.caveats.iter().any(|caveat| caveat.code == WarningCode::ControlsAlarmed),
        "{:?}",
        answer.caveats
    );
}

#[test]
fn a_control_leaves_out_no_benchmark_of_the_candidates() {
    let mut suites = two(BEFORE.to_vec(), AFTER.to_vec());
    let gzip = |factor: f64| {
        let runs = BEFORE.iter().map(|value| vec![factor * value]).collect();
        NamedSample::new("gzip", runs)
    };
    suites[0].benchmarks.push(gzip(1.0));
    suites[1].benchmarks.push(gzip(0.9));
    suites.push(Suite::single("again", "sort", scaled(&BEFORE, 1.002)));
    let answer = Inquiry::new(suites, controlled("again")).answer().unwrap();
    assert_eq!((ratio(&answer)[0].benchmarks.len(), answer.controls.as_ref().unwrap().rows.len()), (2, 1));
    let caveat =
        answer.caveats.iter().find(|caveat| caveat.code == WarningCode::UncontrolledBenchmarks).unwrap();
    assert!(caveat.sentence.contains("gzip"), "{caveat:?}");
}

#[test]
fn a_control_that_is_none_is_refused() {
    let suites = two(BEFORE.to_vec(), AFTER.to_vec());
    let code = |name: &str| Inquiry::new(suites.clone(), controlled(name)).answer().unwrap_err().code();
    assert_eq!(
        [code("nobody"), code("before"), code("after")],
        ["no_control", "control_is_baseline", "no_candidate"]
    );
}
