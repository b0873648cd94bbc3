//! The account that the program `reference` keeps: nothing of a reference file is left out in silence.

#[path = "../reference/distributions.rs"]
mod distributions;
#[path = "../reference/minima.rs"]
mod minima;
#[path = "../reference/protocol.rs"]
mod protocol;
#[expect(dead_code, reason = "the protocol asks it alone whether data are tight")]
#[path = "../reference/two_samples.rs"]
mod two_samples;

use crate::case::{Case, Ledger, relative};
use minima::{Account, Folder, Minima};
use serde_json::{Value, json};

/// How many failures the account has of one case, of which `check` read what it wants.
fn failures(json: &Value, check: impl Fn(&mut Case<'_>, &mut Ledger)) -> usize {
    let (mut case, mut ledger) = (Case::new(json), Ledger::default());
    check(&mut case, &mut ledger);
    ledger.close(&case);
    ledger.print("a file")
}

fn variance(got: f64) -> impl Fn(&mut Case<'_>, &mut Ledger) {
    move |case, ledger| ledger.number(case, "/var", got, relative(1e-12))
}

#[test]
fn what_is_read_and_agrees_is_no_failure() {
    assert_eq!(failures(&json!({"id": "a", "n": 3, "var": 2.5}), variance(2.5)), 0);
    assert_eq!(failures(&json!({"id": "a", "var": 2.5}), variance(2.4)), 1);
}

#[test]
fn a_field_that_nobody_read_is_a_failure() {
    assert_eq!(failures(&json!({"id": "a", "var": 2.5, "new": {"a": 1, "b/c": 2}}), variance(2.5)), 2);
    assert_eq!(failures(&json!({"id": "a", "var": 2.5, "new": null}), variance(2.5)), 1);
    let rows = json!({"id": "a", "var": 2.5, "rows": [{"x": 1, "y": 2}, {"x": 1, "y": 3}]});
    let reads_x = |case: &mut Case<'_>, ledger: &mut Ledger| {
        variance(2.5)(case, ledger);
        ledger.number(case, "/rows/0/x", 1.0, relative(0.0));
        ledger.number(case, "/rows/1/x", 1.0, relative(0.0));
    };
    assert_eq!(failures(&rows, reads_x), 2);
}

#[test]
fn a_null_is_an_expectation_of_nothing() {
    let none = json!({"id": "a", "var": null});
    assert_eq!(failures(&none, variance(2.5)), 1);
    assert_eq!(failures(&none, variance(f64::NAN)), 0);
    let of_a_part = json!({"id": "a", "hp": null, "var": 2.5});
    let reads_the_part = |case: &mut Case<'_>, ledger: &mut Ledger| {
        ledger.number(case, "/hp/var", 2.5, relative(0.0));
        variance(2.5)(case, ledger);
    };
    assert_eq!(failures(&of_a_part, reads_the_part), 0);
}

#[test]
fn a_reason_is_needed_to_leave_something_out() {
    let case = json!({"id": "a", "var": 2.5, "mad": 1.0});
    let skips = |case: &mut Case<'_>, ledger: &mut Ledger| {
        variance(2.5)(case, ledger);
        ledger.skip(case, "/mad", "no method here uses it");
    };
    assert_eq!(failures(&case, skips), 0);
}

#[test]
fn a_case_or_a_file_with_nothing_to_compare_is_a_failure() {
    assert_eq!(failures(&json!({"id": "a"}), |_, _| {}), 1);
    assert_eq!(Ledger::default().print("an empty file"), 1);
}

#[test]
fn a_function_or_an_argument_that_is_not_known_is_a_failure() {
    let normal = json!({"q": 0.0, "mean": 0, "sd": 1});
    let known = json!({"id": "a", "fn": "pnorm", "args": normal, "expected": 0.5});
    assert_eq!(failures(&known, distributions::distribution), 0);
    let function = json!({"id": "a", "fn": "pgamma", "args": {"q": 1.0}, "expected": 0.5});
    assert!(failures(&function, distributions::distribution) > 0);
    let mut argument = known.clone();
    argument["args"]["log.p"] = json!(true);
    assert_eq!(failures(&argument, distributions::distribution), 1);
    let mut none = known;
    none["expected"] = Value::Null;
    assert_eq!(failures(&none, distributions::distribution), 1);
}

#[test]
fn an_emptied_file_is_a_failure() {
    let account = |cases: usize, values: &[(&str, usize)]| Account {
        cases,
        values: values.iter().map(|(field, count)| ((*field).to_owned(), *count)).collect(),
    };
    let minima = Minima([("t_test".to_owned(), account(30, &[("/p", 60), ("/rare", 2)]))].into());
    let lacking = |account: &Account, folder| minima.lacking("t_test", account, folder).len();
    let whole = account(30, &[("/p", 60), ("/rare", 2), ("/more", 1)]);
    let (one_case, no_p) = (account(1, &[("/p", 2)]), account(60, &[("/rare", 2), ("/t", 60)]));
    let others = account(20, &[("/p", 40)]);
    assert_eq!([&whole, &one_case, &no_p, &others].map(|of| lacking(of, Folder::Own)), [0, 3, 1, 3]);
    assert_eq!([&whole, &one_case, &no_p, &others].map(|of| lacking(of, Folder::Other)), [0, 2, 1, 0]);
    assert_eq!(minima.lacking("new", &whole, Folder::Other).len(), 1, "a file whose minimum nobody pinned");
    assert_eq!(minima.missing(&[]).count(), 1);
}

/// Times of which no speedup can be made are refused by name, not by the end of the program.
#[test]
fn times_that_are_not_positive_are_refused_by_name() {
    let case = json!({
        "id": "zero",
        "options": {"conf_level": 0.95, "precision": 0.05, "weight": "equal"},
        "benchmarks": [
            {"name": "a", "sample1": [3.0, 2.0, 4.0], "sample2": [1.0, 2.0, 1.5], "conf_level": null, "coef": null},
            {"name": "b", "sample1": [1.0, 2.0, 0.0], "sample2": [1.0, 2.0, 1.5], "conf_level": null, "coef": null},
        ],
        "expected_tool": {"rows": [{"name": "a"}, {"name": "b"}], "overall": {"mean": {"gain": 0.5}}},
    });
    assert_eq!(failures(&case, protocol::speedup_test), 0);
}
