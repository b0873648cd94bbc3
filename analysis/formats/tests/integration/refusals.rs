//! Files that are damaged, ambiguous, hostile or of another kind: what is refused, where, and why.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use flate2::{Compression, write::GzEncoder};
use speedup_formats::*;
use std::io::Write;

fn refusal(bytes: &[u8], format: Format) -> ReadError {
    read(bytes, format, &Options::default()).unwrap_err()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn line(line: usize, column: usize) -> FilePlace {
    FilePlace::Line { line, column }
}

fn pointer(pointer: &str) -> FilePlace {
    FilePlace::Pointer { line: None, pointer: pointer.to_owned() }
}

fn number(text: &str, problem: NumberProblem) -> FileProblem {
    FileProblem::Number { text: name(text), problem }
}

fn values(text: &str, format: Format) -> Vec<Vec<f64>> {
    let it = read(text.as_bytes(), format, &Options::default()).unwrap();
    it.series[0].runs.iter().map(<[f64]>::to_vec).collect()
}

#[test]
fn plain_files_are_read_as_scan_reads_them() {
    let text = "\u{feff}1.5\r\n\r\n  2e3\t\n.5\n5.\n-0.25";
    assert_eq!(values(text, Format::Plain), [[1.5], [2000.0], [0.5], [5.0], [-0.25]]);
    let options = Options { path: Some("data/bench1.data.1"), ..Options::default() };
    let it = read(b"1\n2\n", Format::Plain, &options).unwrap();
    assert_eq!(it.series[0].name.to_string(), "bench1.data (wall)");
    assert_eq!(it.series[0].runs.one_value_each(), Some(&[1.0, 2.0][..]));
}

#[test]
fn plain_files_are_refused_where_a_number_is_none() {
    use NumberProblem::*;
    for (text, place, problem) in [
        ("1\n2\n# three\n", line(3, 1), number("#", NotANumber)),
        ("1\n  2,5\n", line(2, 3), number("2,5", NotANumber)),
        ("1\n0x10\n", line(2, 1), number("0x10", NotANumber)),
        ("1e400\n", line(1, 1), number("1e400", TooLarge)),
        ("1e-400\n", line(1, 1), number("1e-400", TooSmall)),
        ("1 2\n", line(1, 3), FileProblem::SecondNumber),
        ("\n \n", FilePlace::File, FileProblem::NoValues),
    ] {
        assert_eq!(
            refusal(text.as_bytes(), Format::Plain),
            ReadError { format: Format::Plain, place, problem }
        );
    }
}

#[test]
fn bytes_that_are_no_text_have_a_place() {
    let error = refusal(b"1\n2\xff\n", Format::Plain);
    assert_eq!((error.place, error.problem), (line(2, 2), FileProblem::NotUtf8));
}

#[test]
fn json_that_does_not_fit_has_a_place() {
    for (text, place, problem) in [
        (r#"{"results": 1}"#, pointer("/results"), "Expected"),
        (r#"{"result": []}"#, pointer(""), "Missing { field: \"results\""),
        (r#"{"results": []}"#, FilePlace::File, "NoValues"),
        (r#"{"results": [{"command": "a"}]}"#, pointer("/results/0"), "SummaryOnly"),
        (r#"{"results": [{"command": "a", "times": [1, "2"]}]}"#, pointer("/results/0/times/1"), "Expected"),
        (r#"{"results": [{"command": "a", "times": [1e999]}]}"#, pointer("/results/0/times/0"), "Number"),
        (
            r#"{"results": [{"command": "a", "times": [1], "memory_usage_byte": []}]}"#,
            pointer("/results/0/memory_usage_byte"),
            "LengthsDiffer { left: \"times\", left_length: 1",
        ),
        (r#"{"results": [{"command": "a", "times": [1]"#, line(1, 43), "Truncated"),
        ("{\"results\":\n [1,,]}", line(2, 5), "Unexpected"),
        (r#"{"a": 1, "b": 2, "a": 3}"#, line(1, 25), "DuplicateKey { key: Name(\"a\")"),
        (r#"{"a": 01}"#, line(1, 7), "Expected"),
        (r#"{"a": "\ud800"}"#, line(1, 14), "Expected"),
        (r#"{"a": "\ud83d\u1e99"}"#, line(1, 20), "Expected"),
        (r#"{} x"#, line(1, 4), "Unexpected"),
    ] {
        let error = refusal(text.as_bytes(), Format::Hyperfine1);
        assert_eq!(error.place, place, "{error}");
        assert!(format!("{:?}", error.problem).starts_with(problem), "{error:?}");
    }
}

#[test]
fn escaped_characters_are_read() {
    let text = r#"{"results": [{"command": "\"\\\/\u00b5\ud83d\ude00", "times": [1]}]}"#;
    let it = read(text.as_bytes(), Format::Hyperfine1, &Options::default()).unwrap();
    assert_eq!(it.series[0].name.benchmark.as_str(), "\"\\/µ😀");
}

#[test]
fn nesting_is_bounded() {
    let deep = "[".repeat(1 << 20);
    assert_eq!(refusal(deep.as_bytes(), Format::CriterionSample).problem, FileProblem::TooDeep);
}

#[test]
fn numbers_of_nodes_values_and_labels_are_bounded() {
    let many = format!("[{}0]", "0,".repeat(bounds::MAX_JSON_NODES));
    assert_eq!(refusal(many.as_bytes(), Format::CriterionSample).problem, FileProblem::TooManyNodes);
    let many = "1\n".repeat(bounds::MAX_VALUES + 1);
    let error = refusal(many.as_bytes(), Format::Plain);
    assert_eq!((error.place, error.problem), (line(4_000_001, 1), FileProblem::TooManyValues));
    let keys: String = (0..=bounds::MAX_LABELS).map(|key| format!("k{key}: 1\n")).collect();
    let error = refusal(format!("{keys}BenchmarkX 1 1 ns/op\n").as_bytes(), Format::Go);
    assert_eq!((error.place, error.problem), (line(65, 1), FileProblem::TooManyLabels));
    let series: String =
        (0..=bounds::MAX_SERIES).map(|number| format!("BenchmarkX{number} 1 1 ns/op\n")).collect();
    assert_eq!(refusal(series.as_bytes(), Format::Go).problem, FileProblem::TooManySeries);
}

#[test]
fn files_and_what_they_unpack_to_are_bounded() {
    let too_much = vec![b' '; bounds::MAX_FILE_BYTES + 1];
    for format in Format::ALL {
        let error = read(&too_much, format, &Options::default()).unwrap_err();
        assert_eq!(error.problem, FileProblem::TooManyBytes);
    }
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&too_much).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 20, "the bomb is small: {} bytes", bomb.len());
    let error = read(&bomb, Format::Pyperf, &Options::default()).unwrap_err();
    assert_eq!(error.problem, FileProblem::TooManyBytes);
    let error = read(&bomb[..bomb.len() / 8], Format::Pyperf, &Options::default()).unwrap_err();
    assert_eq!(error.problem, FileProblem::DamagedGzip);
}

#[test]
fn names_are_bounded_and_shown_without_control_characters() {
    let long = "x".repeat(bounds::MAX_NAME_BYTES + 1);
    let text = format!(r#"{{"results": [{{"command": "{long}", "times": [1]}}]}}"#);
    let error = refusal(text.as_bytes(), Format::Hyperfine1);
    assert_eq!(error.place, pointer("/results/0/command"));
    assert!(
        matches!(error.problem, FileProblem::Name(long) if long.bytes == bounds::MAX_NAME_BYTES + 1),
        "{error}"
    );

    let hostile = r#"{"results": [{"command": "<script>\u001b[2J\u202e\n", "times": [1]}]}"#;
    let it = read(hostile.as_bytes(), Format::Hyperfine1, &Options::default()).unwrap();
    let name = &it.series[0].name.benchmark;
    assert_eq!(name.as_str(), "<script>\u{1b}[2J\u{202e}\n", "kept as it is");
    assert_eq!(name.to_string(), "<script>\\u{1b}[2J\\u{202e}\\n");

    for (text, format) in [
        ("{\"\\u001b[31m\": [], \"\\u001b[31m\": 1}", Format::Hyperfine1),
        ("\u{1b}]0;x\n", Format::Plain),
        ("{\u{1b}", Format::Hyperfine1),
    ] {
        let said = refusal(text.as_bytes(), format).to_string();
        assert!(!said.contains('\u{1b}') && said.contains("\\u{1b}"), "{said}");
    }
}

#[test]
fn versions_that_are_not_known_are_refused() {
    for (text, format, key, version, known) in [
        (r#"{"schema_version": 3, "results": []}"#, Format::Hyperfine2, "/schema_version", "3", "2"),
        (r#"{"version": "2.0", "benchmarks": []}"#, Format::Pyperf, "/version", "2.0", "1.0"),
    ] {
        let problem = FileProblem::UnknownVersion { version: name(version), known };
        assert_eq!(refusal(text.as_bytes(), format), ReadError { format, place: pointer(key), problem });
    }
}

#[test]
fn tables_are_read_by_their_columns() {
    let text =
        "run,benchmark,version,value,unit,note\n1,a,old,1.5,ms,x\n1,a,old,2.5,ms,\n2,a,old,3,ms,\"y, z\"\n";
    assert_eq!(detect(text.as_bytes()), Ok(Format::Csv));
    assert_eq!(values(text, Format::Csv), [vec![1.5e-3, 2.5e-3], vec![3e-3]]);
    let columns = Columns { values: vec!["wall_s", "rss"], ..Columns::default() };
    let options = Options { columns, ..Options::default() };
    let it = read(b"benchmark,wall_s,rss\na,1,2\na,3,4\n", Format::Csv, &options).unwrap();
    assert_eq!(it.series.len(), 2);
    assert_eq!(it.series[1].name.to_string(), "a (rss)");
    assert_eq!(it.series[1].runs.one_value_each(), Some(&[2.0, 4.0][..]));
}

/// What people write: other separators, decimal commas, comments above the header, and the unit in the name of the only column
/// that holds numbers.
#[test]
fn tables_of_spreadsheets_are_read() {
    for text in [
        "version,run,seconds\na,1,0.25\na,2,0.5\n",
        "# machine 1\n# \"note, x\n\nversion;run;time_s\na;1;0,25\na;2;0,5\n",
        "version\trun\twall [ms]\na\t1\t250\na\t2\t5,0e2\n",
        "host;benchmark;time (ms)\nn1;\"x; y\";250,0\nn2;\"x; y\";500\n",
    ] {
        assert_eq!(detect(text.as_bytes()), Ok(Format::Csv), "{text}");
        assert_eq!(values(text, Format::Csv), [[0.25], [0.5]], "{text}");
        let it = read(text.as_bytes(), Format::Csv, &Options::default()).unwrap();
        assert_eq!((it.series[0].name.metric.as_str(), &it.series[0].unit), (WALL, &SeriesUnit::Seconds));
    }
    let it = read(b"run,rss_bytes\n1,5\n", Format::Csv, &Options::default()).unwrap();
    assert_eq!((it.series[0].name.metric.as_str(), &it.series[0].unit), ("rss_bytes", &SeriesUnit::Bytes));
}

/// What connects runs is the run where it is asked for: the coarsest column that makes several units of some cell.
#[test]
fn runs_that_something_connects_are_one() {
    let of = |text: &str, format| {
        let columns = Columns { units: UNITS, ..Columns::default() };
        let options = Options { columns, ignored_labels: vec!["note"], ..Options::default() };
        let it = read(text.as_bytes(), format, &options).unwrap();
        let told: Vec<String> = it.warnings.iter().map(ToString::to_string).collect();
        let runs = it.series.iter().map(|one| one.runs.iter().map(<[f64]>::to_vec).collect()).collect();
        (runs, told)
    };
    let check = |text: &str, expected: &[Vec<Vec<f64>>], column: Option<&str>| {
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let object = |row: Vec<&str>| {
            let field = |(name, word): (&&str, &str)| match (*name, word) {
                (_, "") => format!("\"{name}\": null"),
                ("value", word) => format!("\"{name}\": {word}"),
                (_, word) => format!("\"{name}\": \"{word}\""),
            };
            let fields: Vec<String> = header.iter().zip(row).map(field).collect();
            format!("{{{}}}\n", fields.join(", "))
        };
        let lines: String = rows.map(object).collect();
        for (runs, told) in [of(text, Format::Csv), of(&lines, Format::JsonLines)] {
            let runs: Vec<Vec<Vec<f64>>> = runs;
            assert_eq!(runs, expected, "{text}");
            assert_eq!(told.len(), usize::from(column.is_some()), "{told:?}");
            assert!(told.iter().all(|one| one.contains(&format!("`{}`", column.unwrap()))), "{told:?}");
        }
    };
    let hosts = "version,host,run,value\na,n1,1,1\na,n2,2,2\na,n1,3,3\nb,n3,4,4\n";
    check(hosts, &[vec![vec![1.0, 3.0], vec![2.0]], vec![vec![4.0]]], Some("host"));
    // Builds are coarser, but one of each version connects nothing that could be compared.
    let one_build = "version,build,host,value\na,x,n1,1\na,x,n1,2\na,x,n2,3\nb,y,n3,4\n";
    check(one_build, &[vec![vec![1.0, 2.0], vec![3.0]], vec![vec![4.0]]], Some("host"));
    let builds = "version,build,host,value\na,x,n1,1\na,x,n2,2\na,z,n1,3\na,,n1,4\n";
    check(builds, &[vec![vec![1.0, 2.0], vec![3.0], vec![4.0]]], Some("build"));
    let fresh = "host,block,value\nn1,1,1\nn2,1,2\nn3,2,3\n";
    check(fresh, &[vec![vec![1.0, 2.0], vec![3.0]]], Some("block"));
    for alone in ["host,value\nn1,1\nn1,2\n", "host,value\nn1,1\nn2,2\n", "value,note\n1,x\n2,y\n"] {
        check(alone, &[vec![vec![1.0], vec![2.0]]], None);
    }
}

/// Blocks that hold runs of two versions are pairs, whether or not they group those of one.
#[test]
fn blocks_that_versions_share_stay_with_the_runs() {
    type Read = (Vec<Vec<Vec<f64>>>, Vec<Vec<Option<String>>>, Vec<ImportWarning>);
    let of = |text: &str| -> Read {
        let columns = Columns { units: UNITS, ..Columns::default() };
        let it = read(text.as_bytes(), Format::Csv, &Options { columns, ..Options::default() }).unwrap();
        let runs = it.series.iter().map(|one| one.runs.iter().map(<[f64]>::to_vec).collect());
        let word = |block: &Option<speedup_formats::Name>| block.as_ref().map(ToString::to_string);
        let blocks = it.series.iter().map(|one| one.runs.blocks().iter().map(word).collect());
        (runs.collect(), blocks.collect(), it.warnings)
    };
    let words = |words: &[&str]| -> Vec<Option<String>> {
        words.iter().map(|word| Some((*word).to_owned()).filter(|word| !word.is_empty())).collect()
    };
    let (runs, blocks, told) = of("version,block,value\na,1,10\nb,1,8\na,2,12\nb,2,9\nb,,7\na,3,11\n");
    assert_eq!(runs, [[[10.0], [12.0], [11.0]], [[8.0], [9.0], [7.0]]]);
    assert_eq!(blocks, [words(&["1", "2", "3"]), words(&["1", "2", ""])]);
    assert_eq!(told, [ImportCode::BlocksPair.into()]);
    let (runs, blocks, _) = of("version,block,value\na,x,1\nb,y,2\na,x,3\nb,x,1\n");
    assert_eq!(runs, [vec![vec![1.0, 3.0]], vec![vec![2.0], vec![1.0]]]);
    assert_eq!(blocks, [words(&["x"]), words(&["y", "x"])]);
    let unpaired = [
        // Of other benchmarks; of one version each; all of one block; runs that hosts connect.
        ("benchmark,version,block,value\nsort,a,1,1\nsort,a,2,1\ngzip,b,1,2\n", ImportCode::BlocksUnused),
        ("version,block,value\na,1,1\na,1,2\na,2,2\nb,3,1\nb,4,2\n", ImportCode::BlocksGroup),
        ("version,block,value\na,1,1\na,1,2\nb,1,1\n", ImportCode::BlocksUnused),
        ("version,host,block,value\na,n1,1,1\na,n1,2,2\na,n2,3,2\nb,n1,1,3\n", ImportCode::BlocksUnused),
    ];
    for (text, code) in unpaired {
        let (_, blocks, told) = of(text);
        assert!(blocks.iter().all(Vec::is_empty), "{text}: {blocks:?}");
        assert_eq!(told.last(), Some(&code.into()), "{text}");
    }
}

#[test]
fn tables_are_refused_where_they_do_not_fit() {
    let no_column = FileProblem::NoColumn { column: name("value") };
    for (text, place, problem) in [
        ("benchmark,time\na,x\n", line(1, 1), no_column.clone()),
        ("# note\n# x\nbenchmark,time\na,x\n", line(3, 1), no_column.clone()),
        (
            "benchmark;time;size\na;1;2\n",
            line(1, 1),
            FileProblem::SeveralColumns { first: name("time"), second: name("size") },
        ),
        ("benchmark,value\na,\"1,5\"\n", line(2, 2), number("1,5", NumberProblem::OtherMark)),
        ("benchmark;value\na;999,5\na;1.234\n", line(3, 2), number("1.234", NumberProblem::OtherMark)),
        ("benchmark;value\na;1.234,5\n", line(2, 2), number("1.234,5", NumberProblem::NotANumber)),
        ("value,value\n1,2\n", line(1, 1), no_column),
        ("benchmark,value\na,1\na\n", line(3, 1), FileProblem::RowLength { fields: 1, header: 2 }),
        ("benchmark,value\na,1\na,fast\n", line(3, 2), number("fast", NumberProblem::NotANumber)),
        (
            "benchmark,value,unit\na,1,s\na,2,B\n",
            line(3, 2),
            FileProblem::UnitChanged { series: name("a (wall)"), before: name("s"), now: name("B") },
        ),
        ("", FilePlace::File, FileProblem::NoValues),
    ] {
        assert_eq!(refusal(text.as_bytes(), Format::Csv), ReadError { format: Format::Csv, place, problem });
    }
}

#[test]
fn json_lines_are_read_as_tables() {
    let text = "{\"benchmark\": \"a\", \"value\": 250, \"unit\": \"ns\"}\n\n{\"benchmark\": \"a\", \"value\": 300, \"unit\": \"ns\"}\n";
    assert_eq!(detect(text.as_bytes()), Ok(Format::JsonLines));
    assert_eq!(values(text, Format::JsonLines), [[250e-9], [300e-9]]);
    let error = refusal(b"{\"value\": 1}\n{\"value\": \"1\"}\n", Format::JsonLines);
    assert_eq!(error.place, FilePlace::Pointer { line: Some(2), pointer: "/value".to_owned() });
    assert!(matches!(error.problem, FileProblem::Expected { .. }), "{error}");
    let error = refusal(b"{\"value\": 1}\n{\"value\": }\n", Format::JsonLines);
    assert_eq!(error.place, line(2, 11));
    assert!(matches!(error.problem, FileProblem::Unexpected { found: '}', .. }), "{error}");
}

#[test]
fn go_text_is_refused_inside_results_only() {
    let talk = "Benchmarking started\nBenchmarkOnly\nnoise 1 2\nUnit ns/op better=lower\n";
    let text = format!("{talk}BenchmarkX-8 100 5 ns/op\n");
    assert_eq!(detect(text.as_bytes()), Ok(Format::Go));
    assert_eq!(values(&text, Format::Go), [[5e-9]]);
    for (text, column) in [("BenchmarkX 10", 14), ("BenchmarkX 10 5", 15)] {
        let error = refusal(text.as_bytes(), Format::Go);
        assert_eq!(error.place, line(1, column));
        assert!(matches!(error.problem, FileProblem::Truncated { .. }), "{error}");
    }
    let error = refusal(b"BenchmarkX 10 5ms x", Format::Go);
    assert_eq!(error.place, line(1, 15));
    assert_eq!(error.problem, number("5ms", NumberProblem::NotANumber));
}

#[test]
fn what_has_no_values_is_no_result() {
    let text = r#"{"results": [{"command": "a", "times": []}]}"#;
    let error = refusal(text.as_bytes(), Format::Hyperfine1);
    assert_eq!((error.place, error.problem), (pointer("/results/0/times"), FileProblem::NoValues));
    let text = r#"{"version": "1.0", "benchmarks": [{"metadata": {"name": "a"}, "runs": [{"warmups": [[1, 2.0]]}]}]}"#;
    let it = read(text.as_bytes(), Format::Pyperf, &Options::default()).unwrap();
    assert_eq!(it.failures.len(), 1);
    assert_eq!(it.failures[0].message.as_ref().unwrap().as_str(), "no run has values");
}

#[test]
fn a_long_line_takes_no_longer_than_a_long_file() {
    let line = format!("BenchmarkX 1{}\n", " 1 ns/op".repeat(1 << 20));
    let it = read(line.as_bytes(), Format::Go, &Options::default()).unwrap();
    assert_eq!(it.series[0].runs.values().len(), 1 << 20);
    let header = ",".repeat(bounds::MAX_COLUMNS);
    assert_eq!(refusal(header.as_bytes(), Format::Csv).problem, FileProblem::TooManyColumns);
}

#[test]
fn the_same_command_twice_stays_two_series() {
    let text = r#"{"results": [{"command": "a", "times": [1]}, {"command": "a", "times": [2]}]}"#;
    let it = read(text.as_bytes(), Format::Hyperfine1, &Options::default()).unwrap();
    let names: Vec<_> = it.series.iter().map(|one| one.name.to_string()).collect();
    assert_eq!(names, ["a (wall)", "a, occurrence 2 (wall)"]);
    assert_eq!(it.warnings.len(), 1);
}

#[test]
fn a_data_point_is_there_once() {
    let header = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\n";
    let row = "1\t1\t2.000000\tms\ttotal\ta\n";
    let error = refusal(format!("{header}{row}{row}").as_bytes(), Format::ReBench);
    let series = name("a (wall)");
    let problem = FileProblem::RepeatedDataPoint { run: 1, iteration: 1, series };
    assert_eq!((error.place, error.problem), (line(3, 1), problem));
}

#[test]
fn contents_of_no_tool_are_not_detected() {
    let json = [
        "{}",
        "[1, 2]",
        r#"{"results": []}"#,
        r#"{"results": [{"name": "a", "value": 1}]}"#,
        r#"{"benchmarks": [], "version": "1.0"}"#,
        r#"{"benchmarks": ["scrabble"], "version": 1}"#,
        r#"{"context": {}, "data": []}"#,
        r#"{"schema_version": 2}"#,
        r#"{"commit_hash": "a"}"#,
        r#"[{"name": "a", "value": 1}]"#,
        r#"{"a": {"b": {"c": {"value": 1}}}}"#,
        r#"{"times": [1, 2]}"#,
        r#"["results", "benchmarks", "context"]"#,
    ];
    for text in ["", "hello", "<html>", "a,b\n1,2\n", "\0\0\0", "name,value\na,b\n", "#!/bin/sh\n"]
        .into_iter()
        .chain(json)
    {
        assert_eq!(detect(text.as_bytes()), Err(DetectError::Unknown), "{text:?}");
    }
}

/// What several tools call alike is told by what lies in it.
#[test]
fn keys_of_several_tools_are_told_apart() {
    for (text, format) in [
        (
            r#"{"results": [{"name": "x", "measurements": [{"iterations": 10, "elapsed": 2.5e-7}]}]}"#,
            Format::Nanobench,
        ),
        (r#"{"results": [{"command": "x", "mean": 1, "times": [1]}]}"#, Format::Hyperfine1),
        (
            r#"{"benchmarks": ["a"], "format_version": 6, "data": {"a": {"results": []}}}"#,
            Format::Renaissance,
        ),
        (
            r#"{"benchmarks": [{"name": "a", "states": [{"summaries": [], "is_skipped": false}]}]}"#,
            Format::NvBench,
        ),
        (r#"{"benchmarks": [{"name": "a", "real_time": 1}]}"#, Format::GoogleBenchmark),
        (r#"{"benchmarks": [{"runs": []}], "version": "1.0"}"#, Format::Pyperf),
        (r#"{"value": 1, "extra": {"a": {"value": 2}}}"#, Format::JsonLines),
        (r#"{"a": {"b": {"value": 2}}}"#, Format::Bencher),
    ] {
        assert_eq!(detect(text.as_bytes()), Ok(format), "{text}");
    }
}

#[test]
fn one_rule_for_marks_line_ends_colors_and_numbers_that_are_not_finite() {
    let files = [
        (Format::Plain, "1\nVALUE\n3\n"),
        (Format::Csv, "value\n1\nVALUE\n3\n"),
        (Format::JsonLines, "{\"value\": 1}\n{\"value\": VALUE}\n{\"value\": 3}\n"),
        (Format::Go, "BenchmarkA 1 1 sec/op\nBenchmarkA 1 VALUE sec/op\nBenchmarkA 1 3 sec/op\n"),
        (Format::Hyperfine1, "{\"results\": [{\"command\": \"a\",\n \"times\": [1, VALUE, 3]}]}"),
        (
            Format::PytestBenchmark,
            "{\"machine_info\": {\"cpu\": []}, \"benchmarks\": [\n{\"name\": \"a\", \"stats\": {\"data\": [1, VALUE, 3]}}]}",
        ),
    ];
    for (format, text) in files {
        for value in ["NaN", "-Infinity", "inf"] {
            let is_json = text.contains('{');
            let value = if is_json { format!("\"{value}\"") } else { value.to_owned() };
            let text = text.replace("VALUE", &value).replace('\n', "\r\n");
            let colored =
                if is_json { text.clone() } else { text.replacen('1', "\u{1b}[1;32m1\u{1b}[0m", 1) };
            let marked = format!("\u{feff}{colored}");
            let it = read(marked.as_bytes(), format, &Options::default()).unwrap();
            let values: Vec<f64> = it.series.iter().flat_map(|one| one.runs.values().to_vec()).collect();
            assert_eq!(values, [1.0, 3.0], "{format}: {marked}");
            let [warning] = &it.warnings[..] else { panic!("{format}: {:?}", it.warnings) };
            assert_eq!((warning.code, warning.count), (ImportCode::NotFinite, 1), "{format}");
        }
    }
}

/// The results that are missing, each with its kind.
fn missing(text: &str, format: Format) -> Vec<(String, MissingKind)> {
    let it = read(text.as_bytes(), format, &Options::default()).unwrap();
    it.failures.into_iter().map(|one| (one.benchmark.to_string(), one.kind)).collect()
}

#[test]
fn go_results_whose_lines_were_split_are_joined_or_missing() {
    let unreadable = |name: &str| (name.to_owned(), MissingKind::Unreadable);
    let joined = "BenchmarkA-8   \thello\nworld\n   10\t 5 ns/op\nBenchmarkB-8\t 10\t 7 ns/op\nPASS\n";
    assert_eq!(missing(joined, Format::Go), []);
    let it = read(joined.as_bytes(), Format::Go, &Options::default()).unwrap();
    assert_eq!(it.series.iter().map(|one| one.name.benchmark.as_str()).collect::<Vec<_>>(), ["A-8", "B-8"]);
    for split in [
        "BenchmarkA-8\thello\nBenchmarkB-8 10 7 ns/op\nPASS\n",
        "BenchmarkB-8 1 7 ns/op\nBenchmarkA-8\tx\nPASS\n",
    ] {
        assert_eq!(missing(split, Format::Go), [unreadable("A-8")], "{split}");
    }
    // Names without a tab are what `-v` prints; talk is no benchmark.
    let talk = "BenchmarkA\nBenchmarkA-8 10 5 ns/op\nBenchmarking\tall\nBenchmark\t\nPASS\n";
    assert_eq!(missing(talk, Format::Go), []);
    let failed =
        "pkg: p\nBenchmarkA-8 10 5 ns/op\nBenchmarkB-8 \t--- FAIL: BenchmarkB\n--- FAIL: BenchmarkB\nFAIL\n";
    assert_eq!(missing(failed, Format::Go), [("B-8, pkg p".to_owned(), MissingKind::Failed)]);
}

#[test]
fn google_benchmarks_split_lines_are_missing_and_old_aggregates_no_benchmarks() {
    let console = "Benchmark       Time             CPU   Iterations\n\
                   --------------------------------------------------\n\
                   BM_a          10 ns           10 ns         1000\n\
                   said without an end of line BM_b   9 ns   9 ns   1000\n";
    let name = ("BM_b".to_owned(), MissingKind::Unreadable);
    assert_eq!(missing(console, Format::GoogleBenchmarkConsole), [name]);
    let entry =
        |name: &str| format!(r#"{{"name": "{name}", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}}"#);
    let names = ["BM_a_b", "BM_a_b", "BM_a_b_mean", "BM_a_b_median", "BM_a_b_stddev", "BM_a_b_p99", "BM_a_c"];
    let entries: Vec<String> = names.map(entry).to_vec();
    let text = format!(r#"{{"context": {{}}, "benchmarks": [{}]}}"#, entries.join(","));
    let it = read(text.as_bytes(), Format::GoogleBenchmark, &Options::default()).unwrap();
    let walls = it.series.iter().filter(|one| one.name.metric.as_str() == WALL);
    let found: Vec<(&str, usize)> =
        walls.map(|one| (one.name.benchmark.as_str(), one.runs.values().len())).collect();
    assert_eq!(found, [("BM_a_b", 2), ("BM_a_c", 1)]);
}

#[test]
fn direction_is_the_files_or_the_units() {
    let better = |text: &str, format| {
        let it = read(text.as_bytes(), format, &Options::default()).unwrap();
        it.series.iter().map(|one| one.better).collect::<Vec<_>>()
    };
    let go = "Unit widgets better=higher\nUnit x/op better=lower\nBenchmarkA 1 5 ns/op 3 MB/s 7 req/s 2 widgets 4 x/op 1 y/op\n";
    let [lower, higher] = [Some(BetterWhen::Lower), Some(BetterWhen::Higher)];
    assert_eq!(better(go, Format::Go), [lower, higher, higher, higher, lower, None]);
    let csv = "metric,unit,value,better\nwall,ms,1,\nbandwidth,GiB/s,1,\nitems_per_second,,1,\nscore,,1,higher\nscore2,,1,\n";
    assert_eq!(better(csv, Format::Csv), [lower, higher, higher, higher, None]);
}

#[test]
fn words_that_may_be_benchmarks_and_columns_that_are_not_there_are_refused() {
    let read_with = |text: &str, format, columns: Columns<'_>, ignored: &[&str]| {
        let options = Options { columns, ignored_labels: ignored.to_vec(), ..Options::default() };
        read(text.as_bytes(), format, &options).map_err(|error| error.problem)
    };
    let csv = "name,seconds\nfast,1\nslow,100\n";
    let lines = "{\"name\": \"fast\", \"value\": 1}\n{\"name\": \"slow\", \"value\": 100}\n";
    for (text, format) in [(csv, Format::Csv), (lines, Format::JsonLines)] {
        let unused = FileProblem::UnusedColumn { column: name("name") };
        assert_eq!(read_with(text, format, Columns::default(), &[]).unwrap_err(), unused);
        let it = read_with(text, format, Columns { benchmark: "name", ..Columns::default() }, &[]).unwrap();
        assert_eq!(it.series.len(), 2);
        assert_eq!(read_with(text, format, Columns::default(), &["name"]).unwrap().series.len(), 1);
        for columns in [
            Columns { benchmark: "title", ..Columns::default() },
            Columns { version: "build", ..Columns::default() },
            Columns { run: "nope", ..Columns::default() },
        ] {
            let problem = read_with(text, format, columns, &["name"]).unwrap_err();
            assert!(matches!(problem, FileProblem::NoColumn { .. }), "{problem}");
        }
    }
    // Dates and one word all through name no benchmark.
    let dated = "when,machine,value\n2026-11-01,big,1\n2026-11-02,big,2\n";
    assert_eq!(values(dated, Format::Csv), [[1.0], [2.0]]);
}

#[test]
fn cells_that_stand_for_no_value_and_for_failures_are_told() {
    let csv = "benchmark,value\n\na,1\na,N/A\na,-\na,\na,timeout\na,FAILED\na,2\n";
    let json = "{\"benchmark\": \"a\", \"value\": 1}\n{\"benchmark\": \"a\", \"value\": null}\n\
                {\"benchmark\": \"a\", \"value\": \"timeout\"}\n{\"benchmark\": \"a\", \"value\": 2}\n";
    for (text, format, absent, failed) in [(csv, Format::Csv, 3, 2), (json, Format::JsonLines, 1, 1)] {
        assert_eq!(values(text, format), [[1.0], [2.0]], "{format}");
        let it = read(text.as_bytes(), format, &Options::default()).unwrap();
        assert_eq!((it.warnings[0].code, it.warnings[0].count), (ImportCode::NotFinite, absent), "{format}");
        let kind = MissingKind::FailedRuns { failed, runs: failed + 2 };
        assert_eq!(missing(text, format), [("a".to_owned(), kind)]);
    }
    // The line is that of the value, whatever is blank before it.
    let error = refusal(b"benchmark,value\na,1\n\n\r\n\na,fast\n", Format::Csv);
    assert_eq!(error.place, line(6, 2));
    let utf16 = [b"\xff\xfe".as_slice(), b"1\0\n\0"].concat();
    assert_eq!(refusal(&utf16, detect(&utf16).unwrap()).problem, FileProblem::NotUtf8);
}

#[test]
fn rates_in_the_names_of_columns_are_rates() {
    let higher = Some(BetterWhen::Higher);
    for (column, unit) in [
        ("items_per_second", ""),
        ("ops_per_s", ""),
        ("GB_per_s", ""),
        ("qps", "qps"),
        ("throughput (MB/s)", "MB/s"),
        ("bandwidth [GB/s]", "GB/s"),
    ] {
        let text = format!("benchmark,{column}\na,1\n");
        let it = read(text.as_bytes(), Format::Csv, &Options::default()).unwrap();
        assert_eq!((it.series[0].better, it.series[0].unit.to_string().as_str()), (higher, unit), "{column}");
    }
}

#[test]
fn go_failures_are_of_the_package_that_ends() {
    let failed = |name: &str| (name.to_owned(), MissingKind::Failed);
    let first =
        "--- FAIL: BenchmarkD\npkg: q/p\nBenchmarkE-2 1 5 ns/op\nFAIL\nexit status 1\nFAIL\tq/p\t0.1s\n";
    assert_eq!(missing(first, Format::Go), [failed("D-2, pkg q/p")]);
    let second = "pkg: q/a\nBenchmarkE-2 1 5 ns/op\nPASS\nok  \tq/a\t1s\n--- FAIL: BenchmarkD\nFAIL\nFAIL\tq/b\t0.1s\n";
    assert_eq!(missing(second, Format::Go), [failed("D-2, pkg q/b"), failed("pkg q/b")]);
    let built = "pkg: q/a\nBenchmarkE-2 1 5 ns/op\nPASS\nok  \tq/a\t1s\nFAIL\tq/b [build failed]\n";
    assert_eq!(missing(built, Format::Go), [failed("pkg q/b")]);
    let panicked = "pkg: q/a\nBenchmarkE-2 1 5 ns/op\nwarning: slow disk\nBenchmarkC-2 \tpanic: boom\n\
                    goroutine 1 [running]:\nexit status 2\nFAIL\tq/a\t0.1s\npkg: q/b\nBenchmarkF-2 1 5 ns/op\nPASS\n";
    assert_eq!(missing(panicked, Format::Go), [failed("C-2, pkg q/a"), failed("pkg q/a")]);
    let traced = "pkg: q/a\nBenchmarkE-2 1 5 ns/op\npanic: boom\n\ngoroutine 12 [running]:\n\
                  q/a.BenchmarkD(0xc0000aa6c0)\n\t/a_test.go:4 +0x67\nexit status 2\nFAIL\tq/a\t0.1s\n";
    assert_eq!(missing(traced, Format::Go), [failed("D-2, pkg q/a"), failed("pkg q/a")]);
    let it = read(panicked.as_bytes(), Format::Go, &Options::default()).unwrap();
    assert_eq!(it.series[1].name.to_string(), "F-2, pkg q/b (wall)");
}

#[test]
fn a_unit_behind_a_slash_is_no_rate() {
    for (column, unit, better) in [
        ("time/ms", "s", BetterWhen::Lower),
        ("latency/min", "", BetterWhen::Lower),
        ("ops/ms", "ops/ms", BetterWhen::Higher),
    ] {
        let text = format!("benchmark,{column}\na,5\n");
        let it = read(text.as_bytes(), Format::Csv, &Options::default()).unwrap();
        let series = &it.series[0];
        let expected = if unit == "s" || better == BetterWhen::Higher { Some(better) } else { None };
        assert_eq!((series.unit.to_string().as_str(), series.better), (unit, expected), "{column}");
    }
}

#[test]
fn what_a_tool_did_not_end_is_missing_and_what_it_says_besides_is_no_value() {
    let criterion = "Benchmarking first: Warming up\nfirst   time:   [1.0 ns 2.0 ns 3.0 ns]\nBenchmarking second: Warming up\n\
                     run_time:parse   time:   [4.0 ns 5.0 ns 6.0 ns]\nBenchmarking third: Warming up\n";
    let it = read(criterion.as_bytes(), Format::CargoBench, &Options::default()).unwrap();
    let names: Vec<&str> = it.series.iter().map(|one| one.name.benchmark.as_str()).collect();
    assert_eq!(names, ["first", "run_time:parse"]);
    assert_eq!(missing(criterion, Format::CargoBench), [("third".to_owned(), MissingKind::Failed)]);
    let serve = r#"{"backend": "vllm", "model_id": "m", "num_prompts": 2, "request_throughput": 5.0, "latencies": [1.5, 0.0], "mean_ttft_ms": 3.0}"#;
    let it = read(serve.as_bytes(), Format::Vllm, &Options::default()).unwrap();
    assert!(it.series.iter().all(|one| one.name.metric.as_str() != WALL));
    let failed = serve.replace("\"mean_ttft_ms\"", "\"failed\": 3, \"mean_ttft_ms\"");
    assert_eq!(missing(&failed, Format::Vllm), [("vllm".to_owned(), MissingKind::Failed)]);
    let put = |synchronization: &str, time: &str| {
        format!(
            "# OSU MPI_Put Latency Test v5.3\n# Window creation: MPI_Win_create\n# Synchronization: {synchronization}\n\
                 # Size          Latency (us)\n1   {time}\n"
        )
    };
    let both = put("MPI_Win_flush", "0.25") + &put("MPI_Win_fence", "9.25");
    let it = read(both.as_bytes(), Format::Osu, &Options::default()).unwrap();
    assert_eq!(it.series.len(), 2);
    let go = "BenchmarkA-8 \trecovered panic: x\n   1000\t 5 ns/op\nPASS\n";
    assert_eq!(missing(go, Format::Go), []);
    let osu = b"[node01:12345] mca_base: said\n# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n1                       0.95\n";
    assert_eq!(detect(osu), Ok(Format::Osu));
}

#[test]
fn long_names_of_many_series_and_many_names_are_bounded() {
    let long = "x".repeat(100_000);
    let mut text = format!("pkg: {long}\n");
    for at in 0..20_000 {
        text.push_str(&format!("Benchmark{at} 1 1 ns/op\n"));
    }
    assert_eq!(refusal(text.as_bytes(), Format::Go).problem, FileProblem::TooManySeries);
    let mut csv = "name,iterations,real_time,cpu_time,time_unit\nx,1,1,1,ns\nx_mean,1,1,1,ns\n".to_owned();
    for at in 0..30_000 {
        csv.push_str(&format!("x_{at},1,1,1,ns\n"));
    }
    assert_eq!(values(&csv, Format::GoogleBenchmarkCsv), [[1e-9]]);
}
