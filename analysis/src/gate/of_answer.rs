//! The conclusions of an answer on plain samples.

use super::{Conclusion, GateError, of_report};
use crate::inquiry::{
    Answer, BrunnerMunzelFinding, EffectFinding, Findings, Method, PerformanceFinding, RatioSuite,
    SignedRankFinding, SpeedupTestFinding, SpeedupTestMode, SpeedupTestSuite,
};
use crate::study::{Verdict, adjusted_by};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue, Threshold, ThresholdDecision};

impl Conclusion {
    /// Those of an answer: each candidate over all benchmarks, where the method has such a verdict, then on each. Verdicts
    /// that the inquiry had adjusted are taken so, others are adjusted by Holm. Decisions by intervals, of the method
    /// effect, have no p-value to adjust.
    ///
    /// # Errors
    /// [`GateError`] for methods that have no verdict, know no slowdown, or have no interval where `noise` needs one.
    pub fn of_answer(answer: &Answer, noise: Threshold) -> Result<Vec<Self>, GateError> {
        let method = &answer.method.options;
        check(method, noise)?;
        let level = answer.confidence;
        Ok(match &answer.findings {
            Findings::Ratio(found) => {
                let of = |suite: &RatioSuite| {
                    let own = suite.benchmarks.iter().map(|one| (one.benchmark.as_str(), &one.comparison));
                    let endpoints = suite.endpoints.iter();
                    let endpoints =
                        endpoints.flat_map(|one| of_report::of_endpoint(one, &suite.suite.candidate));
                    of_report::of_suite(&suite.suite, own).into_iter().chain(endpoints).collect::<Vec<_>>()
                };
                found.iter().flat_map(of).collect()
            }
            Findings::SpeedupTest(of) => of.iter().flat_map(|suite| of_suite(suite, level)).collect(),
            Findings::PerformanceTest(of) => of.iter().map(of_performance).collect(),
            Findings::Effect(of) => of.iter().map(of_effect).collect(),
            Findings::SignedRank(of) => {
                of_families(&of.iter().map(of_signed_rank).collect::<Vec<_>>(), level)
            }
            Findings::BrunnerMunzel(of) => {
                of_families(&of.iter().map(of_brunner_munzel).collect::<Vec<_>>(), level)
            }
            Findings::Mixture(_)
            | Findings::Earlier(_)
            | Findings::Diagnostics(_)
            | Findings::Distribution(_) => Vec::new(),
        })
    }
}

fn check(method: &Method, noise: Threshold) -> Result<(), GateError> {
    let name = method.name();
    match method {
        Method::SpeedupTest(options) if options.mode == SpeedupTestMode::Published => {
            Err(GateError::OneSided(name))
        }
        Method::PerformanceTest(options) if options.speedup_under_test != 1.0 => {
            Err(GateError::OneSided(name))
        }
        Method::PerformanceTest(_) | Method::BrunnerMunzel if noise != Threshold::NONE => {
            Err(GateError::NoInterval(name))
        }
        Method::Ratio(_)
        | Method::SpeedupTest(_)
        | Method::PerformanceTest(_)
        | Method::Effect(_)
        | Method::SignedRank
        | Method::BrunnerMunzel => Ok(()),
        Method::Earlier(_) => Err(GateError::OneSided(name)),
        Method::Mixture(_) | Method::Diagnostics | Method::Distribution(_) => Err(GateError::NoVerdict(name)),
    }
}

fn of_suite(suite: &SpeedupTestSuite, level: ConfidenceLevel) -> Vec<Conclusion> {
    let asked: Vec<_> = suite.benchmarks.iter().map(|one| (one.verdict, one.of(one.by).p_values())).collect();
    let verdicts = holm(&asked, level);
    let of_one = |(one, holm): (&SpeedupTestFinding, Verdict)| {
        let own = one.of(one.by);
        Conclusion {
            candidate: suite.candidate.clone(),
            benchmark: Some(one.benchmark.clone()),
            endpoint: None,
            verdict: own.adjusted.map_or(holm, |adjusted| adjusted.verdict),
            speedup: Some(own.report.speedup),
            interval: own.report.interval.ends(),
        }
    };
    let mut conclusions: Vec<_> = suite.benchmarks.iter().zip(verdicts).map(of_one).collect();
    if conclusions.len() != 1 {
        let overall = Conclusion {
            candidate: suite.candidate.clone(),
            benchmark: None,
            endpoint: None,
            verdict: suite.verdict,
            speedup: suite.speedup,
            interval: suite.interval.ends(),
        };
        conclusions.insert(0, overall);
    }
    conclusions
}

/// The test is one over all benchmarks, whose own winners it only counts.
fn of_performance(finding: &PerformanceFinding) -> Conclusion {
    Conclusion {
        candidate: finding.candidate.clone(),
        benchmark: None,
        endpoint: None,
        verdict: finding.verdict,
        speedup: None,
        interval: None,
    }
}

fn of_effect(finding: &EffectFinding) -> Conclusion {
    let interval = finding.interval.ends();
    let verdict = match interval.map(|ends| ThresholdDecision::of_speedup_between(ends, Threshold::NONE)) {
        None => Verdict::NotEnoughData,
        Some(ThresholdDecision::Faster) => Verdict::Faster,
        Some(ThresholdDecision::Slower) => Verdict::Slower,
        Some(ThresholdDecision::WithinThreshold | ThresholdDecision::NotEnoughData) => Verdict::Undecided,
    };
    Conclusion {
        candidate: finding.candidate.clone(),
        benchmark: Some(finding.benchmark.clone()),
        endpoint: None,
        verdict,
        speedup: Some(finding.speedup),
        interval,
    }
}

/// A conclusion before it is adjusted, with the p-values of faster and of slower.
type Unadjusted = (Conclusion, [Option<f64>; 2]);

fn of_signed_rank(one: &SignedRankFinding) -> Unadjusted {
    let conclusion = Conclusion {
        candidate: one.candidate.clone(),
        benchmark: Some(one.benchmark.clone()),
        endpoint: None,
        verdict: one.verdict,
        speedup: one.speedup,
        interval: one.interval.ends(),
    };
    (conclusion, [one.p_value_faster, one.p_value_slower])
}

/// Its interval is one of a probability, not of a speedup.
fn of_brunner_munzel(one: &BrunnerMunzelFinding) -> Unadjusted {
    let conclusion = Conclusion {
        candidate: one.candidate.clone(),
        benchmark: Some(one.benchmark.clone()),
        endpoint: None,
        verdict: one.verdict,
        speedup: None,
        interval: None,
    };
    (conclusion, [one.p_value_faster, one.p_value_slower])
}

/// Each candidate's benchmarks are a family, as in the other methods.
fn of_families(of: &[Unadjusted], level: ConfidenceLevel) -> Vec<Conclusion> {
    let families = of.chunk_by(|one, next| one.0.candidate == next.0.candidate);
    let of_family = |family: &[Unadjusted]| -> Vec<Conclusion> {
        let asked =
            family.iter().map(|(one, p_values)| (one.verdict, p_values.map(|p| p.map(PValue::clamped))));
        let verdicts = holm(&asked.collect::<Vec<_>>(), level);
        family.iter().zip(verdicts).map(|((one, _), verdict)| Conclusion { verdict, ..one.clone() }).collect()
    };
    families.flat_map(of_family).collect()
}

/// The verdicts after Holm's adjustment. Faster and slower are families of their own, as in reports; what cannot conclude
/// counts with a p-value of 1.
fn holm(asked: &[(Verdict, [Option<PValue>; 2])], level: ConfidenceLevel) -> Vec<Verdict> {
    let family = |at: usize| {
        let p_value = |(verdict, p_values): &(Verdict, [Option<PValue>; 2])| {
            let concluded = p_values[at].filter(|_| *verdict != Verdict::NotEnoughData);
            Some(concluded.unwrap_or_else(|| PValue::clamped(1.0)))
        };
        let p_values: Vec<_> = asked.iter().map(p_value).collect();
        Adjustment::Holm.adjust(&p_values)
    };
    let families = family(0).into_iter().zip(family(1));
    asked
        .iter()
        .zip(families)
        .map(|((plain, _), (faster, slower))| match (faster, slower) {
            (Some(faster), Some(slower)) => adjusted_by(*plain, faster, slower, level),
            _ => *plain,
        })
        .collect()
}
