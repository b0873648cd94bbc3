//! Why a run is not running, and what all the waiting runs of an experiment wait for.

use speedup_core::machine::{
    Explanation, Hindrance, Hindrances, KeptHosts, LostAttempt, MAX_EXPLAINED, NAMED_HOSTS, NamedHost,
    Outlook, WaitingFor, Waits,
};
use speedup_core::run::Settlement;
use speedup_core::value::id::{Attempt, LeaseEpoch};

use super::host::FactNames;
use super::wire::field::{chosen, each, enumerated, id, optional_id, reason, required};
use super::wire::malformed::{Malformed, Within};
use super::wire::moment::{required_moment, timestamp};
use super::wire::{Each, PlainList, enumeration, structure};
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

structure!(LostAttempt, v1::explanation::Lost, [run, attempt, host, host_name, at, reason]);

fn waiting(attempt: Attempt, waiting_for: &WaitingFor) -> State {
    match waiting_for {
        WaitingFor::Resume { reason } => {
            State::WaitingForResume(WaitingForResume { attempt: attempt.0, reason: reason.clone() })
        }
        WaitingFor::Builds { made, builds } => {
            State::WaitingForBuilds(WaitingForBuilds { attempt: attempt.0, made: *made, builds: *builds })
        }
        WaitingFor::Hosts(counts) => {
            State::WaitingForHosts(HinderedRun { attempt, counts: counts.clone() }.into())
        }
    }
}

/// A run that waits for hosts.
struct HinderedRun {
    attempt: Attempt,
    counts: Hindrances,
}

structure!(
    HinderedRun {
        attempt,
        counts: Hindrances {
            rebooting, away, out_of_service, other_class, not_fresh, no_allocation, cannot_reboot, tried, busy, resting,
            ending, given_up, held_back, visited, able, differing, together, in_one_job, sets_spent
        }
    },
    WaitingForHosts,
    [
        attempt, rebooting, away, out_of_service, other_class, not_fresh, no_allocation, cannot_reboot, tried, busy, resting,
        ending, given_up, held_back, visited, able, differing => FactNames, together, in_one_job, sets_spent
    ]
);

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
                let HinderedRun { attempt, counts } = required(Some(hosts), "waiting_for_hosts")?;
                Self::Waiting { attempt, waiting_for: WaitingFor::Hosts(counts) }
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

// What all the waiting runs of an experiment wait for.
enumeration! {
    Hindrance,
    v1::Hindrance,
    [
        Able, Busy, Resting, Rebooting, Ending, HeldBack, GivenUp, Visited, NotFresh, NoAllocation,
        CannotReboot, Tried, OtherClass, OutOfService, Away
    ]
}

impl From<&Outlook> for v1::Outlook {
    fn from(outlook: &Outlook) -> Self {
        Self {
            waits: outlook.waits.iter().map(v1::Waits::from).collect(),
            left_out: outlook.left_out,
            lost: Vec::new(),
        }
    }
}

impl TryFrom<v1::Outlook> for Outlook {
    type Error = Malformed;

    fn try_from(wire: v1::Outlook) -> Result<Self, Malformed> {
        Ok(Self { waits: each(wire.waits, MAX_EXPLAINED, "waits")?, left_out: wire.left_out })
    }
}

structure!(
    Waits,
    v1::Waits,
    [of => PlainList(MAX_EXPLAINED), runs, hosts => Each(Hindrance::ALL.len()), differing => FactNames]
);
structure!(KeptHosts, v1::KeptHosts, [hindrance, hosts, first => Each(NAMED_HOSTS)]);
structure!(NamedHost, v1::NamedHost, [host, host_name]);
