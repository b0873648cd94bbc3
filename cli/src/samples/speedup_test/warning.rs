//! What the reader of a Speedup-Test must know beside its numbers: one code and one sentence each.
//!
//! The first eight are those of the original program (Touati 2010 §6.2.5) in our words; the others tell where it would have been
//! silent.

use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use speedup_analysis::conclusion::{Protocol, Spelled as _, WarningCode};
use speedup_analysis::count::counted;
use speedup_statistics::inference::{Caveat, Side};
use speedup_statistics::protocol::speedup_test::{LARGE_ABOVE, ProtocolOutcome, StopReason, SubTestRefusal};
use speedup_statistics::sample::Sample;

use super::answer::Mode;

/// A warning, of a benchmark or of the whole test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Warning {
    /// A file of samples could not be opened or read.
    NotReadable { path: String, cause: String },
    /// So the benchmark was ignored.
    SamplesUnavailable,
    /// At most 30 runs that are not normal: the t test is not made.
    SmallNotNormal { side: Side, n: usize },
    /// More than 30 runs that are not normal.
    NotNormalLarge { side: Side },
    /// At most 30 runs and more than a shift between the versions: the rank-sum test is not made.
    SmallNoLocationShift { side: Side, n: usize },
    /// More than 30 runs and more than a shift between the versions.
    NoLocationShift,
    /// No level above one half.
    NoLevelAboveHalf { protocol: Protocol },
    /// A test could not be made at all.
    TestRefused { protocol: Protocol, refusal: SubTestRefusal },
    /// The values of a sample differ by rounding alone.
    SpreadOfRounding { side: Side },
    /// Another caveat of the analysis.
    Caveat { protocol: Protocol, caveat: Caveat },
    /// `ConfLevel` is no confidence level.
    LevelOutOfRange { line: u64, level: f64 },
    /// `--conf-level` was taken instead of the configuration's levels.
    LevelsOverridden,
    /// Coefficients that are all whole numbers weigh equally in the original.
    WholeCoefficients,
    /// Some coefficients are missing, so all weigh equally.
    MissingCoefficients { missing: usize },
    /// Two benchmarks of one name.
    NameTwice { name: String, lines: [u64; 2] },
}

impl Warning {
    /// Why a protocol with samples of these `sizes` stopped, if it did.
    pub(crate) fn of_outcome(protocol: Protocol, outcome: &ProtocolOutcome, sizes: [usize; 2]) -> Vec<Self> {
        let size = |side: Side| match side {
            Side::Baseline => sizes[0],
            Side::Candidate => sizes[1],
        };
        match outcome {
            ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => Vec::new(),
            ProtocolOutcome::CannotConclude { reason } => match reason {
                StopReason::SmallNotNormal { sides } => {
                    sides.iter().map(|side| Self::SmallNotNormal { side: *side, n: size(*side) }).collect()
                }
                StopReason::SmallNoLocationShift { sides } => sides
                    .iter()
                    .map(|side| Self::SmallNoLocationShift { side: *side, n: size(*side) })
                    .collect(),
                StopReason::SubTestRefused { refusal } => {
                    vec![Self::TestRefused { protocol, refusal: *refusal }]
                }
            },
        }
    }

    /// What a caveat of the analysis is here; of some the published program says nothing.
    pub(crate) fn of_caveat(protocol: Protocol, caveat: Caveat, mode: Mode) -> Option<Self> {
        match caveat {
            Caveat::NotNormalLarge { side, .. } => Some(Self::NotNormalLarge { side }),
            Caveat::NoLocationShift => Some(Self::NoLocationShift),
            Caveat::NoLevelAboveHalf => Some(Self::NoLevelAboveHalf { protocol }),
            caveat => match mode {
                Mode::Published => None,
                Mode::Exact => Some(Self::Caveat { protocol, caveat }),
            },
        }
    }

    /// What the values of baseline and candidate are themselves.
    pub(crate) fn of_samples(samples: [&Sample; 2]) -> Vec<Self> {
        let sides = [Side::Baseline, Side::Candidate].into_iter().zip(samples);
        let rounding = sides.filter(|(_, sample)| sample.differs_by_rounding());
        rounding.map(|(side, _)| Self::SpreadOfRounding { side }).collect()
    }

    /// A short name that stays the same between releases.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotReadable { .. } => "not_readable",
            Self::SamplesUnavailable => "samples_unavailable",
            Self::SmallNotNormal { .. } => "small_not_normal",
            Self::NotNormalLarge { .. } => "not_normal_large",
            Self::SmallNoLocationShift { .. } => "small_no_location_shift",
            Self::NoLocationShift => "no_location_shift",
            Self::NoLevelAboveHalf { .. } => "no_level_above_half",
            Self::TestRefused { .. } => "test_refused",
            Self::SpreadOfRounding { .. } => "spread_of_rounding",
            Self::Caveat { caveat, .. } => WarningCode::from(caveat).name(),
            Self::LevelOutOfRange { .. } => "level_out_of_range",
            Self::LevelsOverridden => "levels_overridden",
            Self::WholeCoefficients => "whole_coefficients",
            Self::MissingCoefficients { .. } => "missing_coefficients",
            Self::NameTwice { .. } => "name_twice",
        }
    }

    /// A sentence for a person, with a next step.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::NotReadable { path, cause } => format!("The file {path} is not readable ({cause})."),
            Self::SamplesUnavailable => {
                "The benchmark is ignored, since its samples are not available: fix the names in the configuration."
                    .to_owned()
            }
            Self::SmallNotNormal { side, n } => format!(
                "{} is too small for Student's t test of the mean: its {n} values are not normally distributed. Make more \
                 than {LARGE_ABOVE} observations.",
                sample(*side)
            ),
            Self::NotNormalLarge { side } => format!(
                "{} is not normally distributed, so the confidence level given for the speedup of the mean may not be \
                 accurate.",
                sample(*side)
            ),
            Self::SmallNoLocationShift { side, n } => format!(
                "{} is too small for Wilcoxon's and Mann and Whitney's test of the median: it has {}, and the samples \
                 differ by more than a shift. Make more than {LARGE_ABOVE} observations.",
                sample(*side),
                counted(*n as u64, "value")
            ),
            Self::NoLocationShift => "The samples differ by more than a shift of location, so the confidence level given for \
                the speedup of the median may not be accurate."
                .to_owned(),
            Self::NoLevelAboveHalf { protocol } => format!(
                "No confidence level above 50 % makes the speedup of the {} statistically significant.",
                summary(*protocol)
            ),
            Self::TestRefused { protocol, refusal } => {
                format!("The speedup of the {} cannot be tested: {refusal}.", summary(*protocol))
            }
            Self::SpreadOfRounding { side } => format!(
                "{} has values that differ only in their last digits, so the results describe rounding: subtract \
                    the common part before recording.",
                sample(*side)
            ),
            Self::Caveat { protocol, caveat } => format!("On the {}: {}", summary(*protocol), caveat.sentence()),
            Self::LevelOutOfRange { line, level } => format!(
                "Line {line} of the configuration: ConfLevel {level} does not lie between 0 and 1 and is taken as omitted. \
                 Write 0.95 for 95 %."
            ),
            Self::LevelsOverridden => "The level of --conf-level was taken for all benchmarks, also for those to which the \
                configuration gives another, as the published program does: --mode exact puts the configuration first."
                .to_owned(),
            Self::WholeCoefficients => "All coefficients are whole numbers, which the published program weighs equally: write \
                one of them with a fraction, or take --mode exact."
                .to_owned(),
            Self::MissingCoefficients { missing } => format!(
                "{missing} of the coefficients are missing, so all benchmarks weigh equally: give all of them or none."
            ),
            Self::NameTwice { name, lines: [first, second] } => {
                format!("Lines {first} and {second} of the configuration both name {name:?}: are they two benchmarks?")
            }
        }
    }
}

/// What a protocol tests.
pub(super) fn summary(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mean => "mean",
        Protocol::Median => "median",
    }
}

/// The original's word for a sample, with ours.
fn sample(side: Side) -> &'static str {
    match side {
        Side::Baseline => "Sample1 (the baseline)",
        Side::Candidate => "Sample2 (the candidate)",
    }
}

/// In JSON: its code and its sentence.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Warning", 2)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("sentence", &self.sentence())?;
        fields.end()
    }
}
