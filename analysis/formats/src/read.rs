//! One way in for all formats.

use crate::{
    asv, benchmark_dotnet, bounds::MAX_FILE_BYTES, caliper, cargo_bench, collection::Collection, criterion,
    detect, format::Format, go, google_benchmark, hyperfine, imported::Imported, jmh, layout, layout::tools,
    options::Options, plain, problem::Fault, problem::FilePlace, problem::FileProblem, problem::ReadError,
    pyperf, rebench, reframe, relabeling::relabel, table, text, text_table,
};

/// Reads a file of a known format.
///
/// # Errors
/// The first thing in the file that does not fit the format, with its place; a bound that is exceeded; a file of summaries;
/// a file without any value. A file is read as a whole or not at all.
pub fn read(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Imported, ReadError> {
    collect(bytes, format, options)
        .and_then(|collection| collection.finish(format).map_err(Fault::of_file))
        .and_then(|imported| relabel(imported, options).map_err(Fault::of_file))
        .map_err(|Fault { place, problem }| ReadError { format, place, problem })
}

fn collect(bytes: &[u8], format: Format, options: &Options<'_>) -> Result<Collection, Fault> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Fault { place: FilePlace::File, problem: FileProblem::TooManyBytes });
    }
    let bytes = text::unpacked(bytes, MAX_FILE_BYTES)?;
    let text = text::without_colors(text::decode(&bytes)?);
    let text = text.as_ref();
    let summary = |what| Err(Fault::of_file(FileProblem::SummaryOnly { what }));
    let is_json = text.trim_start().starts_with(['{', '[']);
    if !is_json && detect::find_header(text, &detect::SUMMARIES) == Some(format) {
        return summary("means and spreads, or scores and errors");
    }
    match format {
        Format::Hyperfine1 => hyperfine::read_1(text),
        Format::Hyperfine2 => hyperfine::read_2(text),
        Format::HyperfineCsv => summary("mean, median, spread and extremes of each command"),
        Format::GoogleBenchmark => google_benchmark::read(text),
        Format::GoogleBenchmarkCsv => google_benchmark::read_csv(text),
        Format::GoogleBenchmarkConsole => google_benchmark::read_console(text),
        Format::PytestBenchmark => layout::read(text, &tools::PYTEST_BENCHMARK),
        Format::Asv => asv::read(text),
        Format::Jmh => jmh::read(text),
        Format::BenchmarkDotNet => benchmark_dotnet::read(text),
        Format::Catch2 => summary("mean and spread of each benchmark, with their intervals"),
        Format::Pyperf => pyperf::read(text, options),
        Format::CriterionSample => criterion::read_sample(text, options),
        Format::CriterionEstimates => summary("estimates of mean, median and slope"),
        Format::CriterionRaw => criterion::read_raw(text),
        Format::CargoCriterion => criterion::read_messages(text),
        Format::Go => go::read(text, options.go_units),
        Format::GoEvents => go::read_events(text, options.go_units),
        Format::CargoBench => cargo_bench::read(text),
        Format::ReFrame => reframe::read(text),
        Format::Ior | Format::Hpl | Format::Nccl | Format::Osu => text_table::read(text, format),
        Format::ReBench => rebench::read(text),
        Format::Nanobench => layout::read(text, &tools::NANOBENCH),
        Format::Vitest => layout::read(text, &tools::VITEST),
        Format::BenchmarkTools => layout::read(text, &tools::BENCHMARK_TOOLS),
        Format::GithubBenchmarkHistory => layout::read(text, &tools::GITHUB_BENCHMARK_HISTORY),
        Format::GithubBenchmark => layout::read(text, &tools::GITHUB_BENCHMARK),
        Format::Bencher => layout::read(text, &tools::BENCHER),
        Format::Fio => layout::read(text, &tools::FIO),
        Format::Caliper => caliper::read(text),
        Format::LlamaBench => layout::read(text, &tools::LLAMA_BENCH),
        Format::Vllm => layout::read(text, &tools::VLLM),
        Format::Aiperf => layout::read(text, &tools::AIPERF),
        Format::NvBench => layout::read(text, &tools::NVBENCH),
        Format::Renaissance => layout::read(text, &tools::RENAISSANCE),
        Format::KernelBenchBaseline => layout::read(text, &tools::KERNEL_BENCH_BASELINE),
        Format::KernelBenchEvaluation => layout::read(text, &tools::KERNEL_BENCH_EVALUATION),
        Format::Plain => plain::read(text, options),
        Format::Csv => table::read_csv(text, options),
        Format::JsonLines => table::read_lines(text, options),
    }
}
