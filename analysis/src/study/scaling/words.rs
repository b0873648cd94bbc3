//! What more hosts bring, in sentences.

use super::{EfficiencyRatioRow, ScalingRow, ScalingValue, SerialShareReport, VersionScaling};
use crate::conclusion::EndpointVerdict;
use crate::count::{counted, p_value, percent, ratio};
use speedup_core::experiment::gang::ScalingLaw;

/// What a version gains by the most hosts, and its serial share.
pub(super) fn of_version(of: &VersionScaling, law: ScalingLaw) -> String {
    let gain = of.rows.last().and_then(|row| gained(row, law));
    let share = of.serial_share.as_ref().map(|share| of_share(share, law));
    let parts: Vec<String> = gain.into_iter().chain(share).collect();
    match parts.is_empty() {
        true => format!("{}: no number of hosts can be compared with another.", of.version),
        false => format!("{}: {}.", of.version, parts.join("; ")),
    }
}

fn gained(row: &ScalingRow, law: ScalingLaw) -> Option<String> {
    let (speedup, efficiency) = (row.speedup.as_ref()?, row.efficiency.as_ref()?);
    let on = counted(row.hosts.into(), "host");
    let work = if law == ScalingLaw::Weak { " as much work" } else { "" };
    Some(format!(
        "{}{work} on {on}, an efficiency of {}",
        ratio(speedup.estimate, speedup.interval.ends()),
        in_percent(efficiency)
    ))
}

fn of_share(share: &SerialShareReport, law: ScalingLaw) -> String {
    let what = match law {
        ScalingLaw::Strong => "the serial share of the work",
        ScalingLaw::Weak => "the share of the work that grows with the hosts and is serial",
    };
    if share.estimate > 1.0 {
        return format!("more hosts make it slower, which {what} does not explain");
    }
    if share.estimate < 0.0 {
        return format!("more hosts bring more than their number, which {what} does not explain");
    }
    let value = ScalingValue { estimate: share.estimate, interval: share.interval.within(0.0, 1.0) };
    let told = format!("{what} is {}", in_percent(&value));
    match share.fit_p_value {
        Some(p) if share.is_rejected => format!(
            "no constant serial share explains the times (p {}), as where communication takes longer on more hosts, so \
             that this one, {}, is of no use beyond these numbers of hosts",
            equals(p),
            in_percent(&value)
        ),
        Some(p) => format!("{told}, which the times do not contradict (p {})", equals(p)),
        None => format!("{told}, which two numbers of hosts cannot contradict"),
    }
}

/// A p-value as it follows the letter.
fn equals(p: f64) -> String {
    let shown = p_value(p);
    if shown.starts_with('<') { shown } else { format!("= {shown}") }
}

/// A share with its interval: "86.6 % [84.2 %, 88.9 %]".
fn in_percent(value: &ScalingValue) -> String {
    let rounded = |share: f64| percent((share * 1e3).round() / 1e3).replace('-', "−");
    match value.interval.ends() {
        Some((lower, upper)) => {
            format!("{} [{}, {}]", rounded(value.estimate), rounded(lower), rounded(upper))
        }
        None => format!("{}, without a bounded interval", rounded(value.estimate)),
    }
}

/// On which numbers of hosts the candidate loses less, or more, than the baseline.
pub(super) fn of_comparison(baseline: &str, candidate: &str, rows: &[EfficiencyRatioRow]) -> String {
    let on = |verdict: EndpointVerdict| {
        let hosts: Vec<String> =
            rows.iter().filter(|row| row.verdict == verdict).map(|row| row.hosts.to_string()).collect();
        (!hosts.is_empty()).then(|| hosts.join(", "))
    };
    let told: Vec<String> = [(EndpointVerdict::Better, "better"), (EndpointVerdict::Worse, "worse")]
        .into_iter()
        .filter_map(|(verdict, word)| Some(format!("{word} than {baseline} to {} hosts", on(verdict)?)))
        .collect();
    match told.is_empty() {
        true => format!("{candidate}: no difference from {baseline} in how it scales is shown."),
        false => format!("{candidate} scales {}.", told.join(", and ")),
    }
}
