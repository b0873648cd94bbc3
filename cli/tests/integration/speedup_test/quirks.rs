//! What the published program does otherwise than one would think, reproduced by default and mended by `--mode exact`.

use std::fmt::Write as _;

use super::folder::{Folder, Row};

const PAIR: &str = "a,slow,fast,0.6,1\nb,slow,fast,0.9999,3\n";

#[test]
fn the_command_lines_level_overrides_the_configurations() {
    let folder = Folder::with_configuration(PAIR);
    folder.tested(&["c.csv", "--conf-level", "0.9"]);
    let rows = folder.rows("c.csv.out");
    assert_eq!(rows.iter().map(|row| row.mean().1).collect::<Vec<_>>(), ["0.9", "0.9"]);
    assert!(folder.read("c.csv.warning").contains("--conf-level was taken"));
    folder.tested(&["c.csv", "--conf-level", "0.9", "--mode", "exact"]);
    let rows = folder.rows("c.csv.out");
    assert_eq!(rows.iter().map(Row::mean).collect::<Vec<_>>(), [("TRUE", "0.6"), ("FALSE", "0.9999")]);
}

#[test]
fn whole_coefficients_weigh_equally() {
    let folder = Folder::with_configuration(PAIR);
    let published = folder.json(&["c.csv"]);
    assert_eq!(published["weights"], "equal");
    assert_eq!(published["warnings"][0]["code"], "whole_coefficients");
    assert!(folder.rows("c.csv.out").iter().all(|row| row.coefficients() == ["1", "1", "1"]));
    let exact = folder.json(&["c.csv", "--mode", "exact"]);
    assert_eq!(exact["weights"], "custom");
    assert_eq!(folder.rows("c.csv.out")[1].coefficients(), ["3", "3", "3"]);
    folder.write("c.csv", "Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,,1\nb,slow,fast,,2.5\n");
    assert_eq!(folder.json(&["c.csv"])["weights"], "custom");
    assert_eq!(folder.json(&["c.csv", "--weight", "equal"])["weights"], "equal");
    folder.tested(&["c.csv", "--weight", "fraction"]);
    assert_eq!(folder.rows("c.csv.out")[0].coefficients(), ["1.259", "2.045", "2.046"]);
}

#[test]
fn a_missing_coefficient_makes_all_equal_or_is_refused() {
    let folder = Folder::with_configuration("a,slow,fast,,1.5\nb,slow,fast,,\n");
    let published = folder.json(&["c.csv"]);
    assert_eq!(published["weights"], "equal");
    assert_eq!(published["warnings"][0]["code"], "missing_coefficients");
    let said = folder.test(&["c.csv", "--mode", "exact"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("line 3: Coef is missing"), "{}", said.err);
}

/// More values than Shapiro and Wilk's test takes, of a candidate that is twice as fast.
fn many(scale: f64) -> String {
    (0..5001).fold(String::new(), |mut text, at: u32| {
        let _ = writeln!(text, "{}", scale * (1.0 + f64::from(at * 7919 % 5003) / 5003.0));
        text
    })
}

#[test]
fn more_than_5000_values_are_never_significant_on_the_mean() {
    let folder = Folder::with_configuration("a,s,f,,\n");
    folder.write("s", many(2.0)).write("f", many(1.0));
    folder.tested(&["c.csv"]);
    let row = &folder.rows("c.csv.out")[0];
    assert_eq!((row.mean(), row.median()), (("FALSE", "NA"), ("TRUE", "0.99")));
    assert!(folder.read("c.csv.warning").contains("5000"), "{}", folder.read("c.csv.warning"));
    folder.tested(&["c.csv", "--conf-level", "0.95"]);
    assert_eq!(folder.rows("c.csv.out")[0].mean(), ("NA", "0.95"));
    folder.tested(&["c.csv", "--mode", "exact"]);
    let row = &folder.rows("c.csv.out")[0];
    assert_eq!(row.mean(), ("TRUE", "0.9999999999999999"), "a risk too small for a double is not certainty");
    assert!(folder.read("c.csv.warning").contains("was not tested"));
}

#[test]
fn a_level_that_is_none_is_taken_as_omitted_or_refused() {
    let folder = Folder::with_configuration("a,slow,fast,95,\n");
    folder.tested(&["c.csv"]);
    assert_eq!(folder.rows("c.csv.out")[0].mean(), ("TRUE", "0.98"));
    assert!(folder.read("c.csv.warning").contains("ConfLevel 95 "));
    folder.tested(&["c.csv", "--conf-level", "0.5"]);
    assert_eq!(folder.rows("c.csv.out")[0].mean(), ("TRUE", "0.5"));
    let said = folder.test(&["c.csv", "--mode", "exact"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("line 2: ConfLevel 95") && said.err.contains(" 0.95"), "{}", said.err);
}

#[test]
fn ties_make_kolmogorov_and_smirnovs_test_approximate_in_older_r() {
    let folder = Folder::with_configuration("a,s,f,,\n");
    folder.write("s", "1\n2\n2\n3\n9\n").write("f", "1\n1\n2\n2\n3\n");
    let of = |arguments: &[&str]| {
        let json = folder.json(arguments);
        json["benchmarks"][0]["median"]["conclusion"]["assumptions"][0]["test"]["method"].to_string()
    };
    assert_ne!(of(&["c.csv"]), of(&["c.csv", "--legacy-ks"]));
    let said = folder.test(&["c.csv", "--legacy-ks", "--mode", "exact"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
}

#[test]
fn what_cannot_be_tested_is_not_called_insignificant() {
    let folder = Folder::with_configuration("one,1,fast,,\ntwo,2,fast,,\nequal,=,=,,\nfine,slow,fast,,\n");
    folder.write("1", "2\n").write("2", "2\n2.5\n").write("=", "2\n2\n2\n2\n");
    for (mode, mean) in [("published", "FALSE"), ("exact", "NA")] {
        folder.tested(&["c.csv", "--mode", mode]);
        let rows = folder.rows("c.csv.out");
        for row in &rows[..3] {
            assert_eq!(row.mean(), (mean, "NA"), "{mode} {:?}", row.fields());
        }
        let warnings = folder.read("c.csv.warning");
        assert_eq!(warnings.matches("of the mean cannot").count(), 3, "{warnings}");
    }
    folder.tested(&["c.csv", "--conf-level", "0.9"]);
    assert!(folder.rows("c.csv.out")[..3].iter().all(|row| row.mean() == ("NA", "0.9")));
}
