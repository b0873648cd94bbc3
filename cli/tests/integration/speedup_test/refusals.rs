//! Bad input: refused with its file and line, or passed over with a warning as the original does. Never a panic, never a
//! number that means something else.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::folder::{Folder, HEADING};

/// Asserts that the command refuses, and that it says all of `words` and what to do.
fn refuses(folder: &Folder, arguments: &[&str], words: &[&str]) {
    let said = folder.test(arguments);
    assert_eq!(said.code, Some(2), "{words:?}: {}{}", said.out, said.err);
    assert!(said.out.is_empty(), "{}", said.out);
    for word in words {
        assert!(said.err.contains(word), "{word} is not in\n{}", said.err);
    }
    assert!(!said.err.contains("panicked"), "{}", said.err);
}

#[test]
fn samples_that_are_none_are_refused_with_file_and_line() {
    for (text, words) in [
        ("", "it has no numbers"),
        ("\n\n", "it has no numbers"),
        ("1\ntwo\n", "line 2: \"two\" is not a n"),
        ("time\n1\n", "line 1: \"time\" is not a n"),
        ("1,5\n", "line 1: \"1,5\" is not a n"),
        ("1 2\n", "line 1: \"1 2\" is not a n"),
        ("1\nNA\n", "line 2: \"NA\" is not a n"),
        ("1\r\nNaN\r\n", "line 2: \"NaN\" is not a f"),
        ("1\n-inf\n", "line 2: \"-inf\" is not a f"),
        ("1e400\n", "line 1: \"1e400\" is not a f"),
        ("1\n0\n", "line 2: 0 is not a positive"),
        ("1\n\n-2\n", "line 3: -2 is not a positive"),
        ("1e160\n", "too large or too small"),
        ("\u{0}\u{0}\u{0}", "line 1"),
    ] {
        let folder = Folder::with_configuration("fine,slow,fast,,\nbad,slow,it,,\n");
        folder.write("it", text);
        refuses(&folder, &["c.csv"], &["it, of the benchmark \"bad\"", words, "hint: "]);
        assert!(!folder.path("c.csv.out").exists());
        let status = folder.read("c.csv.status");
        assert!(status.contains("failed") && status.contains(words), "{status}");
    }
}

#[test]
fn values_that_differ_by_rounding_are_said_to() {
    let rounding: String = (0..20).map(|run| format!("{}\n", 1.0 + f64::from(run % 3) * 1e-15)).collect();
    let folder = Folder::with_configuration("a,slow,rounding,,\nb,slow,fast,,\n");
    folder.write("rounding", rounding);
    for mode in ["published", "exact"] {
        let said = folder.tested(&["c.csv", "--mode", mode, "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&said.out).expect("one JSON value");
        let codes = |at: usize| -> Vec<&str> {
            let warnings = answer["benchmarks"][at]["warnings"].as_array().expect("warnings");
            warnings.iter().filter_map(|warning| warning["code"].as_str()).collect()
        };
        assert!(codes(0).contains(&"spread_of_rounding"), "{mode}: {:?}", codes(0));
        assert!(!codes(1).contains(&"spread_of_rounding"), "{mode}: {:?}", codes(1));
    }
}

/// Speedups that three decimals cannot tell from nothing, or whose digits no double has.
#[test]
fn no_number_is_shown_as_nothing_or_as_infinite() {
    let far = |unit: &str| -> String { (1..=12).map(|run| format!("{run}.5{unit}\n")).collect() };
    let folder = Folder::with_configuration("a,near,far,,\nb,far,near,,\n");
    folder.write("near", far("e-129")).write("far", far("e128"));
    for form in ["table", "json"] {
        let said = folder.tested(&["c.csv", "--format", form]);
        let mut words = said.out.split(|c: char| !c.is_ascii_alphanumeric());
        assert!(words.all(|word| !["inf", "NaN"].contains(&word)), "{}", said.out);
        assert!(said.out.contains("e-257"), "{}", said.out);
    }
    assert!(folder.read("c.csv.out").contains("e-257"), "{}", folder.read("c.csv.out"));
}

#[test]
fn binary_and_endless_samples_are_refused() {
    let folder = Folder::with_configuration("bad,slow,/dev/zero,,\n");
    refuses(&folder, &["c.csv"], &["/dev/zero", "4096 bytes"]);
    folder.write("binary", b"1.5\n\xff\xfe\x00\n").write("c.csv", format!("{HEADING}bad,slow,binary,,\n"));
    refuses(&folder, &["c.csv"], &["binary", "line 2"]);
}

#[test]
fn configurations_that_are_none_are_refused_with_file_and_line() {
    for (text, words) in [
        ("", "it is empty"),
        ("Name,Sample1,Sample2,ConfLevel,Coef\n", "no benchmarks"),
        ("a,slow,fast,,\n", "line 1: the column \"a\""),
        ("Name,Sample1,Sample2\na,slow,fast\n", "column ConfLevel"),
        ("Name,Sample1,Sample2,ConfLevel,Coef,Host\na,slow,fast,,,h\n", "line 1: the column \"Host\""),
        ("Name;Sample1;Sample2;ConfLevel;Coef\n", "line 1: the column"),
        ("Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast\n", "line 2: there are 3"),
        ("Name,Sample1,Sample2,ConfLevel,Coef\n\na,slow,,,\n", "line 3: Sample2 is empty"),
        ("Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,high,\n", "line 2: ConfLevel is \"high\""),
        ("Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,,many\n", "line 2: Coef is \"many\""),
        ("Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,,0\nb,slow,fast,,0\n", "line 2: Coef is 0,"),
        (
            "Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,,1.5\nb,slow,fast,,-1.5\n",
            "line 3: Coef is -1.5",
        ),
        ("Name,Sample1,Sample2,ConfLevel,Coef\na,slow,fast,,1e-300\n", "line 2: Coef is 1e-300"),
        ("2.02\n2.25\n", "line 1: the column \"2.02\""),
    ] {
        let folder = Folder::with_configuration("");
        folder.write("c.csv", text);
        refuses(&folder, &["c.csv"], &["benchmarks of c.csv", words, "hint: "]);
    }
    let folder = Folder::new();
    folder.write("c.csv", b"Name,Sample1,Sample2,ConfLevel,Coef\nb\xe9,x,y,,\n");
    refuses(&folder, &["c.csv"], &["c.csv", "line 2: "]);
    refuses(&folder, &["/dev/zero", "-o", "x"], &["/dev/zero", "bytes that are read"]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_refused() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    refuses(&folder, &["nothing.csv"], &["nothing.csv", "No such file"]);
    assert!(folder.read("nothing.csv.status").contains("No such file"));
    fs::create_dir(folder.path("d")).expect("a folder");
    refuses(&folder, &["d"], &["benchmarks of d", "irectory"]);
}

#[test]
fn wrong_usage_is_refused() {
    let folder = Folder::with_configuration("a,slow,fast,,\n");
    for arguments in [
        &["c.csv", "--conf-level", "0"][..],
        &["c.csv", "--conf-level", "1"],
        &["c.csv", "--conf-level", "95"],
        &["c.csv", "--conf-level", "NaN"],
        &["c.csv", "--conf-level=-0.1"],
        &["c.csv", "--precision", "0"],
        &["c.csv", "--precision", "1"],
        &["c.csv", "--precision", "1e-200"],
        &["c.csv", "--precision", "NaN"],
        &["c.csv", "--weight", "heavy"],
        &["c.csv", "--mode", "other"],
        &["-"],
        &[],
    ] {
        refuses(&folder, arguments, &["error: "]);
    }
    assert_eq!(folder.names(), ["c.csv", "fast", "slow"], "nothing is written");
    refuses(&folder, &["c.csv", "--conf-level", "95"], &["95 % is written 0.95"]);
}

#[test]
fn samples_that_cannot_be_opened_are_passed_over_with_a_warning() {
    let folder =
        Folder::with_configuration("gone,slow,nowhere,,1.5\nfolder,d,fast,,2.5\nfine,slow,fast,,3.5\n");
    fs::create_dir(folder.path("d")).expect("a folder");
    let said = folder.tested(&["c.csv"]);
    let rows = folder.rows("c.csv.out");
    assert_eq!(rows[0].fields()[1..], ["NA"; 10]);
    assert_eq!(rows[1].fields()[1..], ["NA"; 10]);
    assert_eq!((rows[2].mean(), rows[2].coefficients()), (("TRUE", "0.98"), ["3.5", "3.5", "3.5"]));
    assert!(said.out.contains("a/b = 1/1 = 1"), "{}", said.out);
    let warnings = folder.read("c.csv.warning");
    assert!(warnings.contains("The file nowhere "), "{warnings}");
    assert!(warnings.contains("The file d "), "{warnings}");
    assert_eq!(warnings.matches("The benchmark is ignored").count(), 2, "{warnings}");
    assert!(said.err.contains("gone: The file nowhere"), "{}", said.err);
    let json = folder.json(&["c.csv"]);
    assert_eq!(json["benchmarks"][0]["state"], "ignored");
    assert_eq!(json["benchmarks"][2]["state"], "tested");
}

#[test]
fn samples_without_the_right_to_read_are_passed_over() {
    let folder = Folder::with_configuration("shut,slow,shut,,\nfine,slow,fast,,\n");
    folder.write("shut", "1\n2\n3\n");
    fs::set_permissions(folder.path("shut"), fs::Permissions::from_mode(0o000)).expect("the right to");
    let said = folder.tested(&["c.csv"]);
    // Whoever may read everything reads this too.
    if fs::read(folder.path("shut")).is_err() {
        assert!(said.err.contains("shut is not readable"), "{}", said.err);
        assert_eq!(folder.rows("c.csv.out")[0].fields()[1..], ["NA"; 10]);
    } else {
        assert_ne!(folder.rows("c.csv.out")[0].fields()[1], "NA");
    }
}

#[test]
fn nothing_to_read_is_refused() {
    let folder = Folder::with_configuration("a,no,where,,\n");
    refuses(&folder, &["c.csv"], &["can be read: no: ", "hint: "]);
}

#[test]
fn two_benchmarks_of_one_name_are_told() {
    let folder = Folder::with_configuration("a,slow,fast,,\na,fast,slow,,\n");
    folder.tested(&["c.csv"]);
    assert!(folder.read("c.csv.warning").contains("Lines 2 and 3 "));
    assert_eq!(folder.rows("c.csv.out").len(), 2);
}

#[test]
fn marks_and_line_ends_of_other_systems_do_not_matter() {
    let folder = Folder::with_configuration("\"a, \"\"b\"\"\",slow,fast,0.9,\n");
    folder.tested(&["c.csv"]);
    let plain = folder.read("c.csv.out");
    assert_eq!(folder.rows("c.csv.out")[0].fields()[0], "a, \"b\"");
    let windows = |name: &str| format!("\u{feff}{}", folder.read(name).replace('\n', "\r\n"));
    folder.write("c.csv", windows("c.csv")).write("slow", windows("slow")).write("fast", windows("fast"));
    folder.tested(&["c.csv"]);
    assert_eq!(folder.read("c.csv.out"), plain);
}
