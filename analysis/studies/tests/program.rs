//! The program `speedup-studies`: what it prints, and which options it refuses.
#![expect(clippy::disallowed_methods, reason = "starts the program")]

use std::process::{Command, Output};

fn study(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_speedup-studies")).args(arguments).output().expect("the program")
}

fn lines(arguments: &[&str]) -> Vec<String> {
    let output = study(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn every_study_prints_a_header_and_rows() {
    const SHARES: &str =
        "section,distribution,size,parameter,method,share,standard_error,expected,replicates,unanswered";
    for (arguments, header) in [
        ("coverage --binaries 3 --one-binary 4 --draws 20 --runs 6 --benchmarks 5", SHARES),
        ("false-alarms --binaries 3 --one-binary 4 --draws 20 --runs 6 --suite 6", SHARES),
        ("power --runs 6 --suite-runs 3 --mean-runs 50 --claim 1.76 --speedup 1.1", SHARES),
        ("bisection --commits 8 --runs 24", SHARES),
        ("track --points 20 --blocks 3", SHARES),
        ("scaling --runs 5", SHARES),
        ("estimators --frameworks 2 --runs 15", "metric,versions,runs,quantity,min,first_quartile"),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').chain(["--replicates", "8"]).collect();
        let lines = lines(&arguments);
        assert!(lines.len() > 1 && lines[0].starts_with(header), "{arguments:?}: {lines:?}");
    }
}

/// The share of Wald's interval is computed, and the signed rank of five pairs has no interval at 95 %.
#[test]
fn a_row_has_the_share_of_its_cell() {
    let exact = lines(&["coverage", "--section", "proportions", "--benchmarks", "10", "--proportion", "0.5"]);
    assert!(exact[6].starts_with("proportions,,10,0.5,wald,0.890625"), "{exact:?}");
    let none = lines(&["coverage", "--section", "samples", "--runs", "5", "--replicates", "8"]);
    assert!(none.contains(&"samples,normal,5,,pseudo_median,NaN,NaN,0.95,8,8".to_owned()), "{none:?}");
}

#[test]
fn an_option_out_of_range_is_refused() {
    for arguments in [
        ["coverage", "--replicates", "0"],
        ["coverage", "--confidence", "95"],
        ["coverage", "--distribution", "cauchy"],
        ["coverage", "--levels", "1,2"],
        ["false-alarms", "--threshold", "3"],
        ["track", "--alarms", "400"],
        ["scaling", "--section", "flat"],
    ] {
        let output = study(&arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.to_lowercase().starts_with("error: "), "{message}");
    }
}
