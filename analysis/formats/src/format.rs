//! The formats that can be read.

#[cfg(test)]
mod reference;

use crate::ValueOf;
use std::{fmt, str::FromStr};

/// The kinds of value in the list of formats.
const RUN: Option<ValueOf> = Some(ValueOf::Run);
const ITERATION: Option<ValueOf> = Some(ValueOf::Iteration);
const SUMMARY: Option<ValueOf> = Some(ValueOf::Summary);

/// What to do about a file of summaries, where its tool writes no values.
const VALUES: &str = "a test needs every value: give the values themselves, one per line";

/// Declares the formats: what of a tool each is, its word on a command line, what messages call it, what a value in it stands for,
/// what of it is not read, and how the tool is made to write the values that a file of summaries lacks.
macro_rules! formats {
    ($(
        $(#[doc = $about:literal])+
        $format:ident = $word:literal, $title:literal, $value_of:expr
            $(, leaves_out: $left_out:literal)? $(, instead: $instead:literal)?;
    )+) => {
        /// A format of a tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format {
            $($(#[doc = $about])+ $format,)+
        }

        impl Format {
            /// All of them.
            pub const ALL: [Self; [$(Self::$format),+].len()] = [$(Self::$format),+];

            /// The word for it on a command line.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$format => $word,)+
                }
            }

            /// What of its tool is read, or refused, for the table of the guide.
            #[cfg(test)]
            const fn about(self) -> &'static str {
                match self {
                    $(Self::$format => concat!($($about),+),)+
                }
            }

            /// What of such a file is not read, for the table of the guide.
            #[cfg(test)]
            const fn leaves_out(self) -> &'static str {
                match self {
                    $(Self::$format => concat!("" $(, $left_out)?),)+
                }
            }

            /// What one value in it stands for, where that is the same in all its files.
            pub(crate) const fn value_of(self) -> Option<ValueOf> {
                match self {
                    $(Self::$format => $value_of,)+
                }
            }

            /// How its tool is made to write every value, which a test needs.
            pub(crate) const fn instead_of_summaries(self) -> &'static str {
                let advice = match self {
                    $(Self::$format => concat!($("a test needs every value: ", $instead)?),)+
                };
                if advice.is_empty() { VALUES } else { advice }
            }
        }

        impl fmt::Display for Format {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$format => $title,)+
                })
            }
        }
    };
}

formats! {
    /// `--export-json` before version 2: times of all runs, CPU times where it has them, memory.
    Hyperfine1 = "hyperfine-1", "hyperfine JSON", RUN, instead: "use --export-json";
    /// `--export-json` of version 2: all metrics of all runs.
    Hyperfine2 = "hyperfine-2", "hyperfine JSON (version 2)", RUN, instead: "use --export-json";
    /// `--export-csv`: recognised and refused, since it has no values.
    HyperfineCsv = "hyperfine-csv", "hyperfine CSV", None, instead: "use --export-json";
    /// `--benchmark_format=json`: times, CPU times, counters and rates of all repetitions.
    GoogleBenchmark = "google-benchmark", "Google Benchmark JSON", SUMMARY, leaves_out: "aggregates",
        instead: "leave out --benchmark_report_aggregates_only, and repeat with --benchmark_repetitions";
    /// `--benchmark_format=csv`: the same.
    GoogleBenchmarkCsv = "google-benchmark-csv", "Google Benchmark CSV", SUMMARY, leaves_out: "aggregates",
        instead: "leave out --benchmark_report_aggregates_only, and repeat with --benchmark_repetitions";
    /// What it prints, whose times have three digits.
    GoogleBenchmarkConsole = "google-benchmark-console", "Google Benchmark's console output", SUMMARY,
        leaves_out: "aggregates, counters",
        instead: "leave out --benchmark_report_aggregates_only, and repeat with --benchmark_repetitions";
    /// `--benchmark-json`; what `--benchmark-save` stores with `--benchmark-save-data`.
    PytestBenchmark = "pytest-benchmark", "pytest-benchmark JSON", ITERATION, leaves_out: "files without the rounds",
        instead: "use --benchmark-json, or --benchmark-save-data beside --benchmark-save";
    /// A result of `asv run --record-samples`.
    Asv = "asv", "an asv result", SUMMARY, leaves_out: "counts, memory, times without their samples",
        instead: "use asv run --record-samples";
    /// `-rf json`: all modes, and profilers' numbers.
    Jmh = "jmh", "JMH JSON", SUMMARY, instead: "have JMH write JSON, with -rf json";
    /// `*-report-full.json`; `*-report-brief.json` without launches.
    BenchmarkDotNet = "benchmark-dotnet", "a BenchmarkDotNet report", SUMMARY,
        leaves_out: "what it took for outliers, which a warning counts", instead: "export JSON, with its measurements";
    /// What it prints or writes as XML: recognised and refused, since it has no values.
    Catch2 = "catch2", "Catch2 output", None,
        instead: "Catch2 writes none: measure the program as a whole, or write each time yourself, one per line";
    /// `-o`: the values of all processes.
    Pyperf = "pyperf", "pyperf JSON", SUMMARY, leaves_out: "warm-ups, calibration";
    /// A `sample.json`; the directory (`target/criterion`) of them.
    CriterionSample = "criterion-sample", "criterion's sample.json", SUMMARY,
        instead: "take criterion's sample.json, or its whole directory";
    /// An `estimates.json`: recognised and refused, since it has no values.
    CriterionEstimates = "criterion-estimates", "criterion's estimates.json", None,
        instead: "take criterion's sample.json, or its whole directory";
    /// A `raw.csv`.
    CriterionRaw = "criterion-raw", "criterion's raw.csv", SUMMARY;
    /// The lines of `cargo criterion --message-format=json`.
    CargoCriterion = "cargo-criterion", "messages of cargo criterion", SUMMARY,
        instead: "take criterion's sample.json, or its whole directory";
    /// The benchmark text of `go test -bench`.
    Go = "go", "Go benchmark text", SUMMARY;
    /// The events of `go test -json -bench`.
    GoEvents = "go-json", "events of go test -json", SUMMARY;
    /// What `cargo bench` prints, of benchmarks of libtest, of criterion.rs or of both: the estimate of each, one observation.
    CargoBench = "cargo-bench", "the text of cargo bench", SUMMARY, leaves_out: "spreads, throughputs, changes";
    /// A performance log (`filelog`) with its usual header: every performance variable of every execution of a test.
    ReFrame = "reframe", "a ReFrame performance log", RUN, leaves_out: "references and thresholds; logs without a header";
    /// What it prints: bandwidths and times of each repetition.
    Ior = "ior", "the text of IOR", ITERATION, leaves_out: "the summary; JSON and CSV";
    /// What it prints: time and speed of each solution; residuals that fail are told.
    Hpl = "hpl", "the text of HPL", ITERATION;
    /// What they print: time and bandwidths by size, in and out of place; wrong results are told.
    Nccl = "nccl-tests", "the text of the NCCL tests", SUMMARY, leaves_out: "output of each iteration or with time stamps";
    /// What they print: latencies and bandwidths by size.
    Osu = "osu", "the text of the OSU micro-benchmarks", SUMMARY;
    /// A data file: invocations and iterations of all criteria.
    ReBench = "rebench", "a ReBench data file", ITERATION;
    /// `templates::json()`: the time of an iteration in each epoch, by its batch; instructions, cycles and missed branches.
    Nanobench = "nanobench", "nanobench JSON", SUMMARY, leaves_out: "medians, other counters";
    /// `vitest bench --outputJson`: the mean of each benchmark, which is one observation a file.
    Vitest = "vitest", "a vitest benchmark report", SUMMARY, leaves_out: "spreads; the file never has its samples";
    /// `BenchmarkTools.save`: times, memory and allocations of the trials, named by their groups.
    BenchmarkTools = "benchmark-tools", "BenchmarkTools.jl JSON", SUMMARY, leaves_out: "estimates, judgements, garbage collection",
        instead: "save the trials, not their estimates";
    /// The `data.js` of github-action-benchmark: a commit is a version, each of its values one observation.
    GithubBenchmarkHistory = "github-benchmark-history", "a history of github-action-benchmark", None,
        leaves_out: "ranges";
    /// Custom results for github-action-benchmark: a list of names, values and units.
    GithubBenchmark = "github-benchmark", "github-action-benchmark JSON", None, leaves_out: "ranges";
    /// Bencher Metric Format: the value of each measure.
    Bencher = "bencher", "Bencher Metric Format", None, leaves_out: "lower and upper values";
    /// `--output-format=json` of version 3: latency, operations and bandwidth of a job in each direction, as one observation.
    Fio = "fio", "fio JSON", SUMMARY, leaves_out: "percentiles, CPU and disk use, times series of logs";
    /// json-split of `runtime-profile` and queries: each column of numbers by region, and by rank.
    Caliper = "caliper", "Caliper JSON (split)", SUMMARY, leaves_out: "what is outside of regions; the formats json and cali";
    /// `-o json` and `-o jsonl`: times and tokens per second of all repetitions. What differs within a file is in the names.
    LlamaBench = "llama-bench", "llama-bench JSON", ITERATION, leaves_out: "means";
    /// `vllm bench latency`, `throughput` and `serve`, appended or not: latencies of iterations; rates and means of a run.
    Vllm = "vllm", "vLLM benchmark JSON", SUMMARY, leaves_out: "medians and other percentiles, lists by request";
    /// `profile_export_aiperf.json`: the mean of each metric, as one observation.
    Aiperf = "aiperf", "an AIPerf export", SUMMARY, leaves_out: "percentiles, warm-up, telemetry, aggregates of several runs";
    /// `--json` of an nvbench program: mean times, rates; axes are in the names. Skipped states are told.
    NvBench = "nvbench", "nvbench JSON", SUMMARY, leaves_out: "spreads, samples in binary files, own summaries";
    /// `--json` of the Renaissance suite: the time of each repetition.
    Renaissance = "renaissance", "Renaissance JSON", ITERATION,
        leaves_out: "counters of plugins; all repetitions are read, warm-ups too, which the file does not tell";
    /// `baseline_time_*.json` of KernelBench: mean times, by the number of the problem.
    KernelBenchBaseline = "kernelbench-baseline", "KernelBench baseline times", SUMMARY, leaves_out: "spreads";
    /// `eval_results.json` of KernelBench: mean times; what did not compile or is wrong has failed.
    KernelBenchEvaluation = "kernelbench", "KernelBench evaluation results", SUMMARY, leaves_out: "spreads, errors";
    /// One number a line, as the Speedup-Test's samples.
    Plain = "plain", "numbers, one per line", None;
    /// A table with a header, in the columns that are named.
    Csv = "csv", "a CSV table", None, leaves_out: "other columns";
    /// One JSON object a line, with the columns of a table as its fields.
    JsonLines = "json-lines", "JSON lines", None, leaves_out: "other fields";
}

/// A word that names no format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such format; known are {}", Format::ALL.map(Format::word).join(", "))]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}
