//! What cannot be meant is refused, with its place.

use std::fs;

use super::{examples, json, refused};

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let examples = examples();
    let files = ["compare/before.csv", "compare/after.csv"];
    for (options, words) in [
        (&["--confidence", "1"][..], "1"),
        (&["--confidence", "0"], "0"),
        (&["--confidence", "NaN"], "NaN"),
        (&["--confidence", "95"], "95"),
        (&["--weights", "0,0,0,0,0,0"], "not a positive number"),
        (&["--weights", "1,-1,1,1,1,1"], "not a positive number"),
        (&["--weights", "1,1"], "2 weights"),
        (&["--weights", "heavy"], "weights are"),
        (&["--weights", "fraction", "--higher-is-better"], "larger values are better"),
        (&["--threshold", "1%"], "--method effect"),
        (&["--method", "effect", "--threshold", "100%"], "share"),
        (&["--method", "effect", "--threshold", "-1%"], "share"),
        (&["--confidence", "-1"], "-1"),
        (&["--weights", "-1,1,1,1,1,1"], "not a positive number"),
        (&["--method", "hpt", "--speedup-under-test", "-1"], "speedup under test"),
        (&["--method", "distribution", "--quantiles", "-0.5,0.5"], "quantile"),
        (&["--method", "effect", "--bootstrap", "0"], "draws"),
        (&["--method", "hpt", "--speedup-under-test", "0"], "speedup under test"),
        (&["--method", "hpt", "--speedup-under-test", "NaN"], "speedup under test"),
        (&["--method", "mixture", "--resamples", "10"], "resamples"),
        (&["--method", "mixture", "--delta", "inf"], "inf"),
        (&["--method", "distribution", "--quantiles", "100%"], "quantile"),
        (&["--method", "distribution", "--at-most", "inf"], "inf"),
        (&["--clusters"], "--method distribution"),
        (&["--method", "speedup-test", "--precision", "0"], "precision"),
        (&["--margin", "0"], "a margin"),
        (&["--adjust", "holm"], "--method speedup-test"),
        (&["--metric", "memory"], "metric memory"),
        (&["--baseline", "nobody"], "there is no version"),
        (&["--column", "seconds"], "no column seconds"),
        (&["--input-format", "go"], "cannot read"),
        (&["--input-format", "abacus"], "no such format"),
        (&["--drawn", "--population", "3"], "3"),
    ] {
        let said = refused(&examples, &[&files[..], options].concat());
        assert!(said.contains(words), "{options:?}: {said}");
    }
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("good"), "1\n2\n3\n").expect("a file");
    assert!(refused(directory.path(), &["good", "missing"]).contains("cannot read missing"));
    assert!(refused(directory.path(), &["good", "."]).contains("cannot read ."));
    assert!(refused(directory.path(), &["good", "good"]).contains("given twice"));
    assert!(refused(directory.path(), &["good"]).contains("two versions"));
    let summary = "command,mean,stddev,median,user,system,min,max\nls,1,1,1,1,1,1,1\n";
    fs::write(directory.path().join("summary"), summary).expect("a file");
    assert!(refused(directory.path(), &["good", "summary"]).contains("summaries only"));
}

#[test]
fn numbers_in_refusals_are_short_and_standard_input_is_read_once() {
    let examples = examples().join("compare");
    let files = ["before.csv", "after.csv"];
    for option in [
        &["--weights", "1e300,1,1,1,1,1"][..],
        &["--weights", "5e-324,1,1,1,1,1"],
        &["--method", "hpt", "--speedup-under-test", "1e300"],
        &["--method", "mixture", "--delta", "-1e300", "--resamples", "0"],
    ] {
        let said = refused(&examples, &[&files[..], option].concat());
        assert!(said.len() < 400 && said.contains("hint: "), "{said}");
    }
    assert!(refused(&examples, &["-", "-"]).contains("given twice"));
    let percent = json(&examples, &[&files[..], &["--confidence", "90%"]].concat());
    assert_eq!(percent["confidence"], 0.9);
}
