//! Every method on whatever a file may hold.

use std::fs;

use serde_json::Value;

use super::{METHODS, json, lines, refused, varied};

enum Expected {
    Refused(&'static str),
    /// By every method; with this caveat of all samples, if there is one.
    Answered(Option<&'static str>),
}

fn bad_inputs() -> Vec<(&'static str, String, Expected)> {
    use Expected::{Answered, Refused};
    let with = |bad: &str| format!("1.5\n{bad}\n1.25\n1.75\n");
    vec![
        ("empty", String::new(), Refused("it is empty")),
        ("blank", " \n\n".to_owned(), Refused("it is empty")),
        ("words", with("fast"), Refused("line 2")),
        ("nan", with("NaN"), Answered(Some("values_not_finite"))),
        ("infinite", with("inf"), Answered(Some("values_not_finite"))),
        ("overflow", with("1e999"), Refused("line 2")),
        ("negative", with("-1.5"), Refused("which is not positive")),
        ("zero", with("0"), Refused("which is not positive")),
        ("tiny", with("1e-300"), Refused("outside 1e-100 to 1e100")),
        ("huge", with("1e300"), Refused("outside 1e-100 to 1e100")),
        ("one value", "1.5\n".to_owned(), Answered(None)),
        ("two values", "1.5\n1.25\n".to_owned(), Answered(None)),
        ("all equal", "1.5\n".repeat(9), Answered(Some("all_equal"))),
        ("ties", "1.5\n1.25\n1.5\n1.25\n1.75\n".repeat(4), Answered(None)),
        (
            "rounding",
            lines((0..12).map(|i| 1.5 + f64::from(i % 5) * 1e-15)),
            Answered(Some("spread_of_rounding")),
        ),
        ("small unit", lines(varied(12, 1e-99, 0.1)), Answered(None)),
        ("large unit", lines(varied(12, 1e99, 0.1)), Answered(None)),
        ("5001 values", lines(varied(5001, 1.5, 0.1)), Answered(None)),
    ]
}

#[test]
fn every_method_answers_or_refuses_whatever_a_file_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("good"), lines(varied(12, 2.0, 0.1))).expect("a file");
    for (name, text, expected) in bad_inputs() {
        fs::write(directory.path().join("bad"), text).expect("a file");
        for method in METHODS {
            for files in [["good", "bad"], ["bad", "good"]] {
                let arguments = [&files[..], method].concat();
                match &expected {
                    Expected::Refused(words) => {
                        let said = refused(directory.path(), &arguments);
                        assert!(said.contains(words), "{name}, {method:?}: {said}");
                    }
                    Expected::Answered(caveat) => {
                        let answer = json(directory.path(), &arguments);
                        is_sound(&answer, &format!("{name}, {method:?}"));
                        let has = |code: &str| {
                            answer["caveats"]
                                .as_array()
                                .expect("caveats")
                                .iter()
                                .any(|one| one["code"] == code)
                        };
                        assert!(caveat.is_none_or(has), "{name}, {method:?}: {}", answer["caveats"]);
                    }
                }
            }
        }
    }
}

/// What holds of every answer: names, level, sources; and that what is not concluded has a reason.
fn is_sound(answer: &Value, about: &str) {
    assert_eq!(answer["schema_version"], 1, "{about}");
    assert_eq!(answer["confidence"], 0.95, "{about}");
    assert!(answer["method"]["name"].as_str().is_some_and(|name| name.len() > 5), "{about}");
    assert!(!answer["method"]["sources"].as_array().expect("sources").is_empty(), "{about}");
    conclusions(&answer["findings"]["of"], about);
}

fn conclusions(value: &Value, about: &str) {
    if let Some(fields) = value.as_object() {
        let undecided = fields.get("verdict").is_some_and(|verdict| verdict == "not_enough_data");
        if let Some(reason) = fields.get("reason").filter(|_| undecided) {
            assert!(reason["code"].is_string() && reason["sentence"].is_string(), "{about}: {value}");
        }
        fields.values().for_each(|value| conclusions(value, about));
    }
    value.as_array().into_iter().flatten().for_each(|value| conclusions(value, about));
}
