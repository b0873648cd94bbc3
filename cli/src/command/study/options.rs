//! The options that the studies share.

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::ConfidenceLevel;
use speedup_studies::{LawShape, LevelModel, Replication, Variation};

use crate::arguments::fraction;

/// Whence, at which level, and in which form. How often has a default of each study's own, so it is an argument there.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Replicating {
    /// The random seed; the same seed gives the same answer on any number of threads
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The confidence level of intervals and tests
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// Print the answer in this form
    #[arg(long = "format", value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

/// How a study is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// For people
    #[default]
    Table,
    /// One JSON value: options and rows
    Json,
    /// The rows, with a header line
    Csv,
}

impl Replicating {
    pub(super) fn replication(&self, replicates: u32) -> Replication {
        let Self { seed, confidence, output: _ } = *self;
        Replication { replicates, seed: Seed(seed), confidence }
    }

    /// The form, and the seed that it shows.
    pub(super) fn form(&self) -> (Form, Seed) {
        (self.output, Seed(self.seed))
    }
}

/// The numbers of replicates that can be drawn.
pub(super) fn replicates() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1_000_000)
}

/// Experiments by levels.
#[derive(Clone, Debug, Args)]
pub(super) struct ByLevels {
    /// How much compilation, execution and measurement vary, in percent of the mean, such as 3.4,8.2,1.4; or a benchmark
    /// of Kalibera 2012, Table VII: fft, fft-opt, fft-na, fft-na-opt, http, http-opt, rijndael, rijndael-opt, tcp,
    /// tcp-opt
    #[arg(long, value_name = "VARIATION", default_value = "fft-na-opt", value_parser = variation)]
    levels: Variation,
    /// Measurements per execution
    #[arg(long, value_name = "N", default_value_t = 5)]
    measurements: u64,
    /// Executions per binary, where binaries are repeated
    #[arg(long, value_name = "N", default_value_t = 5)]
    executions: u64,
    /// The numbers of binaries
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [3, 5, 10, 20])]
    pub(super) binaries: Vec<u64>,
    /// The numbers of executions of one binary, where compilation varies and is not repeated
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [3, 5, 10, 20, 50, 100])]
    pub(super) one_binary: Vec<u64>,
    /// The draws of each bootstrap; 0 for no bootstrap
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) draws: u32,
}

impl ByLevels {
    pub(super) fn model(&self) -> LevelModel {
        let Self { levels, measurements, executions, .. } = *self;
        LevelModel { variation: levels, measurements, executions }
    }
}

fn variation(text: &str) -> Result<Variation, String> {
    if let Some((_, variation)) = Variation::TABLE_VII.iter().find(|(name, _)| *name == text) {
        return Ok(*variation);
    }
    let percents: Vec<f64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match percents[..] {
        [compilation, execution, measurement]
            if percents.iter().all(|percent| (0.0..100.0).contains(percent)) =>
        {
            let [compilation, execution, measurement] =
                [compilation, execution, measurement].map(|percent| percent / 100.0);
            Ok(Variation { compilation, execution, measurement })
        }
        _ => {
            Err("it is neither a benchmark of Table VII nor three percentages, such as 3.4,8.2,1.4"
                .to_owned())
        }
    }
}

/// The shape of a law.
pub(super) fn shape(text: &str) -> Result<LawShape, String> {
    named(text, &LawShape::ALL, LawShape::code)
}

/// The one of `all` whose code is `text`; hyphens do for its underscores.
pub(super) fn named<T: Copy>(text: &str, all: &[T], code: fn(T) -> &'static str) -> Result<T, String> {
    let wanted = text.replace('-', "_");
    all.iter().copied().find(|one| code(*one) == wanted).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| code(*one)).collect();
        format!("it is none of {}", names.join(", "))
    })
}

/// `given`, or all where nothing is given.
pub(super) fn or_all<T: Copy>(given: Vec<T>, all: &[T]) -> Vec<T> {
    if given.is_empty() { all.to_vec() } else { given }
}
