//! Power and required runs against R's `power.t.test` and `power.prop.test`.

use crate::case::{Case, Ledger, Tolerance, relative};
use speedup_statistics::inference::{Alternative, Risk};
use speedup_statistics::planning::power::{Group, PowerError, ProportionTestPower, Rejections, WelchPower};

/// The absolute part is what AS 243, by which R has its noncentral t, leaves of a small tail.
const TOLERANCE: Tolerance = relative(1e-8).or_absolute(1e-12);
/// Beyond this noncentrality R's `pt` takes a normal approximation instead of AS 243.
const R_APPROXIMATES_BEYOND: f64 = 37.62;

pub(crate) fn power(case: &mut Case<'_>, ledger: &mut Ledger) {
    means(case, ledger);
    proportions(case, ledger);
}

/// R's answers for a number of runs, a difference and a spread have the power for which they were asked.
fn means(case: &mut Case<'_>, ledger: &mut Ledger) {
    let samples = match text(case, "/type") {
        Some("two.sample") => 2.0,
        Some("one.sample" | "paired") => 1.0,
        Some(_) | None => return,
    };
    let two_sided = text(case, "/alternative") == Some("two.sided");
    let alternative = if two_sided { Alternative::TwoSided } else { Alternative::Greater };
    let risk = Risk::new(given(case, "/sig_level")).expect("a risk");
    let test = WelchPower { alternative, rejections: rejections(case, "/strict"), risk };
    let [n, delta, sd, power] = ["/n", "/delta", "/sd", "/power"].map(|field| given(case, field));
    for (pointer, unknown) in
        [("/t/n_given", "power"), ("/t/solve_n", "n"), ("/t/solve_delta", "delta"), ("/t/solve_sd", "sd")]
    {
        let field = format!("{pointer}/{unknown}");
        if case.refusal(pointer).is_some() {
            ledger.skip(case, &format!("{pointer}/error"), "nothing is solved for here");
            continue;
        }
        let Some(answer) = case.number(&field) else { continue };
        let or_answer = |name: &str, given: f64| if unknown == name { answer } else { given };
        let [n, delta, sd] = [or_answer("n", n), or_answer("delta", delta), or_answer("sd", sd)];
        // One sample is compared with one that does not vary.
        let second = Group { runs: n, sd: if samples == 2.0 { sd } else { 0.0 } };
        let got = test.power(Group { runs: n, sd }, second, delta).unwrap_or(f64::NAN);
        let expected = or_answer("power", power);
        if got < 1.0 - 1e-9 && delta / sd * (n / samples).sqrt() > R_APPROXIMATES_BEYOND {
            ledger.skip_named(&field, APPROXIMATE);
        } else {
            ledger.compare(case, &field, got, expected, TOLERANCE);
        }
    }
}

fn proportions(case: &mut Case<'_>, ledger: &mut Ledger) {
    if case.peek("/prop").is_none() {
        return;
    }
    let risk = Risk::new(given(case, "/sig_level")).expect("a risk");
    let [n, p1, p2] = ["/prop/n", "/prop/p1", "/prop/p2"].map(|field| given(case, field));
    let power = given(case, "/power");
    // R's one-sided test looks on whichever side the true difference is.
    let alternative = match text(case, "/alternative") {
        Some("two.sided") => Alternative::TwoSided,
        Some(_) | None if p1 > p2 => Alternative::Greater,
        Some(_) | None => Alternative::Less,
    };
    let rejections = rejections(case, "/prop/strict_n_given");
    let test = ProportionTestPower { alternative, rejections, risk };
    verify(case, ledger, "/prop/expected/n_given", "power", test.power(n, p1, p2));
    // As its name says, `strict_n_given` was set where n was given; R solved for the others without it.
    let test = ProportionTestPower { rejections: Rejections::OnTheTrueSide, ..test };
    verify(case, ledger, "/prop/expected/solve_n", "n", test.trials(p1, p2, power));
    verify(case, ledger, "/prop/expected/solve_p2", "p2", test.second(n, p1, power));
}

const APPROXIMATE: &str =
    "R's pt approximates the noncentral t here, and its digits are not those of the law";

/// The answer must be the number at `pointer`, or a refusal where R stopped.
fn verify(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    pointer: &str,
    unknown: &str,
    got: Result<f64, PowerError>,
) {
    let field = format!("{pointer}/{unknown}");
    if case.is_read(pointer) {
        return;
    }
    let refused = case.refusal(pointer).is_some();
    match got {
        Ok(got) if refused => {
            let message = || format!("got {got:e}, and R stopped");
            ledger.verdict(case, &field, false, message);
        }
        Ok(got) => ledger.number(case, &field, got, TOLERANCE),
        Err(_) if refused => ledger.verdict(case, &format!("{pointer}/error"), true, String::new),
        Err(error) => {
            let expected = case.number(&field);
            ledger.verdict(case, &field, expected.is_none_or(f64::is_nan), || {
                format!("refused ({error}), expected {expected:?}")
            });
        }
    }
}

fn rejections(case: &mut Case<'_>, field: &str) -> Rejections {
    let strict = case.value(field).and_then(serde_json::Value::as_bool).unwrap_or(false);
    if strict { Rejections::OnEitherSide } else { Rejections::OnTheTrueSide }
}

fn given(case: &mut Case<'_>, field: &str) -> f64 {
    case.number(field).unwrap_or(f64::NAN)
}

fn text<'a>(case: &mut Case<'a>, field: &str) -> Option<&'a str> {
    case.value(field).and_then(serde_json::Value::as_str)
}
