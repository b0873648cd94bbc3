//! Why a run is not running.

use speedup_core::id::{Attempt, LeaseEpoch};
use speedup_core::machine::{Explanation, WaitingFor};
use speedup_core::run::Settlement;
use speedup_core::time::Timestamp;

use super::field::{chosen, enumerated, enumeration, id, reason};
use super::malformed::{Malformed, Within};
use crate::v1;
use v1::explanation::{Held, State, WaitingForHosts, WaitingForResume};

enumeration!(Settlement, v1::Settlement, [Measured, Failed, Abandoned, Cancelled]);

impl From<&Explanation> for v1::Explanation {
    fn from(explanation: &Explanation) -> Self {
        let state = match explanation {
            Explanation::Waiting { attempt, waiting_for } => waiting(*attempt, waiting_for),
            Explanation::Held { host, lease, begun, connected, deadline } => State::Held(Held {
                host: host.as_str().to_owned(),
                lease: lease.0,
                begun: *begun,
                connected: *connected,
                deadline_ns: deadline.0,
            }),
            Explanation::Settled(settlement) => State::Settled(v1::Settlement::from(*settlement).into()),
        };
        Self { state: Some(state) }
    }
}

fn waiting(attempt: Attempt, waiting_for: &WaitingFor) -> State {
    let attempt = attempt.0;
    match waiting_for {
        WaitingFor::Resume { reason } => {
            State::WaitingForResume(WaitingForResume { attempt, reason: reason.clone() })
        }
        WaitingFor::Hosts { away, busy, not_fresh, tried, able } => {
            let (away, busy, not_fresh, tried, able) = (*away, *busy, *not_fresh, *tried, *able);
            State::WaitingForHosts(WaitingForHosts { attempt, away, busy, not_fresh, tried, able })
        }
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
            State::WaitingForHosts(hosts) => {
                let WaitingForHosts { attempt, away, busy, not_fresh, tried, able } = hosts;
                let waiting_for = WaitingFor::Hosts { away, busy, not_fresh, tried, able };
                Self::Waiting { attempt: Attempt(attempt), waiting_for }
            }
            State::Held(Held { host, lease, begun, connected, deadline_ns }) => Self::Held {
                host: id(host, "host").within("held")?,
                lease: LeaseEpoch(lease),
                begun,
                connected,
                deadline: Timestamp(deadline_ns),
            },
            State::Settled(settlement) => {
                Self::Settled(enumerated::<v1::Settlement, _>(settlement, "settled")?)
            }
        })
    }
}
