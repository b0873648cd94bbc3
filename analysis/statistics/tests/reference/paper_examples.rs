//! The numbers that the papers print: each recomputed from the data that the papers give.
//!
//! To add a paper, give [`recompute`] an arm with a function of its own from (section, quantity) to a
//! [`Finding`]; a number that it does not know is a failure.

#[path = "paper_examples/earlier_protocol.rs"]
mod earlier_protocol;
#[path = "paper_examples/levels.rs"]
mod levels;
#[path = "paper_examples/mixtures.rs"]
mod mixtures;
#[path = "paper_examples/performance_test.rs"]
mod performance_test;
#[path = "paper_examples/speedup_test.rs"]
mod speedup_test;

use crate::case::{Case, Ledger, number, relative};
use serde_json::Value;

/// What our code says where the paper prints a number.
pub(crate) enum Finding {
    /// A number, compared in the digits printed.
    Number(f64),
    /// The whole number above the printed one, which the paper rounds up.
    RoundedUp(f64),
    /// A yes or no.
    Answer(bool),
    /// The paper prints none, and there is none.
    Absent,
    /// One number a benchmark.
    Numbers(Vec<f64>),
    /// One word a benchmark.
    Words(String),
    /// At least the number printed.
    AtLeast(f64),
    /// A number by random draws, with the standard errors of its distances from the printed and from the reference's.
    Drawn { got: f64, printed_error: f64, computed_error: f64 },
}

type Recomputed = Result<Finding, &'static str>;

fn recompute(paper: &str, section: &str, quantity: &str) -> Recomputed {
    match paper {
        "000" => speedup_test::recompute(section, quantity),
        "001" => mixtures::recompute(section, quantity),
        "002" => performance_test::recompute(section, quantity),
        "003" => earlier_protocol::recompute(section, quantity),
        "004" => levels::recompute(section, quantity),
        _ => Err("this program does not know the paper"),
    }
}

pub(crate) fn printed_number(case: &mut Case<'_>, ledger: &mut Ledger) {
    let text =
        |case: &mut Case<'_>, field| case.value(field).and_then(Value::as_str).unwrap_or("").to_owned();
    let (paper, section, quantity) = (text(case, "/paper"), text(case, "/where"), text(case, "/what"));
    let number = paper.split(' ').next().unwrap_or("");
    let reproduces = case.value("/reproduces").and_then(Value::as_bool).unwrap_or(false);
    case.value("/note");
    let (printed, computed) = (case.value("/printed"), case.value("/computed"));
    let field = format!("{number}, {section}, {quantity}");
    match recompute(number, &section, &quantity) {
        Ok(finding) => compare(case, ledger, &field, &finding, [printed, computed], reproduces),
        Err(reason) => ledger.unknown(case, &field, reason),
    }
}

fn compare(
    case: &Case<'_>,
    ledger: &mut Ledger,
    field: &str,
    finding: &Finding,
    [printed, computed]: [Option<&Value>; 2],
    reproduces: bool,
) {
    match finding {
        Finding::Number(got) => {
            let [printed, computed] = [printed, computed].map(|value| value.map_or(f64::NAN, number));
            let as_printed = (got - printed).abs() <= 0.5 * unit_of_last_digit(printed) * (1.0 + 1e-9);
            let agrees = as_printed == reproduces && !printed.is_nan();
            ledger.verdict(case, &format!("{field} as printed"), agrees, || {
                format!("got {got}, printed {printed}, which reproduces: {reproduces}")
            });
            ledger.compare(case, &format!("{field} in full"), *got, computed, relative(1e-9));
        }
        Finding::RoundedUp(got) => {
            for of in [printed, computed] {
                ledger.equal(case, field, got, &of.map_or(f64::NAN, number).ceil());
            }
        }
        Finding::AtLeast(got) => {
            let printed = printed.map_or(f64::NAN, number);
            ledger.verdict(case, field, *got >= printed, || format!("got {got}, printed at least {printed}"));
            ledger.compare(case, field, *got, computed.map_or(f64::NAN, number), relative(1e-12));
        }
        Finding::Drawn { got, printed_error, computed_error } => {
            for (name, other, error) in
                [("as printed", printed, printed_error), ("of the reference", computed, computed_error)]
            {
                let other = other.map_or(f64::NAN, number);
                let near = (got - other).abs() <= 3.0 * error;
                ledger.verdict(case, &format!("{field} {name}"), near, || {
                    format!("got {got}, expected {other} to three times {error}")
                });
            }
        }
        Finding::Answer(got) => {
            for of in [printed, computed] {
                ledger.equal(case, field, &Some(*got), &of.and_then(Value::as_bool));
            }
        }
        Finding::Absent => {
            for of in [printed, computed] {
                ledger.verdict(case, field, of.is_none(), || format!("nothing, expected {of:?}"));
            }
        }
        Finding::Numbers(got) => {
            for of in [printed, computed] {
                one_a_benchmark(case, ledger, field, got, of);
            }
        }
        Finding::Words(got) => {
            for of in [printed, computed] {
                ledger.equal(case, field, &Some(got.as_str()), &of.and_then(Value::as_str));
            }
        }
    }
}

fn one_a_benchmark(case: &Case<'_>, ledger: &mut Ledger, field: &str, got: &[f64], expected: Option<&Value>) {
    let expected: Vec<f64> =
        expected.and_then(Value::as_array).map_or(Vec::new(), |a| a.iter().map(number).collect());
    let near = |(got, expected): (&f64, &f64)| (got - expected).abs() <= 1e-12;
    let agrees = got.len() == expected.len() && got.iter().zip(&expected).all(near);
    ledger.verdict(case, field, agrees, || format!("got {got:?}, expected {expected:?}"));
}

/// One in the place of the last digit of the shortest decimal that reads back as `printed`.
fn unit_of_last_digit(printed: f64) -> f64 {
    let text = format!("{printed:e}");
    let (digits, exponent) = text.split_once('e').expect("a number in scientific notation");
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let exponent: i32 = exponent.parse().expect("an exponent");
    10.0_f64.powi(exponent - i32::try_from(decimals).expect("few decimals"))
}
