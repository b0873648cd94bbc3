//! Gates: whether a regression was shown, and whether each question was decided, for scripts that go by an exit code.
//!
//! A [`Conclusion`] is one verdict that a script may go by: of a candidate on a benchmark, or over all of them. Where there
//! are several benchmarks their verdicts are adjusted by Holm: unadjusted, a suite of a hundred benchmarks without any
//! difference would fail at nearly every look. Higher-is-better answers are oriented where they are made: a speedup above 1
//! favours the candidate.
//!
//! In reading order: [`Conclusion`], [`Ruling`], [`Judgement`]; where conclusions come from: `of_report`, answers and tracks.

mod of_report;
#[cfg(test)]
mod tests;

use crate::track::{TrackBenchmark, TrackReport, TrackStepReport};
use crate::{conclusion::Verdict, count, inquiry::Answer, study::EndpointVerdict, study::adjusted_by};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue, Threshold, ThresholdDecision};
use std::fmt;
use thiserror::Error;

/// One verdict on a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
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
    Undecided,
}

/// All conclusions, ruled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
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

/// A conclusion before it is adjusted, with the p-values of faster and of slower.
type Unadjusted = (Conclusion, [Option<PValue>; 2]);

impl Conclusion {
    /// Those of an answer: each candidate over all benchmarks, where the method has such a verdict, then on each. Verdicts
    /// that the inquiry had adjusted are taken so, others are adjusted by Holm. Decisions by intervals, of the method
    /// effect, have no p-value to adjust.
    ///
    /// # Errors
    /// [`GateError`] for methods that have no verdict, know no slowdown, or have no interval where `noise` needs one.
    pub fn of_answer(answer: &Answer, noise: Threshold) -> Result<Vec<Self>, GateError> {
        answer.method.options.check_gate(noise)?;
        Ok(answer.findings.conclusions(answer.confidence))
    }

    /// With verdicts after Holm's adjustment: each candidate's benchmarks are a family.
    pub(crate) fn adjusted(of: &[Unadjusted], level: ConfidenceLevel) -> Vec<Self> {
        let families = of.chunk_by(|one, next| one.0.candidate == next.0.candidate);
        let of_family = |family: &[Unadjusted]| -> Vec<Self> {
            let verdicts = holm(family, level);
            family.iter().zip(verdicts).map(|((one, _), verdict)| Self { verdict, ..one.clone() }).collect()
        };
        families.flat_map(of_family).collect()
    }
}

/// Faster and slower are families of their own, as in reports; what cannot conclude counts with a p-value of 1.
fn holm(asked: &[Unadjusted], level: ConfidenceLevel) -> Vec<Verdict> {
    let family = |at: usize| {
        let p_value = |(one, p_values): &Unadjusted| {
            let concluded = p_values[at].filter(|_| one.verdict != Verdict::NotEnoughData);
            Some(concluded.unwrap_or_else(|| PValue::clamped(1.0)))
        };
        Adjustment::Holm.adjust(&asked.iter().map(p_value).collect::<Vec<_>>())
    };
    let families = family(0).into_iter().zip(family(1));
    let verdict = |((plain, _), adjusted): (&Unadjusted, _)| match adjusted {
        (Some(faster), Some(slower)) => adjusted_by(plain.verdict, faster, slower, level),
        _ => plain.verdict,
    };
    asked.iter().zip(families).map(verdict).collect()
}

impl Conclusion {
    /// Those of a track: each step to a worse level that nobody acknowledged; of a benchmark without one, that there is none, unless it has too few
    /// points for any. The track keeps the number of false alarms of all benchmarks, so nothing is adjusted.
    pub fn of_track(report: &TrackReport) -> Vec<Self> {
        let of_benchmark = |benchmark: &TrackBenchmark| {
            let mut steps =
                report.regressions().filter(|step| step.benchmark == benchmark.benchmark).peekable();
            match steps.peek() {
                Some(_) => steps.map(|step| of_step(report, step)).collect(),
                None => vec![without_step(report, benchmark)],
            }
        };
        report.benchmarks.iter().flat_map(of_benchmark).collect()
    }
}

fn of_step(report: &TrackReport, step: &TrackStepReport) -> Conclusion {
    // A speedup is the old level over the new one; where more is better, the other way round.
    let is_rate = step.size.ratio < 1.0;
    let speedup = |ratio: f64| if is_rate { ratio } else { ratio.recip() };
    let [one, other] = step.size.interval.map(speedup);
    let candidate = format!("{}, {}", report.terms.branch, report.set(step));
    let ends = Some((one.min(other), one.max(other)));
    Conclusion::new(&candidate, Some(&step.benchmark), Verdict::Slower, Some(speedup(step.size.ratio)), ends)
}

fn without_step(report: &TrackReport, benchmark: &TrackBenchmark) -> Conclusion {
    let verdict = if benchmark.ratios_lacking > 0 { Verdict::NotEnoughData } else { Verdict::Same };
    Conclusion::new(&report.terms.branch, Some(&benchmark.benchmark), verdict, None, None)
}
