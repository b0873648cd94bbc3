//! What is written is read back as it was.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]
#![expect(clippy::disallowed_methods, reason = "the golden files are read from the disk")]

use proptest::{collection::btree_map, collection::vec, prelude::*};
use speedup_formats::*;
use std::collections::BTreeMap;

fn name(text: impl Into<String>) -> Name {
    Name::new(text).unwrap()
}

/// Finite values of every magnitude, as no tool rounds what it is given.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => (1_u64..10_000_000_000_000).prop_map(|ns| ns as f64 / 1e9),
        1 => proptest::num::f64::NORMAL | proptest::num::f64::ZERO | proptest::num::f64::SUBNORMAL,
    ]
}

fn runs() -> impl Strategy<Value = Runs> {
    vec(vec(value(), 1..4), 1..6).prop_map(|groups| Runs::new(groups).unwrap())
}

/// Benchmark, version and labels.
type Described = (String, Option<String>, BTreeMap<String, String>);

fn described(word: &'static str) -> impl Strategy<Value = Described> {
    let label = btree_map("[a-z][a-z0-9_./-]{0,8}x", "[!-~][ -~]{0,10}[!-~]", 0..3);
    (word, proptest::option::of("[!-~]{1,6}"), label)
}

fn series_name((benchmark, version, labels): &Described, metric: &str) -> SeriesName {
    SeriesName {
        benchmark: name(benchmark),
        version: version.as_deref().map(name),
        labels: labels.iter().map(|(key, value)| (name(key), name(value))).collect(),
        metric: name(metric),
    }
}

fn by_name(series: Vec<Series>) -> BTreeMap<SeriesName, (SeriesUnit, Runs)> {
    series.into_iter().map(|one| (one.name, (one.unit, one.runs))).collect()
}

/// Metrics that Go benchmark text holds, with their units.
fn go_metrics() -> [(&'static str, SeriesUnit); 7] {
    [
        (WALL, SeriesUnit::Seconds),
        (USER, SeriesUnit::Seconds),
        (MAX_RSS, SeriesUnit::Bytes),
        ("B/op", SeriesUnit::Bytes),
        ("B/s", SeriesUnit::BytesPerSecond),
        ("disk", SeriesUnit::BytesPerSecond),
        ("allocs/op", SeriesUnit::Bare),
    ]
}

fn go_series() -> impl Strategy<Value = Vec<Series>> {
    let metrics = vec((0..go_metrics().len(), runs()), 1..5);
    vec((described("[!-~µ]{1,10}"), metrics), 1..5).prop_map(|blocks| {
        let mut series = BTreeMap::new();
        for (described, metrics) in blocks {
            for (metric, runs) in metrics {
                let (metric, unit) = &go_metrics()[metric];
                series.insert(series_name(&described, metric), (unit.clone(), runs));
            }
        }
        series.into_iter().map(|(name, (unit, runs))| Series::new(name, unit, runs)).collect()
    })
}

/// Runs of one value, all metrics of a benchmark with equally many.
fn hyperfine_series(metrics: &'static [(&'static str, SeriesUnit)]) -> impl Strategy<Value = Vec<Series>> {
    let values = vec(vec(value(), metrics.len()), 1..6);
    vec((described("\\PC{1,12}"), 1..=metrics.len(), values), 1..5).prop_map(move |blocks| {
        let mut series = BTreeMap::new();
        for (described, kept, values) in blocks {
            for (at, (metric, unit)) in metrics.iter().enumerate().take(kept) {
                let whole =
                    |value: f64| if *metric == MAX_RSS { value.abs().min(1e15).trunc() } else { value };
                let runs = Runs::new(values.iter().map(|run| [whole(run[at])])).unwrap();
                series.insert(series_name(&described, metric), (unit.clone(), runs));
            }
        }
        // Another block of the same name may have had other runs.
        let mut counts: BTreeMap<SeriesName, usize> = BTreeMap::new();
        series.retain(|name, (_, runs)| {
            *counts.entry(name.with_metric(Name::new(WALL).unwrap())).or_insert(runs.count()) == runs.count()
        });
        series.into_iter().map(|(name, (unit, runs))| Series::new(name, unit, runs)).collect()
    })
}

static FIRST: [(&str, SeriesUnit); 2] = [(WALL, SeriesUnit::Seconds), (MAX_RSS, SeriesUnit::Bytes)];
static SECOND: [(&str, SeriesUnit); 6] = [
    (WALL, SeriesUnit::Seconds),
    (MAX_RSS, SeriesUnit::Bytes),
    (USER, SeriesUnit::Seconds),
    (SYSTEM, SeriesUnit::Seconds),
    ("instructions", SeriesUnit::Bare),
    ("throughput", SeriesUnit::BytesPerSecond),
];

const HEADER: Hyperfine2Header<'_> = Hyperfine2Header {
    writer: "speedup",
    start_time: Some("2026-01-01T00:00:00Z"),
    operating_system: Some("Linux"),
    architecture: None,
};

fn read_back(text: &str, format: Format) -> Imported {
    assert_eq!(detect(text.as_bytes()), Ok(format), "{text}");
    let imported = read(text.as_bytes(), format, &Options::default());
    imported.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #[test]
    fn go_text(series in go_series()) {
        let text = write_go(&series).unwrap();
        let back = read_back(&text, Format::Go);
        prop_assert!(back.warnings.is_empty());
        prop_assert_eq!(by_name(back.series), by_name(series));
    }

    #[test]
    fn hyperfine_1(series in hyperfine_series(&FIRST)) {
        let text = write_hyperfine_1(&series).unwrap();
        let back = read_back(&text, Format::Hyperfine1);
        prop_assert!(back.warnings.is_empty());
        prop_assert_eq!(by_name(back.series), by_name(series));
    }

    #[test]
    fn hyperfine_2(series in hyperfine_series(&SECOND)) {
        let text = write_hyperfine_2(&series, &HEADER).unwrap();
        let back = read_back(&text, Format::Hyperfine2);
        prop_assert!(back.warnings.is_empty());
        prop_assert_eq!(back.tool_version.as_ref().map(Name::as_str), Some("speedup"));
        prop_assert_eq!(by_name(back.series), by_name(series));
    }

    /// Whatever names come from other tools: the text is read back with as many series and the same values, or refused.
    #[test]
    fn go_text_holds_or_refuses_any_names(
        benchmark in ".{0,12}",
        version in proptest::option::of(".{0,6}"),
        key in ".{0,6}",
        metric in ".{0,6}",
        unit in prop_oneof![Just(SeriesUnit::Seconds), Just(SeriesUnit::Bytes), Just(SeriesUnit::Bare)],
        runs in runs(),
    ) {
        let described = (benchmark, version, BTreeMap::from([(key, "v".to_owned())]));
        let series = [Series::new(series_name(&described, &metric), unit, runs)];
        if let Ok(text) = write_go(&series) {
            let back = read_back(&text, Format::Go);
            prop_assert_eq!(back.series.len(), 1);
            prop_assert_eq!(&back.series[0].runs, &series[0].runs);
            prop_assert_eq!(&back.series[0].unit, &series[0].unit);
            prop_assert_eq!(&back.series[0].name.metric, &series[0].name.metric);
            prop_assert_eq!(&back.series[0].name.labels, &series[0].name.labels);
            prop_assert_eq!(&back.series[0].name.version, &series[0].name.version);
        }
    }
}

fn one(benchmark: &str, metric: &str, unit: SeriesUnit, groups: &[&[f64]]) -> Series {
    let name = series_name(&(benchmark.to_owned(), None, BTreeMap::new()), metric);
    Series::new(name, unit, Runs::new(groups).unwrap())
}

#[test]
fn go_text_looks_as_go_writes_it() {
    let mut series = one("Sort", WALL, SeriesUnit::Seconds, &[&[1.5, 2.5], &[3.5]]);
    series.name.version = Some(name("old"));
    let memory = Series {
        name: series.name.with_metric(name(MAX_RSS)),
        ..one("", "", SeriesUnit::Bytes, &[&[1024.0]])
    };
    let text = write_go(&[series, memory, one("a b", WALL, SeriesUnit::Seconds, &[&[1.0]])]).unwrap();
    let expected = "version: old\n\
                    BenchmarkSort\t1\t1.5 sec/op\t1024.0 max_rss-B\n\
                    BenchmarkSort\t1\t2.5 sec/op\n\
                    version:\n\
                    Benchmarka_b\t1\t1.0 sec/op\n\
                    PASS\n\
                    version: old\n\
                    BenchmarkSort\t1\t3.5 sec/op\n\
                    PASS\n";
    assert_eq!(text, expected);
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let twice =
        [one("a b", WALL, SeriesUnit::Seconds, &[&[1.0]]), one("a_b", WALL, SeriesUnit::Seconds, &[&[1.0]])];
    assert!(matches!(write_go(&twice), Err(WriteGoError::Repeated { .. })));
    for metric in ["a b", "", "x-sec", "ns", "sec/op", "a\u{7}"] {
        let series = [one("a", metric, SeriesUnit::Bare, &[&[1.0]])];
        assert!(matches!(write_go(&series), Err(WriteGoError::Metric { .. })), "{metric}");
    }
    for key in ["N", "two words", "version", "a:b", ""] {
        let mut series = one("a", WALL, SeriesUnit::Seconds, &[&[1.0]]);
        series.name.labels.insert(name(key), name("x"));
        assert!(matches!(write_go(&[series]), Err(WriteGoError::Label { .. })), "{key}");
    }
    let hierarchy = [one("a", WALL, SeriesUnit::Seconds, &[&[1.0, 2.0]])];
    let several = WriteHyperfineError::SeveralValuesInARun { series: Box::new(hierarchy[0].name.clone()) };
    assert_eq!(write_hyperfine_1(&hierarchy), Err(several.clone()));
    assert_eq!(write_hyperfine_2(&hierarchy, &HEADER), Err(several));
    let memory = one("a", MAX_RSS, SeriesUnit::Bytes, &[&[0.5]]);
    let wall = one("a", WALL, SeriesUnit::Seconds, &[&[1.0]]);
    assert!(matches!(
        write_hyperfine_1(&[wall.clone(), memory.clone()]),
        Err(WriteHyperfineError::NotWholeBytes { .. })
    ));
    assert!(write_hyperfine_2(&[wall.clone(), memory], &HEADER).is_ok());
    let faults = one("a", "faults", SeriesUnit::Bare, &[&[1.0]]);
    assert!(matches!(write_hyperfine_1(&[wall.clone(), faults]), Err(WriteHyperfineError::NoPlace { .. })));
    let uneven = one("a", USER, SeriesUnit::Seconds, &[&[1.0], &[2.0]]);
    assert!(matches!(
        write_hyperfine_2(&[wall.clone(), uneven], &HEADER),
        Err(WriteHyperfineError::UnevenRuns { .. })
    ));
    assert!(matches!(
        write_hyperfine_2(&[wall.clone(), wall], &HEADER),
        Err(WriteHyperfineError::Repeated { .. })
    ));
    let theirs = one("a", "time_wall_clock", SeriesUnit::Seconds, &[&[1.0]]);
    assert!(matches!(write_hyperfine_2(&[theirs], &HEADER), Err(WriteHyperfineError::NoPlace { .. })));
}

#[test]
fn hyperfine_files_are_written_with_the_summaries_that_hyperfine_computes() {
    for (file, format) in
        [("hyperfine-1.20.json", Format::Hyperfine1), ("hyperfine-2.0.json", Format::Hyperfine2)]
    {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
        let theirs = std::fs::read(path).unwrap();
        let series = read(&theirs, format, &Options::default()).unwrap().series;
        let ours = match format {
            Format::Hyperfine1 => write_hyperfine_1(&series).unwrap(),
            _ => write_hyperfine_2(&series, &HEADER).unwrap(),
        };
        let theirs: serde_json::Value = serde_json::from_slice(&theirs).unwrap();
        let ours: serde_json::Value = serde_json::from_str(&ours).unwrap();
        for (ours, theirs) in
            ours["results"].as_array().unwrap().iter().zip(theirs["results"].as_array().unwrap())
        {
            let pairs = match format {
                Format::Hyperfine1 => vec![(ours, theirs)],
                _ => {
                    let metrics = theirs["summary"].as_object().unwrap();
                    metrics.iter().map(|(metric, summary)| (&ours["summary"][metric], summary)).collect()
                }
            };
            for (ours, theirs) in pairs {
                for field in ["mean", "stddev", "median", "min", "max"] {
                    let (ours, theirs) = (ours[field].as_f64().unwrap(), theirs[field].as_f64().unwrap());
                    assert!((ours - theirs).abs() <= 1e-14 * theirs.abs(), "{field}: {ours} {theirs}");
                }
            }
        }
    }
}
