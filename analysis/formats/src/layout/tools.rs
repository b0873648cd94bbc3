//! The layouts, one for each format.

use super::Layout;
use crate::{Format, WALL};

/// Declares layouts by what they have besides the usual.
macro_rules! layouts {
    ($($format:ident { $($field:ident: $value:expr),+ })+) => {
        pub(super) static LAYOUTS: &[Layout] = &[$(
            Layout {
                format: Format::$format,
                $($field: $value,)+
                ..Layout {
                    format: Format::$format,
                    results: "", only_with: "", benchmark: "@name", version: "", labels: &[], settings: &[], sound: &[], divisor: "",
                    measures: &[], iterations: "", zero_is_none: false, summaries: "", tool_version: "", machine: [""; 5],
                }
            },
        )+];
    };
}

layouts! {
    // An epoch's time is for one iteration, which does `batch` operations. Counters that the machine does not have are 0.
    Nanobench {
        results: "results/*", labels: &["@title"], divisor: "batch", zero_is_none: true,
        measures: &[
            (WALL, "s", "measurements/*/elapsed"), ("instructions", "", "measurements/*/instructions"),
            ("cpucycles", "", "measurements/*/cpucycles"), ("branchmisses", "", "measurements/*/branchmisses")
        ]
    }
    // The samples are always empty.
    Vitest {
        results: "files/*/groups/*/benchmarks/*", labels: &["group @fullName"], measures: &[(WALL, "ms", "mean")]
    }
    GithubBenchmarkHistory {
        results: "entries/*/+/benches/*", version: "@commit/id", settings: &["suite #1"], measures: &[("value", "@unit", "value")]
    }
    GithubBenchmark { measures: &[("value", "@unit", "value")] }
    PytestBenchmark {
        results: "benchmarks/*", benchmark: "@fullname|name", measures: &[(WALL, "s", "stats/data/*")],
        summaries: "no round of a test", tool_version: "version",
        machine: ["machine_info/node", "machine_info/system", "machine_info/machine", "machine_info/cpu/brand_raw", "machine_info/cpu/count"]
    }
    // A time is the mean of the evaluations of a sample. What was saved stands as pairs of a type and its fields, in groups by any keys.
    BenchmarkTools {
        results: "**", only_with: "times", benchmark: "#*", summaries: "no trial, but estimates or parameters",
        measures: &[(WALL, "ns", "times/*"), ("memory", "B", "memory"), ("allocs", "", "allocs")], tool_version: "BenchmarkTools"
    }
    Bencher { results: "*/*", benchmark: "#0", measures: &[("#1", "#1", "value")] }
    // A direction without requests has zeros.
    Fio {
        results: "jobs/*/read|write|trim", benchmark: "@jobname", labels: &["io #1"], sound: &[("error", "0", "")], zero_is_none: true,
        measures: &[("latency", "ns", "lat_ns/mean"), ("iops", "IO/s", "iops"), ("bandwidth", "B/s", "bw_bytes")],
        tool_version: "fio version"
    }
    LlamaBench {
        benchmark: "llama-bench", version: "@build_commit", labels: &["@n_prompt", "@n_gen", "@n_depth"],
        settings: &[
            "@model_type", "@model_filename", "@backends", "@n_batch", "@n_ubatch", "@n_threads", "@type_k", "@type_v",
            "@n_gpu_layers", "@n_cpu_moe", "@split_mode", "@no_kv_offload", "@flash_attn", "@use_mmap", "@main_gpu", "@tensor_split",
            "@embeddings", "@cpu_mask", "@cpu_strict", "@poll", "@gpu_info"
        ],
        measures: &[(WALL, "ns", "samples_ns/*"), ("tokens_per_second", "tokens/s", "samples_ts/*")],
        machine: ["", "", "", "cpu_info", ""]
    }
    // All its commands: latency, throughput, serve. Without streaming the times to and between tokens are 0.
    Vllm {
        benchmark: "vllm", sound: &[("failed", "0", "")], zero_is_none: true, iterations: "avg_latency?latencies/*",
        settings: &["@model_id", "@backend", "@num_prompts", "@request_rate", "@max_concurrency"],
        measures: &[
            (WALL, "s", "avg_latency?latencies/*"), ("requests_per_second", "requests/s", "requests_per_second"),
            ("tokens_per_second", "tokens/s", "tokens_per_second"), ("request_throughput", "requests/s", "request_throughput"),
            ("output_throughput", "tokens/s", "output_throughput"),
            ("total_token_throughput", "tokens/s", "total_token_throughput"), ("mean_ttft", "ms", "mean_ttft_ms"),
            ("mean_tpot", "ms", "mean_tpot_ms"), ("mean_itl", "ms", "mean_itl_ms"), ("mean_e2el", "ms", "mean_e2el_ms")
        ]
    }
    Aiperf {
        results: "*", only_with: "avg", benchmark: "aiperf", sound: &[("was_cancelled", "false", ""), ("is_complete", "true", "incomplete_reason")],
        measures: &[("#0", "@unit", "avg")], tool_version: "aiperf_version"
    }
    // A state's name has its device and its axes. Isolated measurements and those of the CPU alone never stand together. The samples are
    // in binary files beside this one.
    NvBench {
        results: "benchmarks/*/states/*", benchmark: "@@name", labels: &["state @name"], sound: &[("is_skipped", "false", "skip_reason")],
        measures: &[
            (WALL, "s", "summaries/tag=nv.cold.time.gpu.mean/data/*/value"),
            (WALL, "s", "summaries/tag=nv.cpu_only.time.cpu.mean/data/*/value"),
            ("cpu_time", "s", "summaries/tag=nv.cold.time.cpu.mean/data/*/value"),
            ("batch_time", "s", "summaries/tag=nv.batch.time.gpu.mean/data/*/value"),
            ("item_rate", "items/s", "summaries/tag=nv.cold.bw.item_rate/data/*/value"),
            ("item_rate", "items/s", "summaries/tag=nv.cpu_only.bw.item_rate/data/*/value"),
            ("bytes_per_second", "B/s", "summaries/tag=nv.cold.bw.global.bytes_per_second/data/*/value"),
            ("bytes_per_second", "B/s", "summaries/tag=nv.cpu_only.bw.global.bytes_per_second/data/*/value")
        ],
        tool_version: "meta/version/nvbench/string"
    }
    // Which repetitions are warm-ups is not in the file.
    Renaissance {
        results: "data/*", benchmark: "#1", sound: &[("termination", "normal", "")],
        measures: &[(WALL, "ns", "results/*/duration_ns")], tool_version: "suite/version",
        machine: ["", "environment/os/name", "environment/os/arch", "", "environment/os/available_processors"]
    }
    // Problems are called by their numbers, as evaluations call them.
    KernelBenchBaseline { results: "*/*", benchmark: "#1_", settings: &["level #0"], measures: &[(WALL, "ms", "mean")] }
    KernelBenchEvaluation {
        results: "*/*", benchmark: "#0", settings: &["@sample_id"], sound: &[("compiled", "true", "metadata/compilation_error_name"), ("correctness", "true", "metadata/correctness_issue|runtime_error_name")],
        measures: &[(WALL, "ms", "runtime_stats/mean")]
    }
}
