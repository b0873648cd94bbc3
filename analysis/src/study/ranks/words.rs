//! What is said of the slowest rank, in sentences.

use super::{SlowestReport, VersionRanks};
use crate::count::{counted, p_value};

/// What is the slowest more often than chance makes it, and which runs say nothing of it.
pub(super) fn of_version(of: &VersionRanks) -> String {
    let tested: Vec<(&str, &SlowestReport)> = [("rank", &of.rank), ("seat", &of.seat), ("host", &of.host)]
        .into_iter()
        .filter_map(|(what, found)| Some((what, found.as_ref()?)))
        .collect();
    let more_often: Vec<String> = tested
        .iter()
        .filter(|(_, found)| found.is_more_often)
        .map(|(what, found)| told(what, found))
        .collect();
    let mut sentences = Vec::new();
    if !more_often.is_empty() {
        sentences.push(format!("{}.", more_often.join("; ")));
    } else if !tested.is_empty() {
        let subjects: Vec<&str> = tested.iter().map(|(what, _)| *what).collect();
        sentences.push(format!("no {} is the slowest more often than chance.", listed(&subjects)));
    }
    if let Some(tied) = of.rank.as_ref().map(|found| found.tied).filter(|tied| *tied > 0) {
        let (runs, tell) = (counted(tied, "run"), if tied == 1 { "tells" } else { "tell" });
        sentences.push(format!("{runs} with several slowest ranks {tell} nothing of it."));
    }
    if of.incomplete > 0 {
        let (runs, is) = (counted(of.incomplete, "run"), if of.incomplete == 1 { "is" } else { "are" });
        sentences.push(format!("{runs} of which a rank has not told its time {is} left out."));
    }
    match sentences.is_empty() {
        true => String::new(),
        false => format!("{}: {}", of.version, sentences.join(" ")),
    }
}

/// "rank 3 is the slowest in 12 of 20 runs (2.5 by chance, p < 0.0001)".
fn told(what: &str, found: &SlowestReport) -> String {
    let name = found.host_name.as_ref().unwrap_or(&found.name);
    let subject = match what {
        "rank" => format!("rank {name} is the slowest"),
        "seat" => format!("the host of seat {name} has the slowest"),
        _ => format!("host {name} has the slowest"),
    };
    let p = p_value(found.adjusted);
    let equals = if p.starts_with('<') { "" } else { "= " };
    let alike = match found.alike {
        0 => String::new(),
        others => format!(", as {} as often", if others == 1 { "is another one" } else { "are others" }),
    };
    format!(
        "{subject} in {} of {} ({:.1} by chance, adjusted p {equals}{p}){alike}",
        found.hits,
        counted(found.runs, "run"),
        found.expected
    )
}

fn listed(words: &[&str]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        _ => words.concat(),
    }
}
