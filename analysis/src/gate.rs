//! Gates: whether a regression was shown, and whether each question was decided, for scripts that go by an exit code.
//!
//! A [`Conclusion`] is one verdict that a script may go by: of a candidate on a benchmark, or over all of them. Where there
//! are several benchmarks their verdicts are adjusted by Holm: unadjusted, a suite of a hundred benchmarks without any
//! difference would fail at nearly every look. Higher-is-better answers are oriented where they are made: a speedup above 1
//! favours the candidate.
//!
//! In reading order: [`Conclusion`], [`Ruling`], [`Judgement`]; `of_report`, `of_track` and `of_answer`, where conclusions come from.

mod of_answer;
mod of_report;
mod of_track;
#[cfg(test)]
mod tests;

use crate::conclusion::Verdict;
use crate::count;
use crate::study::EndpointVerdict;
use speedup_statistics::inference::{Threshold, ThresholdDecision};
use std::fmt;
use thiserror::Error;

/// One verdict on a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The candidate.
    pub candidate: String,
    /// The benchmark; `None` over all of them.
    pub benchmark: Option<String>,
    /// What it is on, where that is not the centre of the times: then *slower* stands for worse.
    pub endpoint: Option<String>,
    /// The verdict, after Holm's adjustment where there are several benchmarks.
    pub verdict: Verdict,
    /// The speedup that the interval is of.
    pub speedup: Option<f64>,
    /// Both ends of the speedup's interval, where it has them.
    pub interval: Option<(f64, f64)>,
}

/// What a conclusion means to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The candidate is slower, by more than the threshold.
    Regression,
    /// It is not: it is faster, or its times are within the threshold.
    Sound,
    /// Neither was shown.
    Undecided,
}

/// All conclusions, ruled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The regressions.
    pub regressions: Vec<Conclusion>,
    /// What is undecided.
    pub undecided: Vec<Conclusion>,
}

/// Why no gate can go by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GateError {
    /// The method has no verdicts on candidates.
    #[error("{0} only describes, and gives no verdict on a candidate")]
    NoVerdict(&'static str),
    /// The method never says slower.
    #[error("{0} asks only whether a candidate is faster, so it shows no regression")]
    OneSided(&'static str),
    /// The method has no interval to hold against a threshold.
    #[error("{0} has no interval of the speedup to compare with a noise threshold")]
    NoInterval(&'static str),
}

impl GateError {
    /// What the user can do.
    pub fn hint(self) -> &'static str {
        match self {
            Self::NoVerdict(_) | Self::NoInterval(_) => "use the ratio of the centres: --method ratio",
            Self::OneSided(_) => "use the ratio of the centres: --method ratio",
        }
    }
}

impl Conclusion {
    /// What it means where differences of the times up to `noise` do not matter.
    ///
    /// Without a threshold the verdict decides. With one the whole interval has to lie beyond it, or within it; a faster
    /// candidate is sound whatever the size.
    pub fn ruling(&self, noise: Threshold) -> Ruling {
        let size = match self.interval {
            Some(ends) if noise != Threshold::NONE => ThresholdDecision::of_speedup_between(ends, noise),
            _ => ThresholdDecision::NotEnoughData,
        };
        match (self.verdict, size) {
            (Verdict::NotEnoughData, _) => Ruling::Undecided,
            (Verdict::Faster | Verdict::Same, _) | (_, ThresholdDecision::WithinThreshold) => Ruling::Sound,
            (Verdict::Slower, ThresholdDecision::Slower) => Ruling::Regression,
            (Verdict::Slower, _) if noise == Threshold::NONE => Ruling::Regression,
            (Verdict::Slower | Verdict::Undecided, _) => Ruling::Undecided,
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
        match &self.endpoint {
            Some(endpoint) => write!(f, "{endpoint} {}", EndpointVerdict::from(self.verdict).words())?,
            None => f.write_str(self.verdict.words())?,
        }
        let Some(speedup) = self.speedup else { return Ok(()) };
        write!(f, ", {}", count::ratio(speedup, self.interval))
    }
}

impl Judgement {
    /// The judgement of conclusions where differences of the times up to `noise` do not matter.
    pub fn new(conclusions: Vec<Conclusion>, noise: Threshold) -> Self {
        let mut judgement = Self::default();
        for conclusion in conclusions {
            match conclusion.ruling(noise) {
                Ruling::Regression => judgement.regressions.push(conclusion),
                Ruling::Undecided => judgement.undecided.push(conclusion),
                Ruling::Sound => {}
            }
        }
        judgement
    }
}
