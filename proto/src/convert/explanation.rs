//! Why a run is not running.

use speedup_core::machine::{Explanation, Hindrances, LostAttempt, WaitingFor};
use speedup_core::run::Settlement;
use speedup_core::value::id::{Attempt, LeaseEpoch, RunIndex};

use super::field::{chosen, enumerated, enumeration, id, optional_id, reason, required};
use super::host::fact_names;
use super::malformed::{Malformed, Within};
use super::moment::{required_moment, timestamp};
use crate::v1;
use v1::explanation::{Held, State, WaitingForBuilds, WaitingForHosts, WaitingForResume};

enumeration!(Settlement, v1::Settlement, [Measured, Failed, Abandoned, Cancelled]);

impl From<&Explanation> for v1::Explanation {
    fn from(explanation: &Explanation) -> Self {
        let state = match explanation {
            Explanation::Waiting { attempt, waiting_for } => waiting(*attempt, waiting_for),
            Explanation::Held { host, host_name, lease, begun, connected, deadline } => State::Held(Held {
                host: host.as_str().to_owned(),
                host_name: host_name.as_ref().map(|name| name.as_str().to_owned()),
                lease: lease.0,
                begun: *begun,
                connected: *connected,
                deadline: Some(timestamp(*deadline)),
            }),
            Explanation::Settled(settlement) => State::Settled(v1::Settlement::from(*settlement).into()),
        };
        Self { state: Some(state), lost: None }
    }
}

impl TryFrom<v1::explanation::Lost> for LostAttempt {
    type Error = Malformed;

    fn try_from(wire: v1::explanation::Lost) -> Result<Self, Malformed> {
        Ok(Self {
            run: RunIndex(wire.run),
            attempt: Attempt(wire.attempt),
            host: id(wire.host, "host")?,
            host_name: optional_id(wire.host_name, "host_name")?,
            at: required_moment(wire.at.as_ref(), "at")?,
            reason: required(wire.reason, "reason")?,
        })
    }
}

fn waiting(attempt: Attempt, waiting_for: &WaitingFor) -> State {
    let attempt = attempt.0;
    match waiting_for {
        WaitingFor::Resume { reason } => {
            State::WaitingForResume(WaitingForResume { attempt, reason: reason.clone() })
        }
        WaitingFor::Builds { made, builds } => {
            State::WaitingForBuilds(WaitingForBuilds { attempt, made: *made, builds: *builds })
        }
        WaitingFor::Hosts(counts) => State::WaitingForHosts(WaitingForHosts {
            attempt,
            away: counts.away,
            busy: counts.busy,
            not_fresh: counts.not_fresh,
            tried: counts.tried,
            able: counts.able,
            rebooting: counts.rebooting,
            out_of_service: counts.out_of_service,
            other_class: counts.other_class,
            no_allocation: counts.no_allocation,
            cannot_reboot: counts.cannot_reboot,
            resting: counts.resting,
            ending: counts.ending,
            given_up: counts.given_up,
            held_back: counts.held_back,
            visited: counts.visited,
            differing: counts.differing.clone(),
            together: counts.together,
            in_one_job: counts.in_one_job,
            sets_spent: counts.sets_spent,
        }),
    }
}

impl TryFrom<v1::Explanation> for Explanation {
    type Error = Malformed;

    fn try_from(wire: v1::Explanation) -> Result<Self, Malformed> {
        Ok(match chosen(wire.state, "state")? {
            State::WaitingForResume(WaitingForResume { attempt, reason: text }) => Self::Waiting {
                attempt: Attempt(attempt),
                waiting_for: WaitingFor::Resume { reason: reason(text) },
            },
            State::WaitingForBuilds(WaitingForBuilds { attempt, made, builds }) => {
                Self::Waiting { attempt: Attempt(attempt), waiting_for: WaitingFor::Builds { made, builds } }
            }
            State::WaitingForHosts(hosts) => {
                let counts = Hindrances {
                    rebooting: hosts.rebooting,
                    away: hosts.away,
                    out_of_service: hosts.out_of_service,
                    other_class: hosts.other_class,
                    not_fresh: hosts.not_fresh,
                    no_allocation: hosts.no_allocation,
                    cannot_reboot: hosts.cannot_reboot,
                    tried: hosts.tried,
                    busy: hosts.busy,
                    resting: hosts.resting,
                    ending: hosts.ending,
                    given_up: hosts.given_up,
                    held_back: hosts.held_back,
                    visited: hosts.visited,
                    able: hosts.able,
                    differing: fact_names(hosts.differing, "waiting_for_hosts.differing")?,
                    together: hosts.together,
                    in_one_job: hosts.in_one_job,
                    sets_spent: hosts.sets_spent,
                };
                Self::Waiting { attempt: Attempt(hosts.attempt), waiting_for: WaitingFor::Hosts(counts) }
            }
            State::Held(Held { host, lease, begun, connected, deadline, host_name }) => Self::Held {
                host: id(host, "host").within("held")?,
                host_name: optional_id(host_name, "host_name").within("held")?,
                lease: LeaseEpoch(lease),
                begun,
                connected,
                deadline: required_moment(deadline.as_ref(), "deadline").within("held")?,
            },
            State::Settled(settlement) => {
                Self::Settled(enumerated::<v1::Settlement, _>(settlement, "settled")?)
            }
        })
    }
}
