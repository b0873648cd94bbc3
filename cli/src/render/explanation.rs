//! Why a run is not running, in sentences.

use speedup_core::id::RunIndex;
use speedup_core::machine::{Explanation, WaitingFor};
use speedup_core::run::Settlement;

use crate::moment;

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
        WaitingFor::Hosts { away, busy, not_fresh, tried, able } => {
            let told = [
                (*able, "could take it, but earlier runs go first or they have not asked yet"),
                (*busy, "at work on another run"),
                (*not_fresh, "not fresh: used before in the scope of the plan's policy"),
                (*tried, "tried with this very run before"),
                (*away, "not connected"),
            ];
            if told.iter().all(|(count, _)| *count == 0) {
                return "There is no host in the pool; `speedup agent start` adds one.".to_owned();
            }
            let told: Vec<String> = told
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("\n  {count:>6}  {what}"))
                .collect();
            let next = if able + busy == 0 {
                "\nNo host of the pool can take it; it needs another one."
            } else {
                ""
            };
            format!("Of the hosts of the pool are{}{next}", told.concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::id::{Attempt, LeaseEpoch};
    use speedup_core::time::Timestamp;

    use super::*;

    fn waiting(attempt: u32, waiting_for: WaitingFor) -> String {
        sentences(RunIndex(7), &Explanation::Waiting { attempt: Attempt(attempt), waiting_for })
    }

    #[test]
    fn a_waiting_run_tells_what_keeps_the_hosts() {
        let hosts = WaitingFor::Hosts { away: 2, busy: 0, not_fresh: 12, tried: 1, able: 0 };
        let text = waiting(2, hosts);
        assert!(text.starts_with("Run 7 lost an attempt and waits"), "{text}");
        assert!(text.contains("\n      12  not fresh") && text.ends_with("it needs another one."), "{text}");
    }

    #[test]
    fn an_empty_pool_is_told() {
        let text = waiting(1, WaitingFor::Hosts { away: 0, busy: 0, not_fresh: 0, tried: 0, able: 0 });
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
