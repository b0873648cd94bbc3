//! Gates: whether a regression was shown, and whether each question was decided, for scripts that go by an exit code.
//!
//! A [`Conclusion`] is one verdict that a script may go by: of a candidate on a benchmark, or over all of them. It holds the verdict as
//! tested, the one that is adjusted by Holm, and the [`Ruling`], in which all tests that decide an exit code are one family:
//! unadjusted, a suite of a hundred benchmarks without any difference would fail at nearly every look. With a noise threshold t the
//! family tests whether the speedup is 1/(1 + t). Higher-is-better answers are oriented where they are made: a speedup above 1 favours
//! the candidate.
//!
//! In reading order: [`Conclusion`], [`Ruling`], [`GateRulings`]; where conclusions come from: the reports of experiments, answers and tracks.

#[cfg(test)]
mod tests;

use crate::{conclusion::EndpointVerdict, conclusion::Verdict, count};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue, Threshold};
use std::fmt;
use thiserror::Error;

/// One verdict on a candidate, with what it means to a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The version that is compared with the baseline.
    pub candidate: String,
    /// The benchmark; absent over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// What it is on, where that is not the centre of the times: then *slower* stands for worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The verdict as tested.
    pub verdict: Verdict,
    /// The verdict after Holm's adjustment in its family.
    pub adjusted_verdict: Verdict,
    /// Whether a gate passes it, fails it or cannot decide; the tests of a family share one risk.
    pub ruling: Ruling,
    /// The adjusted p-value that the ruling is by: of a difference, or with a noise threshold of being slower by just that, or less, or
    /// more. Absent where the ruling is by an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling_p_value: Option<f64>,
    /// What failed in the candidate, by which the ruling is then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What else is missing, so that nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The speedup that the interval is of.
    pub speedup: Option<f64>,
    /// Both ends of the speedup's interval, where it has them; not adjusted.
    pub interval: Option<(f64, f64)>,
}

/// What a conclusion means to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The candidate is slower, by more than the threshold.
    Regression,
    /// It is not slower by more than the threshold.
    Sound,
    /// Neither of these is shown.
    Undecided,
}

/// All conclusions, ruled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateRulings {
    pub regressions: Vec<Conclusion>,
    pub undecided: Vec<Conclusion>,
}

/// Why no gate can go by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GateError {
    #[error("{0} only describes, and gives no verdict on a candidate")]
    NoVerdict(&'static str),
    #[error("{0} asks only whether a candidate is faster, so it shows no regression")]
    OneSided(&'static str),
}

impl GateError {
    /// What the user can do.
    pub fn hint(self) -> &'static str {
        match self {
            Self::NoVerdict(_) | Self::OneSided(_) => "use the ratio of the centres: --method ratio",
        }
    }
}

impl From<Verdict> for Ruling {
    /// The ruling where any slowdown counts.
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Slower => Self::Regression,
            Verdict::Faster | Verdict::Same => Self::Sound,
            Verdict::Undecided | Verdict::NotEnoughData => Self::Undecided,
        }
    }
}

impl Ruling {
    /// The ruling of a verdict whose interval keeps the risk by itself: with a threshold the whole interval has to lie on one side of it.
    pub(crate) fn by_interval(verdict: Verdict, interval: Option<(f64, f64)>, noise: Threshold) -> Self {
        match (verdict, interval) {
            _ if noise.is_none() => verdict.into(),
            (Verdict::Faster, _) | (Verdict::Same, None) => Self::Sound,
            (Verdict::NotEnoughData, _) => Self::Undecided,
            // A margin may be wider than the threshold.
            (Verdict::Slower | Verdict::Same, Some((_, upper))) if upper < noise.slowest() => {
                Self::Regression
            }
            (_, Some((lower, _))) if lower > noise.slowest() => Self::Sound,
            (Verdict::Slower | Verdict::Same | Verdict::Undecided, _) => Self::Undecided,
        }
    }
}

/// As in `next on sort: slower, 0.95× [0.93, 0.97]` or `next on sort: max_rss worse, 0.95× [0.93, 0.97]`.
impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.benchmark {
            Some(benchmark) => write!(f, "{} on {benchmark}: ", self.candidate)?,
            None => write!(f, "{} over all benchmarks: ", self.candidate)?,
        }
        let words = |verdict: Verdict| match &self.endpoint {
            Some(_) => EndpointVerdict::from(verdict).words(),
            None => verdict.words(),
        };
        let told = self.failure.as_ref().or(self.missing.as_ref());
        if let (Some(told), Verdict::NotEnoughData) = (told, self.verdict) {
            return f.write_str(told);
        }
        if let Some(endpoint) = &self.endpoint {
            write!(f, "{endpoint} ")?;
        }
        f.write_str(words(self.verdict))?;
        if self.adjusted_verdict != self.verdict {
            write!(f, " (adjusted: {})", words(self.adjusted_verdict))?;
        }
        if let Some(speedup) = self.speedup {
            write!(f, ", {}", count::ratio(speedup, self.interval))?;
        }
        match &self.failure {
            Some(failure) => write!(f, " ({failure})"),
            None => Ok(()),
        }
    }
}

impl GateRulings {
    /// The conclusions by their rulings.
    pub fn new(conclusions: Vec<Conclusion>) -> Self {
        let mut judgement = Self::default();
        for conclusion in conclusions {
            match conclusion.ruling {
                Ruling::Regression => {
                    // What failed is not known to be slower either.
                    if conclusion.failure.is_some() && conclusion.verdict != Verdict::Slower {
                        judgement.undecided.push(conclusion.clone());
                    }
                    judgement.regressions.push(conclusion);
                }
                Ruling::Undecided => judgement.undecided.push(conclusion),
                Ruling::Sound => {}
            }
        }
        judgement
    }
}

/// A conclusion before it is adjusted, with the p-values of faster and of slower.
type UnadjustedConclusion = (Conclusion, [Option<PValue>; 2]);

impl Conclusion {
    /// A verdict that needs no adjustment, as its risk is its own.
    pub(crate) fn new(
        candidate: &str,
        benchmark: Option<&str>,
        verdict: Verdict,
        speedup: Option<f64>,
        interval: Option<(f64, f64)>,
    ) -> Self {
        Self {
            candidate: candidate.to_owned(),
            benchmark: benchmark.map(str::to_owned),
            endpoint: None,
            verdict,
            adjusted_verdict: verdict,
            ruling: verdict.into(),
            ruling_p_value: None,
            failure: None,
            missing: None,
            speedup,
            interval,
        }
    }

    /// With verdicts after Holm's adjustment: each candidate's are a family. Faster and slower are families of their own; what cannot
    /// conclude counts with a p-value of 1.
    pub(crate) fn adjusted(plain: &[UnadjustedConclusion], level: ConfidenceLevel) -> Vec<Self> {
        let mut all = Vec::new();
        for family in plain.chunk_by(|one, next| one.0.candidate == next.0.candidate) {
            let [faster, slower] = [0, 1].map(|at| {
                let p_value = |(one, p_values): &UnadjustedConclusion| {
                    let concluded = p_values[at].filter(|_| one.verdict != Verdict::NotEnoughData);
                    Some(concluded.unwrap_or(PValue::ONE))
                };
                Adjustment::Holm.adjust(&family.iter().map(p_value).collect::<Vec<_>>())
            });
            for ((one, _), (faster, slower)) in family.iter().zip(faster.into_iter().zip(slower)) {
                let [faster, slower] = [faster, slower].map(|p_value| p_value.unwrap_or(PValue::ONE));
                let verdict = match one.verdict {
                    Verdict::Faster if faster.rejects_at(level.risk()) => Verdict::Faster,
                    Verdict::Slower if slower.rejects_at(level.risk()) => Verdict::Slower,
                    Verdict::NotEnoughData => Verdict::NotEnoughData,
                    Verdict::Same | Verdict::Faster | Verdict::Slower | Verdict::Undecided => {
                        Verdict::Undecided
                    }
                };
                all.push(Self {
                    adjusted_verdict: verdict,
                    ruling: verdict.into(),
                    ruling_p_value: Some(faster.told().min(slower.told())),
                    ..one.clone()
                });
            }
        }
        all
    }
}
