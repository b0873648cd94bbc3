//! Why a run is not running, and what all runs of an experiment wait for, in sentences.

use speedup_core::machine::{
    Explanation, Hindrance, Hindrances, KeptHosts, LostAttempt, NamedHost, Outlook, WaitingFor, Waits,
};
use speedup_core::run::Settlement;
use speedup_core::value::id::{HostId, HostName, RunIndex};

use super::{counted, table::printable};
use crate::console::moment;

/// Most benchmarks or cells that are named of those that wait for the same.
const NAMED: usize = 6;

/// The explanation in sentences, with how the latest attempt was lost that ended.
pub(crate) fn sentences(run: RunIndex, explanation: &Explanation, lost: Option<&LostAttempt>) -> String {
    match lost {
        Some(lost) => format!("{}\n{}", state(run, explanation), how_lost(lost)),
        None => state(run, explanation),
    }
}

fn how_lost(lost: &LostAttempt) -> String {
    let host = called(&lost.host, lost.host_name.as_ref());
    let (attempt, at, why) = (lost.attempt, moment::local(lost.at), printable(&lost.reason.words()));
    format!("Attempt {attempt}, on host {host}, was lost at {at}: {why}.")
}

/// The latest lost attempts of an experiment, each with its reason.
pub(crate) fn losses(lost: &[LostAttempt]) -> String {
    let line = |lost: &LostAttempt| format!("\n  run {}: {}", lost.run, how_lost(lost));
    format!("The latest lost attempts:{}", lost.iter().map(line).collect::<String>())
}

/// As people call a host: by its name, where it has one.
fn called<'a>(host: &'a HostId, name: Option<&'a HostName>) -> &'a str {
    name.map_or(host.as_str(), HostName::as_str)
}

fn state(run: RunIndex, explanation: &Explanation) -> String {
    match explanation {
        Explanation::Settled(settlement) => settled(run, *settlement),
        Explanation::Held { host, host_name, lease, begun, connected, deadline } => {
            let host = called(host, host_name.as_ref());
            let does = if *begun { "executes" } else { "was given" };
            let there = if *connected { "" } else { " The host is not connected now." };
            let until = moment::local(*deadline);
            format!(
                "Host {host} {does} run {run} under lease {lease}.{there} Unless it ends before, it is given up at {until}."
            )
        }
        Explanation::Waiting { attempt, waiting_for } => {
            let which = if attempt.0 == 1 {
                format!("Run {run} is waiting for a host.")
            } else {
                format!("Run {run} lost {} and is waiting for a host to try again.", attempts(attempt.0 - 1))
            };
            format!("{which} {}", waits_for(waiting_for))
        }
    }
}

fn attempts(count: u32) -> String {
    if count == 1 { "an attempt".to_owned() } else { format!("{count} attempts") }
}

fn settled(run: RunIndex, settlement: Settlement) -> String {
    match settlement {
        Settlement::Measured => format!("Run {run} was measured and counts."),
        Settlement::Failed => {
            format!(
                "Run {run} was executed and its benchmark failed; failures are outcomes and are not repeated."
            )
        }
        Settlement::Abandoned => {
            format!("Run {run} was abandoned: all the attempts that the plan gives it were lost.")
        }
        Settlement::Cancelled => {
            format!("Run {run} was not executed: its experiment was cancelled before.")
        }
    }
}

fn waits_for(what: &WaitingFor) -> String {
    match what {
        WaitingFor::Resume { reason } => {
            format!("Its experiment is paused: {reason}. `speedup resume` resumes it.")
        }
        WaitingFor::Builds { made, builds } => {
            format!(
                "Its experiment is still building: {made} of {builds} builds are there, and runs follow the last."
            )
        }
        WaitingFor::Hosts(counts) => waits_for_hosts(counts),
    }
}

fn waits_for_hosts(counts: &Hindrances) -> String {
    let told = Hindrance::ALL.map(|hindrance| (counts.of(hindrance), hindrance));
    if told.iter().all(|(count, _)| *count == 0) {
        return NO_HOST.to_owned();
    }
    let lines = told.iter().filter(|(count, _)| *count > 0);
    let lines: String =
        lines.map(|(count, hindrance)| format!("\n  {count:>6}  {}", words(*hindrance))).collect();
    let differing = differing(&counts.differing);
    let passes = told.iter().any(|(count, hindrance)| *count > 0 && hindrance.passes());
    let next = if passes { "" } else { NOBODY };
    let together = together(counts) + if counts.sets_spent { SPENT } else { "" };
    format!("Of the hosts of the pool are{lines}{together}{differing}{next}")
}

fn together(counts: &Hindrances) -> String {
    match (counts.together, counts.in_one_job) {
        (0, _) => String::new(),
        (hosts, false) => format!("\nThe run needs {hosts} of them at once, of one class."),
        (hosts, true) => format!("\nThe run needs {hosts} of them at once, in one job of their engine."),
    }
}

const SPENT: &str = "\nAll sets of so many that are able have served; another host makes new ones.";
const NO_HOST: &str = "There is no host in the pool; `speedup agent start` on a machine adds one, `speedup hosts slurm add` requests \
                       them from Slurm.";
const NOBODY: &str = "\nNo host of the pool can take it; `speedup agent start` on a machine adds one, `speedup hosts slurm add` \
                      requests others from Slurm.";

fn differing(facts: &[String]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let names = facts.join(", ");
    format!("\nThe first of another class differs in {names}; `speedup hosts approve` takes its class too.")
}

/// What keeps hosts from a run.
const fn words(hindrance: Hindrance) -> &'static str {
    match hindrance {
        Hindrance::Able => "could take it, but earlier runs go first, or they have not polled yet",
        Hindrance::Busy => "busy with another run",
        Hindrance::Resting => "idle, as the plan's policy requires",
        Hindrance::Rebooting => "booting anew",
        Hindrance::Ending => {
            "in an allocation that may end before the run would (timeouts, warm-ups and setup count)"
        }
        Hindrance::HeldBack => "held back until other hosts have tried: the plan could not be executed there",
        Hindrance::GivenUp => {
            "left out by this experiment for a time: three attempts in a row were lost there"
        }
        Hindrance::Visited => {
            "excluded by `hosts` of [repetitions]: they serve another visit of the cell, or are needed for one"
        }
        Hindrance::NotFresh => "not fresh: used before in the scope of the plan's policy",
        Hindrance::NoAllocation => "not fresh, and never again: they have no allocation ids",
        Hindrance::CannotReboot => "in need of a reboot, and without a --reboot-command",
        Hindrance::Tried => "tried with this very run before",
        Hindrance::OtherClass => "of another class than the experiment allows",
        Hindrance::OutOfService => "drained or quarantined",
        Hindrance::Away => "not connected",
    }
}

/// What all the waiting runs of an experiment wait for.
pub(crate) fn outlook(outlook: &Outlook) -> String {
    let mut paragraphs: Vec<String> = outlook.waits.iter().map(waits).collect();
    if outlook.left_out > 0 {
        paragraphs.push(format!(
            "{} more kinds of runs wait; `speedup explain ID RUN` says for what a run of them does.",
            outlook.left_out
        ));
    }
    paragraphs.join("\n\n")
}

fn waits(waits: &Waits) -> String {
    let named = waits.of.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match waits.of.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if waits.runs == 1 { "waits" } else { "wait" };
    let head = format!("{} of {named}{more} {verb}.", counted(waits.runs.into(), "run"));
    if waits.hosts.is_empty() {
        return format!("{head} {NO_HOST}");
    }
    let lines: String = waits.hosts.iter().map(kept).collect();
    let remedies: String = remedies(waits).into_iter().map(|remedy| format!("\n{remedy}")).collect();
    format!("{head} Of the hosts of the pool are{lines}{remedies}")
}

fn kept(kept: &KeptHosts) -> String {
    let names: Vec<&str> = kept.first.iter().map(named).collect();
    let more = if kept.hosts as usize > names.len() { ", …" } else { "" };
    format!("\n  {:>6}  {} ({}{more})", kept.hosts, words(kept.hindrance), names.join(", "))
}

fn named(host: &NamedHost) -> &str {
    called(&host.host, host.host_name.as_ref())
}

/// What would let the runs go on, where nothing does by itself.
fn remedies(waits: &Waits) -> Vec<String> {
    if waits.hosts.iter().any(|kept| kept.hindrance.passes()) {
        return vec!["They continue when one of these hosts polls for work.".to_owned()];
    }
    let first = |hindrance: Hindrance| {
        let kept = waits.hosts.iter().find(|kept| kept.hindrance == hindrance)?;
        kept.first.first().map(named)
    };
    let mut remedies = vec!["No connected host can take any of them. What helps:".to_owned()];
    if let Some(host) = first(Hindrance::Away) {
        remedies.push(format!(
            "  start the agents that are not connected; `speedup hosts show {host}` says since when"
        ));
    }
    if let Some(host) = first(Hindrance::OutOfService) {
        remedies.push(format!("  `speedup hosts resume {host}` puts a host back into service"));
    }
    if first(Hindrance::OtherClass).is_some() {
        let facts = waits.differing.join(", ");
        remedies
            .push(format!("  `speedup hosts approve` takes another class too: the first differs in {facts}"));
    }
    if first(Hindrance::CannotReboot).is_some() {
        remedies.push(
            "  start agents with --reboot-command, so that their hosts become fresh by a boot".to_owned(),
        );
    }
    let lost = [Hindrance::GivenUp, Hindrance::HeldBack, Hindrance::Tried];
    if lost.into_iter().any(|hindrance| first(hindrance).is_some()) {
        remedies.push(
            "  `speedup explain ID RUN` says why the attempt of a run was lost, `speedup export ID` of all; fix that"
                .to_owned(),
        );
    }
    remedies.push("  `speedup agent start` on another machine adds a fresh host, and a queue requests one (`speedup hosts slurm add`)"
            .to_owned());
    remedies
}

#[cfg(test)]
mod tests {
    use speedup_core::{run::LossReason, value::id::Attempt, value::id::LeaseEpoch, value::time::Timestamp};

    use super::*;

    fn waiting(attempt: u32, waiting_for: WaitingFor) -> String {
        sentences(RunIndex(7), &Explanation::Waiting { attempt: Attempt(attempt), waiting_for }, None)
    }

    #[test]
    fn a_waiting_run_tells_what_keeps_the_hosts() {
        let hosts =
            WaitingFor::Hosts(Hindrances { away: 2, not_fresh: 12, tried: 1, ..Hindrances::default() });
        let text = waiting(2, hosts);
        assert!(text.starts_with("Run 7 lost an attempt"), "{text}");
        assert!(text.contains("\n      12  not fresh") && text.contains("`speedup agent start`"), "{text}");
    }

    #[test]
    fn hosts_of_another_class_are_told_with_their_differences() {
        let differing = vec!["cpu.model".to_owned()];
        let text =
            waiting(1, WaitingFor::Hosts(Hindrances { other_class: 2, differing, ..Hindrances::default() }));
        assert!(text.contains("2  of another class") && text.contains("differs in cpu.model;"), "{text}");
    }

    #[test]
    fn an_empty_pool_is_told() {
        let gang = Hindrances { able: 2, together: 3, ..Hindrances::default() };
        let text = waiting(1, WaitingFor::Hosts(gang.clone()));
        assert!(text.contains(" 3 of them at once, of one class"), "{text}");
        let text = waiting(1, WaitingFor::Hosts(Hindrances { sets_spent: true, ..gang.clone() }));
        assert!(text.contains("of one class.\nAll sets"), "{text}");
        let text = waiting(1, WaitingFor::Hosts(Hindrances { in_one_job: true, ..gang }));
        assert!(text.contains(" 3 of them at once, in one job"), "{text}");
        let text = waiting(1, WaitingFor::Hosts(Hindrances::default()));
        assert!(text.contains("no host"), "{text}");
    }

    #[test]
    fn a_held_run_tells_who_and_until_when() {
        let held = Explanation::Held {
            host: "cluster:host-a".parse().unwrap(),
            host_name: Some("host-a".parse().unwrap()),
            lease: LeaseEpoch(3),
            begun: true,
            connected: false,
            deadline: Timestamp(0),
        };
        let text = sentences(RunIndex(7), &held, None);
        for part in ["host-a executes run 7", "lease 3", "not connected"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_run_that_lost_an_attempt_tells_where_and_why() {
        let waiting = Explanation::Waiting {
            attempt: Attempt(2),
            waiting_for: WaitingFor::Hosts(Hindrances { busy: 1, ..Hindrances::default() }),
        };
        let lost = LostAttempt {
            run: RunIndex(7),
            attempt: Attempt(1),
            host: "cluster:n7".parse().unwrap(),
            host_name: Some("n7".parse().unwrap()),
            at: Timestamp(0),
            reason: LossReason::JobEnded { words: "job 17: NODE_FAIL".to_owned(), is_excused: false },
        };
        let text = sentences(RunIndex(7), &waiting, Some(&lost));
        assert!(text.contains("\nAttempt 1, on host n7,"), "{text}");
        assert!(text.ends_with("(job 17: NODE_FAIL)."), "{text}");
        let text = losses(&[lost.clone(), lost]);
        assert_eq!(text.matches("\n  run 7: Attempt 1, on host n7,").count(), 2, "{text}");
        assert_eq!(text.matches("NODE_FAIL").count(), 2, "{text}");
    }

    #[test]
    fn what_an_experiment_waits_for_is_told_with_hosts_and_what_helps() {
        let kept = |hindrance, hosts, first: &[&str]| KeptHosts {
            hindrance,
            hosts,
            first: first
                .iter()
                .map(|name| NamedHost {
                    host: format!("cluster:{name}").parse().unwrap(),
                    host_name: Some(name.parse().unwrap()),
                })
                .collect(),
        };
        let stuck = Waits {
            of: (1..=8).map(|number| format!("b{number}")).collect(),
            runs: 348,
            hosts: vec![kept(Hindrance::NotFresh, 7, &["h1", "h2"]), kept(Hindrance::Away, 1, &["h8"])],
            differing: Vec::new(),
        };
        let goes_on = Waits { hosts: vec![kept(Hindrance::Busy, 1, &["h9"])], runs: 1, ..stuck.clone() };
        let text = outlook(&Outlook { waits: vec![stuck, goes_on], left_out: 0 });
        assert!(text.starts_with("348 runs of b1, b2, "), "{text}");
        for part in ["\n       7  not fresh", "(h1, h2, …)", "`speedup hosts show h8`"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.lines().last().is_some_and(|last| last.contains("polls")), "{text}");
    }
}
