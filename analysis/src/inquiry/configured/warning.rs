//! The warnings of a configured test, each with a next step where there is one.
//!
//! Where the published program warns, the words are its own (Touati 2010 §6.2.5); the others tell where it would have been
//! silent.

use super::{ConfiguredBenchmark, ConfiguredError, ConfiguredLevel, ConfiguredOptions, UnreadableFile};
use crate::conclusion::{Protocol, Warning, WarningCode};
use crate::{count::counted, inquiry::SpeedupTestMode};
use speedup_statistics::protocol::speedup_test::{
    LARGE_ABOVE, ProtocolConclusion, ProtocolOutcome, StopReason,
};
use speedup_statistics::{inference::Caveat, inference::Side, sample::Sample};
use std::collections::BTreeMap;

/// Warns of names that occur twice, and of levels that are not used as they are written.
///
/// # Errors
/// [`ConfiguredError::Level`] for a level out of range, which only the published program takes as omitted.
pub(super) fn line_warnings(
    benchmarks: &[ConfiguredBenchmark],
    options: &ConfiguredOptions,
) -> Result<Vec<Warning>, ConfiguredError> {
    let mut warnings = Vec::new();
    let mut lines_by_name = BTreeMap::new();
    let mut has_other_level = false;
    for ConfiguredBenchmark { entry, .. } in benchmarks {
        let line = entry.line;
        if let Some(first) = lines_by_name.insert(entry.name.as_str(), line) {
            let name = &entry.name;
            warnings.push(Warning::new(
                WarningCode::NameTwice,
                format!(
                    "Lines {first} and {line} of the configuration both name {name:?}: are they two benchmarks?"
                ),
            ));
        }
        match entry.level {
            ConfiguredLevel::Omitted => {}
            ConfiguredLevel::Given(level) => has_other_level |= Some(level) != options.level,
            ConfiguredLevel::OutOfRange(level) => {
                if options.mode == SpeedupTestMode::Exact {
                    return Err(ConfiguredError::Level { line, level });
                }
                warnings.push(Warning::new(
                    WarningCode::LevelOutOfRange,
                    format!(
                        "Line {line} of the configuration: ConfLevel {level} does not lie between 0 and 1 and is taken \
                         as omitted. Write 0.95 for 95 %."
                    ),
                ));
            }
        }
    }
    // In the exact mode the configuration goes first, so nothing is overridden.
    if options.mode == SpeedupTestMode::Published && options.level.is_some() && has_other_level {
        warnings.push(Warning::new(
            WarningCode::LevelsOverridden,
            "The level of --conf-level was taken for all benchmarks, also for those to which the configuration gives \
             another, as the published program does: --mode exact puts the configuration first.",
        ));
    }
    Ok(warnings)
}

pub(super) fn whole_coefficients() -> Warning {
    Warning::new(
        WarningCode::WholeCoefficients,
        "All coefficients are whole numbers, which the published program weighs equally: write one of them with \
         a fraction, or take --mode exact.",
    )
}

pub(super) fn missing_coefficients(missing: usize) -> Warning {
    Warning::new(
        WarningCode::MissingCoefficients,
        format!(
            "{missing} of the coefficients are missing, so all benchmarks weigh equally: give all of them or none."
        ),
    )
}

pub(super) fn not_readable(UnreadableFile { path, cause }: &UnreadableFile) -> Warning {
    Warning::new(WarningCode::NotReadable, format!("The file {path} is not readable ({cause})."))
}

pub(super) fn samples_unavailable() -> Warning {
    Warning::new(
        WarningCode::SamplesUnavailable,
        "The benchmark is ignored, since its samples are not available: fix the names in the configuration.",
    )
}

/// Warns of samples whose values differ by rounding alone.
pub(super) fn sample_warnings([baseline, candidate]: &[Sample; 2]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (side, sample) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        if sample.differs_by_rounding() {
            let sentence = format!(
                "{} has values that differ only in their last digits, so the results describe rounding: subtract the \
                 common part before recording.",
                sample_name(side)
            );
            warnings.push(Warning::new(WarningCode::SpreadOfRounding, sentence));
        }
    }
    warnings
}

/// Says why a protocol on samples of these `sizes` stopped, if it did, and what its caveats are.
pub(super) fn conclusion_warnings(
    protocol: Protocol,
    conclusion: &ProtocolConclusion,
    sizes: [usize; 2],
    mode: SpeedupTestMode,
) -> Vec<Warning> {
    let mut warnings = match &conclusion.outcome {
        ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => Vec::new(),
        ProtocolOutcome::CannotConclude { reason } => stop_warnings(protocol, reason, sizes),
    };
    warnings.extend(conclusion.caveats.iter().filter_map(|caveat| caveat_warning(protocol, caveat, mode)));
    warnings
}

fn stop_warnings(protocol: Protocol, reason: &StopReason, sizes: [usize; 2]) -> Vec<Warning> {
    let (code, sides) = match reason {
        StopReason::SmallNotNormal { sides } => (WarningCode::SmallNotNormal, sides),
        StopReason::SmallNoLocationShift { sides } => (WarningCode::SmallNoLocationShift, sides),
        StopReason::SubTestRefused { refusal } => {
            let sentence = format!("The speedup of the {} cannot be tested: {refusal}.", protocol.name());
            return vec![Warning::new(WarningCode::TestRefused, sentence)];
        }
    };
    let mut warnings = Vec::new();
    for &side in sides {
        let n = match side {
            Side::Baseline => sizes[0],
            Side::Candidate => sizes[1],
        };
        let sample = sample_name(side);
        let sentence = if code == WarningCode::SmallNotNormal {
            format!(
                "{sample} is too small for Student's t test of the mean: its {n} values seem not to be normally \
                 distributed. Make more than {LARGE_ABOVE} observations."
            )
        } else {
            format!(
                "{sample} is too small for Wilcoxon's and Mann and Whitney's test of the median: it has {}, and the \
                 samples differ by more than a shift. Make more than {LARGE_ABOVE} observations.",
                counted(n as u64, "value")
            )
        };
        warnings.push(Warning::new(code, sentence));
    }
    warnings
}

/// The warning that a caveat of the analysis gives; of some the published program says nothing.
fn caveat_warning(protocol: Protocol, caveat: &Caveat, mode: SpeedupTestMode) -> Option<Warning> {
    let sentence = match caveat {
        Caveat::NotNormalLarge { side, .. } => format!(
            "{} seems not to be normally distributed, so the confidence level given for the speedup of the mean may not be \
             accurate.",
            sample_name(*side)
        ),
        Caveat::NoLocationShift => {
            "The samples differ by more than a shift of location, so the confidence level given for the speedup of \
             the median may not be accurate."
                .to_owned()
        }
        Caveat::NoLevelAboveHalf => format!(
            "No confidence level above 50 % makes the speedup of the {} statistically significant.",
            protocol.name()
        ),
        _ if mode == SpeedupTestMode::Published => return None,
        caveat => format!("On the {}: {}", protocol.name(), caveat.sentence()),
    };
    Some(Warning::new(caveat.into(), sentence))
}

/// The original's word for a sample, with ours.
fn sample_name(side: Side) -> &'static str {
    match side {
        Side::Baseline => "Sample1 (the baseline)",
        Side::Candidate => "Sample2 (the candidate)",
    }
}
