//! Files that the tools themselves wrote (names of machines and folders apart), and every value that is in them.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]
#![expect(clippy::disallowed_methods, reason = "the golden files are read from the disk")]

use speedup_formats::*;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn bytes(file: &str) -> Vec<u8> {
    std::fs::read(folder().join(file)).unwrap()
}

/// Detects and reads a golden file.
fn imported(file: &str, format: Format) -> Imported {
    let bytes = bytes(file);
    assert_eq!(detect(&bytes), Ok(format), "{file}");
    read(&bytes, format, &Options { path: Some(file), ..Options::default() }).unwrap()
}

fn refused(file: &str, format: Format) -> ReadError {
    let bytes = bytes(file);
    assert_eq!(detect(&bytes), Ok(format), "{file}");
    read(&bytes, format, &Options::default()).unwrap_err()
}

fn names(imported: &Imported) -> Vec<String> {
    imported.series.iter().map(|series| series.name.to_string()).collect()
}

/// The runs of a series, found by how its name is shown.
fn runs(imported: &Imported, name: &str) -> Vec<Vec<f64>> {
    let series = imported.series.iter().find(|series| series.name.to_string() == name);
    let series = series.unwrap_or_else(|| panic!("no series {name} in {:?}", names(imported)));
    series.runs.iter().map(<[f64]>::to_vec).collect()
}

fn one_each(values: &[f64]) -> Vec<Vec<f64>> {
    values.iter().map(|value| vec![*value]).collect()
}

#[test]
fn hyperfine_1_15_has_times() {
    let it = imported("hyperfine-1.15.json", Format::Hyperfine1);
    assert_eq!(names(&it), ["echo 1, n 1 (wall)", "echo 2, n 2 (wall)"]);
    let times = [0.014786461, 0.001111268, 0.018809469000000002, 0.007923617];
    assert_eq!(runs(&it, "echo 1, n 1 (wall)"), one_each(&times));
    assert!(it.warnings.is_empty() && it.failures.is_empty());
    assert!(it.series.iter().all(|series| series.unit == SeriesUnit::Seconds));
}

#[test]
fn hyperfine_1_20_has_memory_too() {
    let it = imported("hyperfine-1.20.json", Format::Hyperfine1);
    assert_eq!(
        names(&it),
        ["print 1, n 1 (wall)", "print 1, n 1 (max_rss)", "print 2, n 2 (wall)", "print 2, n 2 (max_rss)"]
    );
    assert_eq!(runs(&it, "print 2, n 2 (max_rss)"), one_each(&[3284992.0; 3]));
    assert_eq!(it.series[1].unit, SeriesUnit::Bytes);
}

#[test]
fn runs_whose_failure_hyperfine_ignored_have_no_value() {
    let failed = |file, format, benchmark: &str, runs| {
        let it = imported(file, format);
        let failure = it.failures.iter().find(|failure| failure.benchmark.as_str().starts_with(benchmark));
        assert_eq!(failure.unwrap().kind, MissingKind::FailedRuns { failed: runs, runs });
        assert!(it.series.iter().all(|series| series.name.benchmark.as_str() != benchmark));
    };
    failed("hyperfine-1.15-failures.json", Format::Hyperfine1, "fails", 3);
    failed("hyperfine-2.0-failures.json", Format::Hyperfine2, "fails often", 2);
}

#[test]
fn hyperfine_2_has_every_metric_of_every_run() {
    let it = imported("hyperfine-2.0.json", Format::Hyperfine2);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "2.0.0");
    assert_eq!(it.machine.operating_system.as_ref().unwrap().as_str(), "Linux");
    assert_eq!(it.series.len(), 10);
    let walls = [0.021969321, 0.006121727, 0.000963506];
    assert_eq!(runs(&it, "echo 2, n 2 (wall)"), one_each(&walls));
    assert_eq!(runs(&it, "echo 1, n 1 (user)"), one_each(&[0.000983, 0.000761, 0.0007199999999999999]));
    assert_eq!(runs(&it, "echo 1, n 1 (max_rss)"), one_each(&[3321856.0; 3]));
    assert_eq!(runs(&it, "echo 1, n 1 (time_cpu)").len(), 3);
}

#[test]
fn summaries_are_refused_with_the_reason() {
    for (file, format) in [
        ("hyperfine-1.15.csv", Format::HyperfineCsv),
        ("hyperfine-2.0.csv", Format::HyperfineCsv),
        ("criterion-0.8-estimates.json", Format::CriterionEstimates),
        ("google-benchmark-1.7-aggregates.json", Format::GoogleBenchmark),
        ("pytest-benchmark-5.3-saved.json", Format::PytestBenchmark),
        ("jmh-1.37-from-source.csv", Format::Jmh),
        ("jmh-1.37-from-source.txt", Format::Jmh),
        ("benchmark-dotnet-0.14-from-source.csv", Format::BenchmarkDotNet),
        ("pytest-benchmark-5.3.csv", Format::PytestBenchmark),
        ("catch2-2.13.txt", Format::Catch2),
        ("catch2-2.13.xml", Format::Catch2),
    ] {
        let error = refused(file, format);
        assert!(matches!(error.problem, FileProblem::SummaryOnly { .. }), "{file}: {error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn google_benchmark_has_repetitions_of_one_process() {
    let it = imported("google-benchmark-1.7.json", Format::GoogleBenchmark);
    let wall = runs(&it, "sum/64, label a \"label\" <b> (wall)");
    assert_eq!(wall.len(), 1, "one process");
    assert_eq!(wall[0].len(), 3, "aggregates are no values");
    assert_eq!(wall[0][..2], [3.963_250_580_796_535e-8, 3.5719806633518966e-08], "microseconds");
    assert_eq!(runs(&it, "sum/64, label a \"label\" <b> (ratio)"), [[0.5; 3]]);
    let rate = it.series.iter().find(|one| one.name.metric.as_str() == "bytes_per_second").unwrap();
    assert_eq!(rate.unit, SeriesUnit::BytesPerSecond);
    assert_eq!(it.machine.host_name.as_ref().unwrap().as_str(), "host");
    assert!(names(&it).contains(&"slow/real_time (wall)".to_owned()));
    assert!(it.series.iter().all(|one| one.name.benchmark.as_str() != "broken"));
}

#[test]
fn google_benchmark_reports_errors_and_what_is_not_finite() {
    let it = imported("google-benchmark-1.7.json", Format::GoogleBenchmark);
    assert!(!it.failures.is_empty());
    for failure in &it.failures {
        assert_eq!(failure.benchmark.as_str(), "broken");
        assert_eq!(failure.kind, MissingKind::Failed);
        assert_eq!(failure.message.as_ref().unwrap().as_str(), "no input \"x\"");
    }
    let left_out: Vec<_> = it.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(left_out.len(), 4, "far and lost of two benchmarks: {left_out:?}");
    assert!(left_out.iter().all(|warning| warning.ends_with("were left out: 3")), "{left_out:?}");
}

#[test]
fn pyperf_keeps_its_processes_apart() {
    let it = imported("pyperf-2.10.json", Format::Pyperf);
    assert_eq!(names(&it), ["sum (wall)", "sort <small> (wall)"]);
    let sum = runs(&it, "sum (wall)");
    assert_eq!(sum.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4], "the calibration has no values");
    let first =
        [2.689009887646421e-06, 2.3534704585159716e-07, 2.6903326415528284e-06, 2.3532385240443432e-07];
    assert_eq!(sum[0], first);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "2.10.0");
    assert_eq!(it.machine.host_name.as_ref().unwrap().as_str(), "host");
    assert_eq!(it.machine.processors.as_ref().unwrap().as_str(), "2");
}

#[test]
fn packed_is_the_same_as_unpacked() {
    let packed = imported("pyperf-2.10.json.gz", Format::Pyperf);
    assert_eq!(packed, imported("pyperf-2.10.json", Format::Pyperf));
}

#[test]
fn criterion_says_the_same_in_all_its_files() {
    let path = "target/criterion/sorts, small/merge/64/new/sample.json";
    let options = Options { path: Some(path), ..Options::default() };
    let new = read(&bytes("criterion-0.8-sample.json"), Format::CriterionSample, &options).unwrap();
    let old = bytes("criterion-0.3-sample.json");
    assert_eq!(detect(&old), Ok(Format::CriterionSample));
    let old = read(&old, Format::CriterionSample, &options).unwrap();
    assert_eq!(new, old);
    let raw = imported("criterion-0.8-raw.csv", Format::CriterionRaw);
    assert_eq!(names(&raw), ["sorts, small/merge/64 (wall)", "sorts, small/flat (wall)"]);
    assert_eq!(new.series[0].runs, raw.series[0].runs);
    assert_eq!(new.series[0].name.version.as_ref().unwrap().as_str(), "new");
    assert_eq!(new.series[0].runs.count(), 1);
    // criterion's own slope of these ten batches, in its estimates.json: pairs do not weigh quite the same.
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let ratio = mean(new.series[0].runs.values()) / 1.0816655745403634e-07;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn cargo_criterion_has_complete_benchmarks() {
    let it = imported("cargo-criterion-1.1.jsonl", Format::CargoCriterion);
    assert_eq!(names(&it), ["sorts, small/merge/64 (wall)", "sorts, small/flat (wall)"]);
    assert_eq!(runs(&it, "sorts, small/merge/64 (wall)")[0].len(), 5, "batches in pairs");
    assert_eq!(runs(&it, "sorts, small/flat (wall)")[0].len(), 10);
}

#[test]
fn criterion_before_0_3_names_its_nanoseconds_in_the_header() {
    let it = imported("criterion-0.2-raw.csv", Format::CriterionRaw);
    assert_eq!(names(&it), ["sums/xor/100 (wall)"]);
    let mean = it.series[0].runs.values().iter().sum::<f64>() / it.series[0].runs.values().len() as f64;
    assert!((mean / 29.334e-9 - 1.0).abs() < 0.01, "what criterion printed of it: {mean}");
}

#[test]
fn cargo_bench_has_one_estimate_of_each_process() {
    let it = imported("libtest-1.95.txt", Format::CargoBench);
    assert_eq!(names(&it), ["sum_large (wall)", "sum_small (wall)"]);
    assert_eq!(runs(&it, "sum_large (wall)"), [[27_299.33e-9], [54_620.19e-9]]);
    assert_eq!((it.failures.len(), it.failures[0].kind), (1, MissingKind::Failed));
    assert_eq!(it.failures[0].benchmark.as_str(), "broken");
    assert_eq!(it.series[0].value_of, Some(ValueOf::Summary));

    let it = imported("criterion-0.8.txt", Format::CargoBench);
    let long = "a group with a long name/sum of numbers";
    assert_eq!(names(&it), ["sum (wall)", &format!("{long}/100 (wall)"), &format!("{long}/500000 (wall)")]);
    assert_eq!(runs(&it, "sum (wall)"), [[56.716e-9]]);
    assert_eq!(runs(&it, &format!("{long}/500000 (wall)")), [[272.88e-6]]);
    assert!(it.failures.is_empty() && it.warnings.is_empty());
}

#[test]
fn reframe_has_a_run_in_each_row() {
    let it = imported("reframe-4.10.log", Format::ReFrame);
    let test = "StreamTest %threads=1, environ builtin, partition default, system generic";
    assert_eq!(names(&it), [format!("{test} (copy)"), format!("{test} (time)")]);
    assert_eq!(runs(&it, &format!("{test} (copy)")), [[23_002.6], [23_008.6]]);
    assert_eq!(it.series[0].unit.to_string(), "MB/s");
    assert_eq!(
        (it.series[0].better, it.series[1].better),
        (Some(BetterWhen::Higher), Some(BetterWhen::Lower))
    );
    assert_eq!(it.failures.len(), 2);
    assert!(it.failures.iter().all(|one| one.benchmark.as_str().contains("%threads=2")));
}

#[test]
fn ior_has_repetitions_of_each_access() {
    let it = imported("ior-4.1.txt", Format::Ior);
    let labels = "access single-shared-file, api POSIX, block(KiB) 4096, nodes 1, ordering in a file sequential, tasks 2, \
                  xfer(KiB) 1024.00";
    let wall = runs(&it, &format!("write, {labels} (wall)"));
    assert_eq!(wall.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2], "two processes");
    assert_eq!(it.series.len(), 14);
    let rate = it.series.iter().find(|one| one.name.metric.as_str() == "bandwidth").unwrap();
    assert_eq!((rate.unit.to_string().as_str(), rate.better), ("MiB/s", Some(BetterWhen::Higher)));
    assert!(it.failures.is_empty(), "the second table is no result: {:?}", it.failures);
}

#[test]
fn hpl_has_sizes_and_says_what_is_wrong() {
    let it = imported("hpl-2.0.txt", Format::Hpl);
    let labels = |size| format!("hpl, N {size}, NB 80, P 1, Q 1, T/V WR11C2R4");
    assert_eq!(runs(&it, &format!("{} (wall)", labels(1000))), [[0.13]]);
    assert_eq!(runs(&it, &format!("{} (rate)", labels(1500))), [[5.402]]);
    assert_eq!(it.series[1].better, Some(BetterWhen::Higher));
    assert!(it.failures.is_empty());
    let wrong = String::from_utf8(bytes("hpl-2.0.txt")).unwrap().replace("PASSED", "FAILED");
    let it = read(wrong.as_bytes(), Format::Hpl, &Options::default()).unwrap();
    assert_eq!((it.failures.len(), it.failures[1].benchmark.as_str()), (2, labels(1500).as_str()));
}

#[test]
fn nccl_tests_have_two_places_and_check_results() {
    let it = imported("nccl-tests-2.13-from-source.txt", Format::Nccl);
    let labels = |size| format!("nccl-tests, redop sum, root -1, size {size}, type float (busbw)");
    assert_eq!(runs(&it, &labels("33554432")), [[81.80]]);
    assert_eq!(runs(&it, &labels("33554432").replace("redop", "place in-place, redop")), [[82.10]]);
    let it = imported("nccl-tests-2.19-from-source.txt", Format::Nccl);
    assert_eq!(runs(&it, "all_reduce_perf, redop sum, root -1, size 8, type float (wall)"), [[24.65e-6]]);
    assert_eq!(it.failures[0].benchmark.as_str(), "all_reduce_perf, redop sum, root -1, size 16, type float");
    assert_eq!(it.series.len(), 6, "a wrong result has no values");
}

#[test]
fn osu_benchmarks_have_processes_and_columns() {
    let it = imported("osu-5.3.txt", Format::Osu);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "5.3");
    let latency = runs(&it, "MPI Latency Test, Size 1 (wall)");
    assert_eq!(latency, [[0.39e-6], [0.37e-6]], "two processes");
    assert_eq!(runs(&it, "MPI Barrier Latency Test (wall)"), [[0.66e-6]]);
    assert_eq!(runs(&it, "MPI Non-Blocking Broadcast Latency Test, Size 2 (communication)"), [[0.71e-6]]);
    let rate = "MPI Multiple Bandwidth / Message Rate Test, Size 2 (message rate)";
    assert_eq!(runs(&it, rate), [[7_882_219.93]]);
    assert!(it.failures.is_empty(), "{:?}", it.failures);
}

/// What stands in a table and fits nothing is told: it could be the result that a comparison lacks.
#[test]
fn rows_that_cannot_be_read_are_reported() {
    for (before, after) in [
        ("0                         0.37\n", "0                         mpirun: 0.37\n"),
        ("# Size        Bandwidth (MB/s)", "# Size        Bandwidth (kB/s)"),
    ] {
        let text = String::from_utf8(bytes("osu-5.3.txt")).unwrap();
        assert!(text.contains(before));
        let it = read(text.replace(before, after).as_bytes(), Format::Osu, &Options::default()).unwrap();
        assert_eq!(it.failures.len(), 1, "{:?}", it.failures);
        assert_eq!(it.failures[0].kind, MissingKind::Unreadable);
    }
    let text = "test a ... bench: 1 ns/iter (+/- 0)\ntest b ... talk\nbench: 2 ns/iter (+/- 0)\n";
    let it = read(text.as_bytes(), Format::CargoBench, &Options::default()).unwrap();
    assert_eq!((it.failures.len(), it.failures[0].kind), (1, MissingKind::Unreadable));
}

#[test]
fn programs_and_panics_are_told_where_cargo_says_them() {
    let text = "     Running benches/a.rs (target/release/deps/a-12)\nsum    time:   [1 ns 2 ns 3 ns]\n\
                Benchmarking broken\nBenchmarking broken: Warming up\n\nthread 'main' (1) panicked at a.rs:1:1:\n\
                     Running benches/b.rs (target/release/deps/b-34)\nsum    time:   [1 ms 2 ms 3 ms]\n";
    let it = read(text.as_bytes(), Format::CargoBench, &Options::default()).unwrap();
    assert_eq!(names(&it), ["sum (wall)", "sum, target b (wall)"]);
    assert_eq!(it.failures[0].benchmark.as_str(), "broken");
}

/// Go's keys as benchstat's `-col` and `-ignore` take them.
#[test]
fn labels_become_the_version_or_are_ignored() {
    let text = "commit: a\ncpufreq: 1\nBenchmarkX 1 2 ns/op\nPASS\ncommit: b\ncpufreq: 2\nBenchmarkX 1 3 ns/op\nPASS\n\
                cpufreq: 3\nBenchmarkX 1 4 ns/op\nPASS\n";
    let columns = Columns { version: "commit", ..Columns::default() };
    let options = Options { columns, ignored_labels: vec!["cpufreq"], ..Options::default() };
    let it = read(text.as_bytes(), Format::Go, &options).unwrap();
    assert_eq!(names(&it), ["X in version a (wall)", "X in version b (wall)"]);
    assert_eq!(runs(&it, "X in version b (wall)"), [[3e-9], [4e-9]]);
}

#[test]
fn go_text_has_units_processes_and_failures() {
    let it = imported("go-1.19.txt", Format::Go);
    let labels = "pkg example.org/x";
    let wall = runs(&it, &format!("Sum/n=64-2, {labels} (wall)"));
    assert_eq!(wall, [vec![16.95e-9, 18.77e-9, 17.32e-9], vec![19.27e-9, 19.08e-9]]);
    assert_eq!(runs(&it, &format!("Sum/n=64-2, {labels} (B/s)"))[0][0], 3774.70e6);
    assert_eq!(runs(&it, &format!("Sum/n=64-2, {labels} (p50)"))[0][0], 42e-9);
    assert_eq!(
        runs(&it, &format!("Quick-2, {labels} (wall)")),
        [vec![1.533e-9, 0.7210e-9, 0.6310e-9], vec![0.9010e-9, 0.7910e-9]]
    );
    assert_eq!(it.failures.len(), 1);
    assert_eq!(it.failures[0].benchmark.as_str(), "Broken-2, pkg example.org/x");
    assert_eq!(it.machine.operating_system.as_ref().unwrap().as_str(), "linux");
    assert_eq!(it.machine.processor.as_ref().unwrap().as_str(), "AMD EPYC");

    let as_written = Options { go_units: GoUnits::AsWritten, ..Options::default() };
    let it = read(&bytes("go-1.19.txt"), Format::Go, &as_written).unwrap();
    assert_eq!(runs(&it, &format!("Sum/n=64-2, {labels} (ns/op)"))[0][0], 16.95);
}

#[test]
fn rebench_has_invocations_and_iterations() {
    let it = imported("rebench-1.4.data", Format::ReBench);
    let described =
        |version, metric| format!("Sort in version {version}, cores 1, inputSize 10, suite Small ({metric})");
    let wall = vec![vec![1.007e-3, 1.014e-3]; 2];
    for version in ["old", "new"] {
        assert_eq!(runs(&it, &described(version, "wall")), wall);
        assert_eq!(runs(&it, &described(version, "GC")), vec![vec![0.12e-3; 2]; 2]);
    }
    assert_eq!(it.series.len(), 4);
    assert_eq!(it.machine.host_name.as_ref().unwrap().as_str(), "host");
    assert!(it.warnings.is_empty(), "{:?}", it.warnings);
}

#[test]
fn rebench_before_1_2_names_no_columns() {
    let it = imported("rebench-1.0.data", Format::ReBench);
    assert_eq!(names(&it), ["Sort in version old, cores 1, inputSize 10, suite Small (wall)"]);
    assert_eq!(runs(&it, &names(&it)[0]), vec![vec![1.007e-3, 1.014e-3]; 2]);
}

#[test]
fn a_data_point_that_rebench_never_closed_is_left_out() {
    let text = String::from_utf8(bytes("rebench-1.4.data")).unwrap();
    let (cut, _) = text.trim_end().rsplit_once('\n').unwrap();
    let it = read(cut.as_bytes(), Format::ReBench, &Options::default()).unwrap();
    assert!(
        matches!(it.warnings[..], [ImportWarning { code: ImportCode::Unfinished, count: 1, .. }]),
        "{:?}",
        it.warnings
    );
    assert_eq!(it.series.iter().map(|one| one.runs.values().len()).sum::<usize>(), 14);
}

#[test]
fn pytest_benchmark_has_rounds_of_one_process() {
    let it = imported("pytest-benchmark-5.3.json", Format::PytestBenchmark);
    assert_eq!(names(&it), ["test_sums.py::test_sum[100] (wall)", "test_sums.py::test_sum[200] (wall)"]);
    let rounds = runs(&it, "test_sums.py::test_sum[100] (wall)");
    assert_eq!((rounds.len(), rounds[0].len()), (1, 6));
    assert_eq!(rounds[0][0], 1.2813331219755735e-06);
    assert_eq!(it.machine.processor.as_ref().unwrap().as_str(), "AMD EPYC");
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "5.3.1");
}

#[test]
fn asv_has_samples_by_parameters() {
    let it = imported("asv-0.6.json", Format::Asv);
    let commit = "a4a9904b98d78fddec6bc2baf594d9905d775670";
    let named = |benchmark: &str, labels: &str| format!("{benchmark} in version {commit}{labels} (wall)");
    assert_eq!(
        names(&it),
        [
            named("sums.Sums.time_sum", ", param1 100"),
            named("sums.Sums.time_sum", ", param1 200"),
            named("sums.time_plain", "")
        ]
    );
    let samples = runs(&it, &named("sums.Sums.time_sum", ", param1 200"));
    assert_eq!((samples.len(), samples[0].len(), samples[0][0]), (1, 12, 1.091699959943071e-06));
    assert_eq!(it.failures.len(), 1);
    assert_eq!(it.failures[0].benchmark.as_str(), "sums.time_broken");
    assert!(it.warnings.iter().all(|warning| warning.code == ImportCode::SummaryOnly));
    assert_eq!(it.warnings.len(), 2, "a count and a memory: {:?}", it.warnings);
}

#[test]
fn asv_before_it_named_its_columns() {
    let it = imported("asv-0.3.json", Format::Asv);
    let commit = "a4a9904b98d78fddec6bc2baf594d9905d775670";
    assert_eq!(it.series.len(), 3);
    let samples = runs(&it, &format!("sums.Sums.time_sum in version {commit}, param1 200 (wall)"));
    assert_eq!((samples[0].len(), samples[0][1]), (5, 2.002633598310975e-06));
    assert_eq!(it.failures[0].benchmark.as_str(), "sums.time_broken");
    assert_eq!(it.warnings.len(), 2, "a count and a time without samples: {:?}", it.warnings);
}

#[test]
fn jmh_has_forks_modes_and_profilers() {
    let it = imported("jmh-1.37-from-source.json", Format::Jmh);
    assert_eq!(
        names(&it),
        [
            "org.example.Sums.sum, length 100 (wall)",
            "org.example.Sums.sum, length 100 (gc.alloc.rate.norm)",
            "org.example.Sums.sum, length 100 (throughput)",
            "org.example.Sums.pause, mode sample (wall)",
        ]
    );
    let average = runs(&it, "org.example.Sums.sum, length 100 (wall)");
    assert_eq!(average, [[41.5e-9, 40.25e-9, 42e-9], [42.75e-9, 41e-9, 41.5e-9]]);
    assert_eq!(it.series[2].unit.to_string(), "ops/us");
    let sampled = runs(&it, "org.example.Sums.pause, mode sample (wall)");
    assert_eq!(sampled, [vec![1.25e-3, 1.25e-3, 1.25e-3, 1.5e-3, 1.75e-3, 1.75e-3], vec![1.5e-3; 4]]);
}

#[test]
fn benchmark_dotnet_has_launches_and_says_what_it_left_out() {
    let it = imported("benchmark-dotnet-0.14-from-source.json", Format::BenchmarkDotNet);
    assert_eq!(
        names(&it),
        ["Example.Sums.Sum(Length: 100) (wall)", "Example.Sums.Sum(Length: 200), job ShortRun (wall)"]
    );
    let launches = runs(&it, "Example.Sums.Sum(Length: 100) (wall)");
    assert_eq!(launches, [vec![420e-9 / 4.0, 400e-9 / 4.0, 440e-9 / 4.0], vec![410e-9 / 4.0, 430e-9 / 4.0]]);
    assert_eq!(runs(&it, "Example.Sums.Sum(Length: 200), job ShortRun (wall)"), [[205e-9, 200.5e-9]]);
    assert!(
        matches!(it.warnings[..], [ImportWarning { code: ImportCode::OutliersRemoved, count: 1, .. }]),
        "{:?}",
        it.warnings
    );
    assert_eq!(it.failures[0].benchmark.as_str(), "Example.Sums.Broken");
}

#[test]
fn google_benchmark_says_the_same_in_a_table_and_less_on_a_console() {
    let table = imported("google-benchmark-1.7.csv", Format::GoogleBenchmarkCsv);
    let wall = runs(&table, "sum/100, label a, \"b\" (wall)");
    assert_eq!(wall, [[9430.87e-6, 0.474e-6, 0.262e-6]], "aggregates are no values");
    assert_eq!(runs(&table, "sum/200, label a, \"b\" (ratio)"), [[0.5; 3]]);
    assert_eq!(table.failures.len(), 3);
    assert_eq!(table.failures[0].message.as_ref().unwrap().as_str(), "bro, ken");

    let console = imported("google-benchmark-1.7.txt", Format::GoogleBenchmarkConsole);
    assert_eq!(runs(&console, "sum/100 (wall)"), [[9431e-6, 0.474e-6, 0.262e-6]]);
    assert_eq!(runs(&console, "sum/200 (cpu_time)"), [[0.045e-6; 3]]);
    assert_eq!(console.failures, table.failures);
    assert_eq!(console.warnings, [ImportCode::Rounded.into()]);
    assert_eq!(console.machine.processors.as_ref().unwrap().as_str(), "2");
}

#[test]
fn go_events_are_the_text_in_pieces() {
    let it = imported("go-1.19.jsonl", Format::GoEvents);
    assert_eq!(it.series[0].name.to_string(), "Sum/short-2 (wall)");
    assert_eq!(runs(&it, "Sum/short-2 (wall)"), [[180.7e-9, 170.5e-9]]);
    assert_eq!(runs(&it, "Sum/long-2 (wall)"), [[357.5e-9, 359.6e-9]]);
    assert_eq!(it.failures[0].kind, MissingKind::Skipped);
    assert_eq!(it.machine.processor.as_ref().unwrap().as_str(), "AMD EPYC");
}

#[test]
fn processors_that_differ_within_a_file_stay_labels() {
    let text = "cpu: A\nBenchmarkX 1 2 ns/op\nPASS\ncpu: B\nBenchmarkX 1 3 ns/op\nPASS\n";
    let it = read(text.as_bytes(), Format::Go, &Options::default()).unwrap();
    assert_eq!(names(&it), ["X, cpu A (wall)", "X, cpu B (wall)"]);
    assert_eq!(it.warnings, [ImportCode::SeveralHosts.into()]);
}

#[test]
fn two_tools_in_one_file_are_refused_by_name() {
    let go = "BenchmarkX 1 2 ns/op\n";
    let both = go.to_owned() + &String::from_utf8(bytes("google-benchmark-1.7.txt")).unwrap();
    let several = |first, second| Err(DetectError::Several { first, second });
    assert_eq!(detect(both.as_bytes()), several(Format::Go, Format::GoogleBenchmarkConsole));
    let both = br#"{"context": {}, "machine_info": {}, "benchmarks": [{"name": "a", "stats": {}}]}"#;
    assert_eq!(detect(both), several(Format::GoogleBenchmark, Format::PytestBenchmark));
    let both = bytes("hyperfine-1.20.json").into_iter().chain(bytes("pyperf-2.10.json")).collect::<Vec<_>>();
    assert_eq!(detect(&both), several(Format::Hyperfine1, Format::Pyperf));
}

#[test]
fn later_versions_are_refused_by_number() {
    for (file, format, before, after) in [
        ("asv-0.6.json", Format::Asv, r#""version": 2"#, r#""version": 3"#),
        (
            "google-benchmark-1.7.json",
            Format::GoogleBenchmark,
            r#""context": {"#,
            r#""context": {"json_schema_version": 2, "#,
        ),
    ] {
        let later = String::from_utf8(bytes(file)).unwrap().replace(before, after);
        let error = read(later.as_bytes(), format, &Options::default()).unwrap_err();
        assert!(matches!(error.problem, FileProblem::UnknownVersion { .. }), "{file}: {error}");
    }
}
