//! Why a run is not running, in sentences.

use speedup_core::machine::{Explanation, Hindrances, WaitingFor};
use speedup_core::run::Settlement;
use speedup_core::value::id::RunIndex;

use crate::console::moment;

/// The explanation in sentences.
pub(crate) fn sentences(run: RunIndex, explanation: &Explanation) -> String {
    match explanation {
        Explanation::Settled(settlement) => settled(run, *settlement),
        Explanation::Held { host, lease, begun, connected, deadline } => {
            let does = if *begun { "executes" } else { "was given" };
            let there = if *connected { "" } else { " The host is not connected now." };
            let until = moment::local(*deadline);
            format!(
                "Host {host} {does} run {run} under lease {lease}.{there} Unless it ends before, it is given up at {until}."
            )
        }
        Explanation::Waiting { attempt, waiting_for } => {
            let which = if attempt.0 == 1 {
                format!("Run {run} waits for a host.")
            } else {
                format!("Run {run} lost {} and waits for a host to try again.", attempts(attempt.0 - 1))
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
            format!("Its experiment is paused: {reason}. `speedup resume` lets it go on.")
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
    let told = [
        (counts.able, "could take it, but earlier runs go first or they have not asked yet"),
        (counts.busy, "at work on another run"),
        (counts.resting, "resting, as the plan's policy wants"),
        (counts.rebooting, "booting anew"),
        (
            counts.ending,
            "in an allocation that may end before the run would (timeouts, warm-ups and setup count)",
        ),
        (counts.held_back, "waiting for what other hosts make of it: the plan could not be executed there"),
        (counts.given_up, "given up by this experiment: three attempts in a row were lost there"),
        (
            counts.visited,
            "kept from it by `hosts` of [repetitions]: they serve another visit of the cell, or are needed for one",
        ),
        (counts.not_fresh, "not fresh: used before in the scope of the plan's policy"),
        (counts.no_allocation, "not fresh, and never again: they have no allocation ids"),
        (counts.cannot_reboot, "in need of a new boot, and without a command for it"),
        (counts.tried, "tried with this very run before"),
        (counts.other_class, "of another class than the experiment takes"),
        (counts.out_of_service, "drained or quarantined"),
        (counts.away, "not connected"),
    ];
    if told.iter().all(|(count, _)| *count == 0) {
        return "There is no host in the pool; `speedup agent start` adds one.".to_owned();
    }
    let lines = told.iter().filter(|(count, _)| *count > 0);
    let lines: String = lines.map(|(count, what)| format!("\n  {count:>6}  {what}")).collect();
    let differing = if counts.differing.is_empty() {
        String::new()
    } else {
        let names = counts.differing.join(", ");
        format!(
            "\nThe first of another class differs in {names}; `speedup hosts approve` takes its class too."
        )
    };
    let next = if counts.able + counts.busy + counts.resting + counts.rebooting == 0 {
        "\nNo host of the pool can take it; it needs another one, which `speedup agent start` adds."
    } else {
        ""
    };
    format!("Of the hosts of the pool are{lines}{differing}{next}")
}

#[cfg(test)]
mod tests {
    use speedup_core::value::id::{Attempt, LeaseEpoch};
    use speedup_core::value::time::Timestamp;

    use super::*;

    fn waiting(attempt: u32, waiting_for: WaitingFor) -> String {
        sentences(RunIndex(7), &Explanation::Waiting { attempt: Attempt(attempt), waiting_for })
    }

    #[test]
    fn a_waiting_run_tells_what_keeps_the_hosts() {
        let hosts =
            WaitingFor::Hosts(Hindrances { away: 2, not_fresh: 12, tried: 1, ..Hindrances::default() });
        let text = waiting(2, hosts);
        assert!(text.starts_with("Run 7 lost an attempt and waits"), "{text}");
        assert!(
            text.contains("\n      12  not fresh") && text.ends_with("which `speedup agent start` adds."),
            "{text}"
        );
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
        let text = waiting(1, WaitingFor::Hosts(Hindrances::default()));
        assert!(text.contains("There is no host in the pool"), "{text}");
    }

    #[test]
    fn a_held_run_tells_who_and_until_when() {
        let held = Explanation::Held {
            host: "host-a".parse().unwrap(),
            lease: LeaseEpoch(3),
            begun: true,
            connected: false,
            deadline: Timestamp(0),
        };
        let text = sentences(RunIndex(7), &held);
        assert!(
            text.starts_with("Host host-a executes run 7 under lease 3. The host is not connected now."),
            "{text}"
        );
    }
}
