//! Files that are damaged, ambiguous, hostile or of another kind: what is refused, where, and in which words.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use flate2::Compression;
use flate2::write::GzEncoder;
use speedup_formats::*;
use std::io::Write;

fn refusal(bytes: &[u8], format: Format) -> String {
    read(bytes, format, &Options::default()).unwrap_err().to_string()
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
    for (text, position) in [
        ("1\n2\n# three\n", "line 3, column 1: # is not a decimal number"),
        ("1\n  2,5\n", "line 2, column 3: 2,5 is not a decimal number"),
        ("1\n0x10\n", "line 2, column 1: 0x10 is not a decimal number"),
        ("1\nNA\n", "line 2, column 1: NA is not a finite number"),
        ("-inf\n", "line 1, column 1: -inf is not a finite number"),
        ("1e400\n", "line 1, column 1: 1e400 is larger than a 64-bit float holds"),
        ("1e-400\n", "line 1, column 1: 1e-400 is not zero, but smaller than a 64-bit float holds"),
        ("1 2\n", "line 1, column 3: more than one number on a line"),
        ("\n \n", "it has no measured value"),
    ] {
        let said = refusal(text.as_bytes(), Format::Plain);
        assert_eq!(said, format!("not readable as numbers, one per line: {position}"));
    }
}

#[test]
fn bytes_that_are_no_text_have_a_place() {
    let said = refusal(b"1\n2\xff\n", Format::Plain);
    assert_eq!(said, "not readable as numbers, one per line: line 2, column 2: not UTF-8");
}

#[test]
fn json_that_does_not_fit_has_a_pointer() {
    for (text, problem) in [
        (r#"{"results": 1}"#, "at /results: expected an array"),
        (r#"{"result": []}"#, "at the outermost value: results is missing"),
        (r#"{"results": []}"#, "it has no measured value"),
        (
            r#"{"results": [{"command": "a"}]}"#,
            "at /results/0: it has summaries only: mean and spread of a command, without its times",
        ),
        (r#"{"results": [{"command": "a", "times": [1, "2"]}]}"#, "at /results/0/times/1: expected a number"),
        (
            r#"{"results": [{"command": "a", "times": [1, NaN]}]}"#,
            "at /results/0/times/1: NaN is not a finite number",
        ),
        (
            r#"{"results": [{"command": "a", "times": [1e999]}]}"#,
            "at /results/0/times/0: 1e999 is larger than a 64-bit float holds",
        ),
        (
            r#"{"results": [{"command": "a", "times": [1], "memory_usage_byte": []}]}"#,
            "at /results/0/memory_usage_byte: times has 1 entries, memory_usage_byte has 0",
        ),
        (
            r#"{"results": [{"command": "a", "times": [1]"#,
            "line 1, column 43: the text ends where `,` or `}` is expected",
        ),
        ("{\"results\":\n [1,,]}", "line 2, column 5: expected a value, found ','"),
        (r#"{"a": 1, "b": 2, "a": 3}"#, "line 1, column 25: the key a occurs twice in one object"),
        (r#"{"a": 01}"#, "line 1, column 7: expected a number without leading zeros"),
        (r#"{"a": "\ud800"}"#, "line 1, column 14: expected the code of a character"),
        (r#"{"a": "\ud83d\u1e99"}"#, "line 1, column 20: expected the code of a character"),
        (r#"{} x"#, "line 1, column 4: expected the end of the text, found 'x'"),
    ] {
        assert_eq!(
            refusal(text.as_bytes(), Format::Hyperfine1),
            format!("not readable as hyperfine JSON: {problem}")
        );
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
    let said = refusal(deep.as_bytes(), Format::CriterionSample);
    assert!(said.ends_with("arrays and objects are nested deeper than 64"), "{said}");
}

#[test]
fn numbers_of_nodes_values_and_labels_are_bounded() {
    let many = format!("[{}0]", "0,".repeat(bounds::MAX_JSON_NODES));
    assert!(refusal(many.as_bytes(), Format::CriterionSample).ends_with("more than 4000000 JSON values"));
    let many = "1\n".repeat(bounds::MAX_VALUES + 1);
    assert!(
        refusal(many.as_bytes(), Format::Plain).contains("line 4000001, column 1: more than 4000000 values")
    );
    let keys: String = (0..=bounds::MAX_LABELS).map(|key| format!("k{key}: 1\n")).collect();
    let said = refusal(format!("{keys}BenchmarkX 1 1 ns/op\n").as_bytes(), Format::Go);
    assert!(
        said.ends_with("line 65, column 1: more than 64 labels, or labels of more than 8192 bytes"),
        "{said}"
    );
    let series: String =
        (0..=bounds::MAX_SERIES).map(|number| format!("BenchmarkX{number} 1 1 ns/op\n")).collect();
    assert!(refusal(series.as_bytes(), Format::Go).ends_with("more than 65536 series"));
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
    let said = refusal(text.as_bytes(), Format::Hyperfine1);
    assert!(said.ends_with("at /results/0/command: a name of 4097 bytes is longer than 4096"), "{said}");

    let hostile = r#"{"results": [{"command": "<script>\u001b[2J\u202e\n", "times": [1]}]}"#;
    let it = read(hostile.as_bytes(), Format::Hyperfine1, &Options::default()).unwrap();
    let name = &it.series[0].name.benchmark;
    assert_eq!(name.as_str(), "<script>\u{1b}[2J\u{202e}\n", "kept as it is");
    assert_eq!(name.to_string(), "<script>\\u{1b}[2J\\u{202e}\\n");

    let said = refusal("{\"\\u001b[31m\": [], \"\\u001b[31m\": 1}".as_bytes(), Format::Hyperfine1);
    assert!(!said.contains('\u{1b}'), "{said}");
    let said = refusal("\u{1b}[31m\n".as_bytes(), Format::Plain);
    assert!(!said.contains('\u{1b}') && said.contains("\\u{1b}[31m is not a decimal number"), "{said}");
    let said = refusal("{\u{1b}".as_bytes(), Format::Hyperfine1);
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn versions_that_are_not_known_are_refused() {
    let text = r#"{"schema_version": 3, "results": []}"#;
    let said = refusal(text.as_bytes(), Format::Hyperfine2);
    assert!(said.ends_with("at /schema_version: version 3 of the format is unknown; known: 2"), "{said}");
    let text = r#"{"version": "2.0", "benchmarks": []}"#;
    let said = refusal(text.as_bytes(), Format::Pyperf);
    assert!(said.ends_with("at /version: version 2.0 of the format is unknown; known: 1.0"), "{said}");
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

/// What connects runs is the run where it is asked for: the coarsest column that makes several units of some cell.
#[test]
fn runs_that_something_connects_are_one() {
    let of = |text: &str, format| {
        let columns = Columns { units: UNITS, ..Columns::default() };
        let options = Options { columns, ..Options::default() };
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
    type Read = (Vec<Vec<Vec<f64>>>, Vec<Vec<Option<String>>>, Vec<String>);
    let of = |text: &str| -> Read {
        let columns = Columns { units: UNITS, ..Columns::default() };
        let it = read(text.as_bytes(), Format::Csv, &Options { columns, ..Options::default() }).unwrap();
        let runs = it.series.iter().map(|one| one.runs.iter().map(<[f64]>::to_vec).collect());
        let word = |block: &Option<speedup_formats::Name>| block.as_ref().map(ToString::to_string);
        let blocks = it.series.iter().map(|one| one.runs.blocks().iter().map(word).collect());
        (runs.collect(), blocks.collect(), it.warnings.iter().map(ToString::to_string).collect())
    };
    let words = |words: &[&str]| -> Vec<Option<String>> {
        words.iter().map(|word| Some((*word).to_owned()).filter(|word| !word.is_empty())).collect()
    };
    let (runs, blocks, told) = of("version,block,value\na,1,10\nb,1,8\na,2,12\nb,2,9\nb,,7\na,3,11\n");
    assert_eq!(runs, [[[10.0], [12.0], [11.0]], [[8.0], [9.0], [7.0]]]);
    assert_eq!(blocks, [words(&["1", "2", "3"]), words(&["1", "2", ""])]);
    assert!(told.len() == 1 && told[0].contains("same `block` are a pair"), "{told:?}");
    let (runs, blocks, _) = of("version,block,value\na,x,1\nb,y,2\na,x,3\nb,x,1\n");
    assert_eq!(runs, [vec![vec![1.0, 3.0]], vec![vec![2.0], vec![1.0]]]);
    assert_eq!(blocks, [words(&["x"]), words(&["y", "x"])]);
    let unpaired = [
        // Of other benchmarks; of one version each; all of one block; runs that hosts connect.
        ("benchmark,version,block,value\nsort,a,1,1\nsort,a,2,1\ngzip,b,1,2\n", "`block` is not used"),
        ("version,block,value\na,1,1\na,1,2\na,2,2\nb,3,1\nb,4,2\n", "they make no pairs"),
        ("version,block,value\na,1,1\na,1,2\nb,1,1\n", "`block` is not used"),
        ("version,host,block,value\na,n1,1,1\na,n1,2,2\na,n2,3,2\nb,n1,1,3\n", "`block` is not used"),
    ];
    for (text, words) in unpaired {
        let (_, blocks, told) = of(text);
        assert!(blocks.iter().all(Vec::is_empty), "{text}: {blocks:?}");
        assert!(told.last().is_some_and(|told| told.contains(words)), "{text}: {told:?}");
    }
}

#[test]
fn tables_are_refused_where_they_do_not_fit() {
    for (text, problem) in [
        ("benchmark,time\na,1\n", "line 1, column 1: the header has no column value, or several"),
        ("value,value\n1,2\n", "line 1, column 1: the header has no column value, or several"),
        ("benchmark,value\na,1\na\n", "line 3, column 1: the row has 1 fields, the header has 2"),
        ("benchmark,value\na,1\na,fast\n", "line 3, column 2: fast is not a decimal number"),
        (
            "benchmark,value,unit\na,1,s\na,2,B\n",
            "line 3, column 2: a (wall) is in `s` before and in `B` here",
        ),
        ("", "it has no measured value"),
    ] {
        assert_eq!(
            refusal(text.as_bytes(), Format::Csv).strip_prefix("not readable as a CSV table: "),
            Some(problem)
        );
    }
}

#[test]
fn json_lines_are_read_as_tables() {
    let text = "{\"benchmark\": \"a\", \"value\": 250, \"unit\": \"ns\"}\n\n{\"benchmark\": \"a\", \"value\": 300, \"unit\": \"ns\"}\n";
    assert_eq!(detect(text.as_bytes()), Ok(Format::JsonLines));
    assert_eq!(values(text, Format::JsonLines), [[250e-9], [300e-9]]);
    let said = refusal(b"{\"value\": 1}\n{\"value\": \"1\"}\n", Format::JsonLines);
    assert!(said.ends_with("line 2, at /value: expected a number"), "{said}");
    let said = refusal(b"{\"value\": 1}\n{\"value\": }\n", Format::JsonLines);
    assert!(said.ends_with("line 2, column 11: expected a value, found '}'"), "{said}");
}

#[test]
fn go_text_is_refused_inside_results_only() {
    let talk = "Benchmarking started\nBenchmarkOnly\nnoise 1 2\nUnit ns/op better=lower\n";
    let text = format!("{talk}BenchmarkX-8 100 5 ns/op\n");
    assert_eq!(detect(text.as_bytes()), Ok(Format::Go));
    assert_eq!(values(&text, Format::Go), [[5e-9]]);
    for (line, problem) in [
        ("BenchmarkX 10", "line 1, column 14: the text ends where a value and its unit is expected"),
        ("BenchmarkX 10 5", "line 1, column 15: the text ends where a unit is expected"),
        ("BenchmarkX 10 5ms x", "line 1, column 15: 5ms is not a decimal number"),
    ] {
        assert_eq!(
            refusal(line.as_bytes(), Format::Go).strip_prefix("not readable as Go benchmark text: "),
            Some(problem)
        );
    }
}

#[test]
fn what_has_no_values_is_no_result() {
    let text = r#"{"results": [{"command": "a", "times": []}]}"#;
    assert!(
        refusal(text.as_bytes(), Format::Hyperfine1)
            .ends_with("at /results/0/times: it has no measured value")
    );
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
    assert!(refusal(header.as_bytes(), Format::Csv).ends_with("more than 1024 columns"));
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
    let said = refusal(format!("{header}{row}{row}").as_bytes(), Format::ReBench);
    assert!(said.ends_with("line 3, column 1: invocation 1, iteration 1 of a (wall) occurs twice"), "{said}");
}

#[test]
fn contents_of_no_tool_are_not_detected() {
    for text in ["", "hello", "{}", "[1, 2]", "<html>", "a,b\n1,2\n", "\0\0\0"] {
        assert_eq!(detect(text.as_bytes()), Err(DetectError::Unknown), "{text:?}");
    }
}
