//! Touati 2010 §6.3.2: every number that is printed there, from the files of §6.3.1 in `examples/speedup-test`.

use std::{path::Path, process::Command};

use super::folder::{Folder, Said};

/// `bench.cfg.out` of the paper, which breaks its heading into two lines and has blanks after the commas.
const RESULTS: &str =
    "\"Name\",\"SpeedupMin\",\"SpeedupMean\",\"IsMeanSignificant\",\"MeanConfLevel\",\"SpeedupMedian\",\
\"IsMedianSignificant\",\"MedianConfLevel\",\"CoefMin\",\"CoefMean\",\"CoefMedian\"
\"First benchmark\",1.971,1.276,FALSE,NA,1.098,TRUE,0.76,1,1,1
\"Second benchmark\",4.861,1.957,TRUE,0.98,1.956,TRUE,0.99,1,1,1
\"Third benchmark\",1.365,1.167,TRUE,0.99,1.127,TRUE,0.99,1,1,1
\"Fourth benchmark\",1.457,1.112,TRUE,0.83,1.13,TRUE,0.81,1,1,1
";

/// What the paper's command prints, in its order.
const PRINTED: [&str; 13] = [
    "Overall gain (ExecutionTime=min) = 0.371",
    "Overall speedup (ExecutionTime=min) = 1.589",
    "Overall gain (ExecutionTime=mean) = 0.178",
    "Overall speedup (ExecutionTime=mean) = 1.216",
    "Overall gain (ExecutionTime=median) = 0.156",
    "Overall speedup (ExecutionTime=median) = 1.185",
    "Accelerated benchmarks (speedup of the mean): a/b = 3/4 = 0.75",
    "Confidence level of the proportion's interval = 0.95",
    "Proportion confidence interval (speedup of the mean) = [0.219; 0.987]",
    "Least number of benchmarks to draw at random for the precision r=0.05 = 289",
    "Accelerated benchmarks (speedup of the median): a/b = 4/4 = 1",
    "Confidence level of the proportion's interval = 0.95",
    "Proportion confidence interval (speedup of the median) = [0.396; 1]",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// The README's command, with another prefix.
fn example(folder: &Folder, more: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speedup"));
    command.args(["test", "examples/speedup-test/bench.cfg"]).current_dir(root());
    command.arg("-o").arg(folder.path("bench")).args(more);
    command.output().expect("the command").into()
}

#[test]
fn every_printed_number_comes_out() {
    let folder = Folder::new();
    let said = example(&folder, &[]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(folder.read("bench.out"), RESULTS);
    let mut lines = said.out.lines();
    for printed in PRINTED {
        assert!(lines.any(|line| line == printed), "{printed}\nis not next in\n{}", said.out);
    }
    let unsure =
        said.out.lines().filter(|line| line.starts_with("Warning: ") && line.contains("a(1 - a/b) > 5"));
    assert_eq!(unsure.count(), 2, "{}", said.out);
    assert_eq!(said.out.matches("Least number").count(), 1, "none where all are accelerated\n{}", said.out);
    assert_eq!(folder.read("bench.report"), said.out);
}

#[test]
fn the_papers_three_warnings_are_those_of_the_first_benchmark() {
    let folder = Folder::new();
    let said = example(&folder, &[]);
    let warnings = folder.read("bench.warning");
    let lines: Vec<&str> = warnings.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 6, "{warnings}");
    assert_eq!(lines[1], "First benchmark:");
    for (line, beginning) in lines[2..5].iter().zip([
        "  Sample1 (the baseline) is too small for Student's t test of the mean",
        "  Sample2 (the candidate) is too small for Student's t test of the mean",
        "  No confidence level above 50 % makes the speedup of the mean",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
    assert_eq!(lines[5], "3 warnings.");
    assert!(said.err.starts_with("3 warnings in "), "{}", said.err);
    let status = folder.read("bench.status");
    assert!(status.contains(" ended.\nElapsed time: 0."), "{status}");
}

#[test]
fn json_has_the_same_numbers_unrounded() {
    let folder = Folder::new();
    let said = example(&folder, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("one JSON value");
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["weights"], "equal");
    let number = |at: &str| json.pointer(at).and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN);
    for (at, expected) in [
        ("/overall/0/gain", 0.370_742_501_015_090_04),
        ("/overall/1/speedup", 1.215_826_792_061_575_7),
        ("/overall/2/speedup", 1.184_999_528_365_167),
        // Plain means of 1.276, 1.957, 1.167 and 1.112, of which the paper makes no use.
        ("/speedup_means/1/arithmetic", 1.377_777_957_516_887),
        ("/speedup_means/1/geometric", 1.341_457_727_186_806),
        ("/speedup_means/1/harmonic", 1.310_855_854_940_027),
        ("/proportions/0/interval/lower", 0.219_426_520_065_362_87),
        ("/proportions/0/benchmarks_needed", 289.0),
        ("/proportions/1/interval/lower", 0.395_773_034_482_778_7),
        ("/benchmarks/3/speedups/min", 1.457_358_882_017_034_7),
        ("/benchmarks/3/mean/confidence", 0.83),
    ] {
        assert!((number(at) / expected - 1.0).abs() < 1e-9, "{at}: {} for {expected}", number(at));
    }
    assert_eq!(json["benchmarks"][0]["mean"]["significant"], false);
    assert_eq!(json["benchmarks"][0]["mean"]["confidence"], serde_json::Value::Null);
    assert_eq!(json["benchmarks"][0]["mean"]["conclusion"]["outcome"]["reason"]["code"], "small_not_normal");
    assert_eq!(json["proportions"][1]["benchmarks_needed"], serde_json::Value::Null);
}
