//! The sentences of a configured test's warnings, each with a next step where there is one, in the words of the published
//! program's warnings (Touati 2010 §6.2.5) where it has them.

use speedup_analysis::inquiry::configured::{BenchmarkWarning, ConfigurationWarning, UnreadableFile};
use speedup_analysis::{conclusion::Warning, count::counted};
use speedup_statistics::{inference::Side, protocol::speedup_test::LARGE_ABOVE};

/// What must be known of the whole test.
pub(super) fn of_configuration(warning: &ConfigurationWarning) -> Warning {
    let sentence = match warning {
        ConfigurationWarning::LevelOutOfRange { line, level } => format!(
            "Line {line} of the configuration: ConfLevel {level} does not lie between 0 and 1 and is taken as omitted. \
             Write 0.95 for 95 %."
        ),
        ConfigurationWarning::LevelsOverridden => {
            "The level of --conf-level was taken for all benchmarks, also for those to which the configuration gives \
             another, as the published program does: --mode exact puts the configuration first."
                .to_owned()
        }
        ConfigurationWarning::WholeCoefficients => {
            "All coefficients are whole numbers, which the published program weighs equally: write one of them with \
             a fraction, or take --mode exact."
                .to_owned()
        }
        ConfigurationWarning::MissingCoefficients { missing } => format!(
            "{missing} of the coefficients are missing, so all benchmarks weigh equally: give all of them or none."
        ),
        ConfigurationWarning::NameTwice { name, lines: [first, second] } => {
            format!("Lines {first} and {second} of the configuration both name {name:?}: are they two benchmarks?")
        }
    };
    Warning::new(warning.code(), sentence)
}

pub(super) fn of_benchmark(warning: &BenchmarkWarning) -> Warning {
    let sentence = match warning {
        BenchmarkWarning::NotReadable(UnreadableFile { path, cause }) => {
            format!("The file {path} is not readable ({cause}).")
        }
        BenchmarkWarning::SamplesUnavailable => {
            "The benchmark is ignored, since its samples are not available: fix the names in the configuration."
                .to_owned()
        }
        BenchmarkWarning::SmallNotNormal { side, n } => format!(
            "{} is too small for Student's t test of the mean: its {n} values seem not to be normally distributed. Make more \
             than {LARGE_ABOVE} observations.",
            sample(*side)
        ),
        BenchmarkWarning::NotNormalLarge { side } => format!(
            "{} seems not to be normally distributed, so the confidence level given for the speedup of the mean may not be \
             accurate.",
            sample(*side)
        ),
        BenchmarkWarning::SmallNoLocationShift { side, n } => format!(
            "{} is too small for Wilcoxon's and Mann and Whitney's test of the median: it has {}, and the samples \
             differ by more than a shift. Make more than {LARGE_ABOVE} observations.",
            sample(*side),
            counted(*n as u64, "value")
        ),
        BenchmarkWarning::NoLocationShift => {
            "The samples differ by more than a shift of location, so the confidence level given for the speedup of \
             the median may not be accurate."
                .to_owned()
        }
        BenchmarkWarning::NoLevelAboveHalf { protocol } => format!(
            "No confidence level above 50 % makes the speedup of the {} statistically significant.",
            protocol.name()
        ),
        BenchmarkWarning::TestRefused { protocol, refusal } => {
            format!("The speedup of the {} cannot be tested: {refusal}.", protocol.name())
        }
        BenchmarkWarning::SpreadOfRounding { side } => format!(
            "{} has values that differ only in their last digits, so the results describe rounding: subtract the \
             common part before recording.",
            sample(*side)
        ),
        BenchmarkWarning::Caveat { protocol, caveat } => {
            format!("On the {}: {}", protocol.name(), caveat.sentence())
        }
    };
    Warning::new(warning.code(), sentence)
}

/// The original's word for a sample, with ours.
fn sample(side: Side) -> &'static str {
    match side {
        Side::Baseline => "Sample1 (the baseline)",
        Side::Candidate => "Sample2 (the candidate)",
    }
}
