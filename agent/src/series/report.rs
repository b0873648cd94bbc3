//! Values in the report that a benchmark tool wrote: of one benchmark, by its name.
//!
//! Google Benchmark's times are in seconds, whatever its report has them in, and per iteration; Go's values are in the unit
//! that stands beside them. Aggregates are no values.

use std::collections::BTreeSet;

use speedup_core::experiment::metric::{Tool, ValueError, Wanted};
use speedup_formats::{Format, GoUnits, ImportCode, Imported, Name, Options, Series, WALL, read};

/// What every Go benchmark's name begins with in a report.
const GO_PREFIX: &str = "Benchmark";
/// What a Go benchmark is asked for when the plan says no unit.
const GO_TIME: &str = "ns/op";
/// Google Benchmark's word for the wall time.
const REAL_TIME: &str = "real_time";
/// The label of values that a report has of one benchmark again.
const OCCURRENCE: &str = "occurrence";

/// The values that are wanted, in the order of the report.
pub(super) fn values(wanted: Wanted<'_>, stream: &[u8]) -> Result<Vec<f64>, ValueError> {
    let (format, usual) = match wanted.tool {
        Tool::GoogleBenchmark => (Format::GoogleBenchmark, WALL),
        Tool::Go => (Format::Go, GO_TIME),
    };
    let options = Options { go_units: GoUnits::AsWritten, ..Options::default() };
    let report = read(stream, format, &options)
        .map_err(|error| ValueError::Format { cause: one_line(&error.to_string()) })?;
    // A name may hold colons itself ("BM_sort/threads:4"), so the whole text is taken for one first.
    let whole = of_benchmark(&report, wanted.tool, wanted.text, usual)?;
    if !whole.is_empty() {
        return Ok(whole);
    }
    let Some((benchmark, what)) = wanted.text.rsplit_once(':') else { return Ok(whole) };
    let what = if wanted.tool == Tool::GoogleBenchmark && what == REAL_TIME { WALL } else { what };
    of_benchmark(&report, wanted.tool, benchmark, what)
}

/// The values of one metric of one benchmark; none if there is no such thing.
fn of_benchmark(
    report: &Imported,
    tool: Tool,
    benchmark: &str,
    metric: &str,
) -> Result<Vec<f64>, ValueError> {
    let is_wanted = |series: &&Series| {
        series.name.metric.as_str() == metric && is_called(tool, series.name.benchmark.as_str(), benchmark)
    };
    let is_about = |subject: &Name| {
        let Some(named) = subject.as_str().strip_suffix(&format!(" ({metric})")) else { return false };
        // Labels stand behind the name, which may hold commas itself.
        let ends = named.match_indices(", ").map(|(at, _)| at).chain([named.len()]);
        ends.into_iter().any(|end| is_called(tool, &named[..end], benchmark))
    };
    let not_finite = report.warnings.iter().any(|warning| {
        warning.code == ImportCode::NotFinite && warning.subject.as_ref().is_some_and(is_about)
    });
    if not_finite {
        return Err(ValueError::NotFinite { text: format!("a value of {benchmark} in the report") });
    }
    let found: Vec<&Series> = report.series.iter().filter(is_wanted).collect();
    let labelled = |series: &&Series| {
        let labels = series.name.labels.iter().filter(|(key, _)| key.as_str() != OCCURRENCE);
        (series.name.version.clone(), labels.map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>())
    };
    let distinct: BTreeSet<_> = found.iter().map(labelled).collect();
    if distinct.len() > 1 {
        let cause = format!("{} different benchmarks are called {benchmark}", distinct.len());
        return Err(ValueError::Format { cause });
    }
    Ok(found.iter().flat_map(|series| series.runs.values()).copied().collect())
}

/// Whether a benchmark of the report is the one that the plan names. Go's may be named with the prefix that the report
/// shows, and without the number of threads that Go appends.
fn is_called(tool: Tool, reported: &str, named: &str) -> bool {
    match tool {
        Tool::GoogleBenchmark => reported == named,
        Tool::Go => {
            let named = named.strip_prefix(GO_PREFIX).unwrap_or(named);
            let threads = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
            let rest = reported.strip_prefix(named);
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(threads))
        }
    }
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(text: &str, report: &str) -> Result<Vec<f64>, ValueError> {
        values(Wanted { tool: Tool::Go, text }, report.as_bytes())
    }

    fn google(text: &str, report: &str) -> Result<Vec<f64>, ValueError> {
        values(Wanted { tool: Tool::GoogleBenchmark, text }, report.as_bytes())
    }

    const GO: &str = "goos: linux\npkg: example.org/sort\nBenchmarkSort-8   \t100\t  12.5 ns/op\t 64 B/op\n\
        BenchmarkSort-8  \t 100\t13 ns/op\t64 B/op\nBenchmarkSortAll-8 1 7 ns/op\nBenchmarkSort/n=10-8 1 9 ns/op\nPASS\n";

    #[test]
    fn gos_values_are_as_they_are_written() {
        for name in ["BenchmarkSort", "Sort", "BenchmarkSort-8", "BenchmarkSort:ns/op"] {
            assert_eq!(go(name, GO), Ok(vec![12.5, 13.0]), "{name}");
        }
        assert_eq!(go("BenchmarkSort:B/op", GO), Ok(vec![64.0, 64.0]));
        assert_eq!(go("BenchmarkSort/n=10", GO), Ok(vec![9.0]));
        assert_eq!(go("BenchmarkSort:MB/s", GO), Ok(vec![]));
        assert_eq!(go("BenchmarkSor", GO), Ok(vec![]));
        let two = format!("{GO}pkg: example.org/other\nBenchmarkSort-8 1 99 ns/op\n");
        assert!(matches!(go("BenchmarkSort", &two), Err(ValueError::Format { .. })));
        assert!(matches!(
            go("BenchmarkSort", "BenchmarkSort-8 1 NaN ns/op\nBenchmarkSort-8 1 2 ns/op\n"),
            Err(ValueError::NotFinite { .. })
        ));
    }

    #[test]
    fn google_benchmarks_times_are_seconds_and_its_counters_as_they_are() {
        let entry = |name: &str, kind: &str, time: &str| {
            format!(
                "{{\"name\": \"{name}\", \"run_name\": \"{name}\", \"run_type\": \"{kind}\", \"iterations\": 5, \
                 \"real_time\": {time}, \"cpu_time\": 2, \"time_unit\": \"ms\", \"rate\": 3.5}}"
            )
        };
        let report =
            |entries: &[String]| format!("{{\"context\": {{}}, \"benchmarks\": [{}]}}", entries.join(","));
        let runs = report(&[
            entry("BM_x/threads:4", "iteration", "1.5"),
            entry("BM_x/threads:4", "iteration", "2.5"),
            entry("BM_x/threads:4", "aggregate", "2"),
            entry("BM_y", "iteration", "9"),
        ]);
        assert_eq!(google("BM_x/threads:4", &runs), Ok(vec![0.0015, 0.0025]));
        assert_eq!(google("BM_x/threads:4:real_time", &runs), Ok(vec![0.0015, 0.0025]));
        assert_eq!(google("BM_x/threads:4:cpu_time", &runs), Ok(vec![0.002, 0.002]));
        assert_eq!(google("BM_y:rate", &runs), Ok(vec![3.5]));
        assert_eq!(google("BM_z", &runs), Ok(vec![]));
        let broken = report(&[entry("BM_x", "iteration", "NaN"), entry("BM_x", "iteration", "1")]);
        assert!(matches!(google("BM_x", &broken), Err(ValueError::NotFinite { .. })));
        assert!(matches!(google("BM_x", "not JSON"), Err(ValueError::Format { .. })));
    }
}
