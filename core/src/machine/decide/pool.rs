//! Hosts that join, leave, and are taken out of the pool.

use crate::event::Change;
use crate::experiment::Sameness;
use crate::host::{Host, HostFacts, MAX_BOOTS, Standing};
use crate::id::{AgentEpoch, AgentId, HostId};
use crate::machine::{COORDINATOR, HostRequest, MAX_DRIFTED, MAX_HOSTS, Machine, Refusal, Request, Speaker};
use crate::time::Timestamp;

impl Machine {
    pub(super) fn join(
        &self,
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
    ) -> Result<Vec<Change>, Refusal> {
        let known = self.host(&facts.host);
        match known {
            None if self.hosts.len() >= MAX_HOSTS => return Err(Refusal::TooManyHosts),
            None => {}
            Some(known) => is_that_host(known, &facts, agent, epoch)?,
        }
        self.is_no_other_host(&facts)?;
        let drifted = known.and_then(|known| self.drift(known, &facts));
        let stuck = known
            .filter(|known| known.reboot.is_some() && known.facts.boot == facts.boot && known.epoch != epoch);
        let stuck = stuck.map(|_| quarantined(&facts.host, "it came back with the same boot id"));
        let joined = Change::HostJoined { facts, agent, epoch };
        Ok(std::iter::once(joined).chain(drifted).chain(stuck).collect())
    }

    /// One machine that joins under two ids of its own would count as two.
    fn is_no_other_host(&self, facts: &HostFacts) -> Result<(), Refusal> {
        if facts.named_by_owner {
            return Ok(());
        }
        match self.boots.get(&facts.boot).map(|number| &self.host_at(*number).facts.host) {
            Some(other) if *other != facts.host => Err(Refusal::SameMachine { other: other.clone() }),
            Some(_) | None => Ok(()),
        }
    }

    fn drift(&self, known: &Host, facts: &HostFacts) -> Option<Change> {
        if facts.fingerprint.class() == known.class {
            return None;
        }
        let before = self.fingerprint(known.class);
        let differences = before.map(|before| facts.fingerprint.differences(before)).unwrap_or_default();
        let names = differences.into_iter().map(|difference| difference.fact).take(MAX_DRIFTED);
        Some(Change::HostDrifted { host: facts.host.clone(), facts: names.collect() })
    }

    pub(super) fn leave(&self, now: Timestamp, speaker: Speaker) -> Vec<Change> {
        match self.host(&speaker.host) {
            Some(host) if host.is_here() && host.epoch == speaker.epoch => {
                vec![Change::HostLeft { host: speaker.host, give_up: now + self.settings.host_grace }]
            }
            Some(_) | None => Vec::new(),
        }
    }

    pub(super) fn drain(&self, HostRequest { host, by }: HostRequest) -> Result<Vec<Change>, Refusal> {
        Ok(match self.known(&host)?.standing {
            Standing::Serving => vec![Change::HostDrained { host, by }],
            Standing::Draining { .. } | Standing::Quarantined { .. } => Vec::new(),
        })
    }

    pub(super) fn quarantine(
        &self,
        HostRequest { host, by }: HostRequest,
        reason: String,
    ) -> Result<Vec<Change>, Refusal> {
        Ok(match self.known(&host)?.standing {
            Standing::Serving | Standing::Draining { .. } => {
                vec![Change::HostQuarantined { host, by, reason }]
            }
            Standing::Quarantined { .. } => Vec::new(),
        })
    }

    pub(super) fn resume_host(&self, HostRequest { host, by }: HostRequest) -> Result<Vec<Change>, Refusal> {
        Ok(match self.known(&host)?.standing {
            Standing::Serving => Vec::new(),
            Standing::Draining { .. } | Standing::Quarantined { .. } => {
                vec![Change::HostResumed { host, by }]
            }
        })
    }

    pub(super) fn approve(
        &self,
        Request { experiment, by }: Request,
        host: HostId,
    ) -> Result<Vec<Change>, Refusal> {
        let (active, class) = (self.changeable(experiment)?, self.known(&host)?.class);
        if active.plan.experiment.independence.hosts != Sameness::Identical {
            return Err(Refusal::AnyClass(experiment));
        }
        if active.classes.contains(&class) {
            return Ok(Vec::new());
        }
        Ok(vec![Change::ClassApproved { experiment, host, class, by }])
    }

    fn known(&self, host: &HostId) -> Result<&Host, Refusal> {
        self.host(host).ok_or_else(|| Refusal::UnknownHost(host.clone()))
    }
}

/// That something is wrong with a host, found by the machine.
pub(super) fn quarantined(host: &HostId, reason: impl Into<String>) -> Change {
    Change::HostQuarantined { host: host.clone(), by: COORDINATOR.to_owned(), reason: reason.into() }
}

/// Whether what joins is the host that is known by this id, and its agent the latest.
fn is_that_host(known: &Host, facts: &HostFacts, agent: AgentId, epoch: AgentEpoch) -> Result<(), Refusal> {
    let host = || facts.host.clone();
    let is_another = |what, other| Err(Refusal::AnotherMachine { host: host(), what, other });
    if let (Some(before), Some(now)) = (known.facts.hardware, facts.hardware)
        && before != now
    {
        return is_another("hardware", before.to_string());
    }
    // A host that was asked to boot may be back before its connection is noticed to be gone.
    if known.is_here() && known.facts.boot != facts.boot && known.reboot.is_none() {
        return is_another("boot", known.facts.boot.to_string());
    }
    if known.agent != agent && known.is_here() {
        return Err(Refusal::HostClaimed { host: host(), agent: known.agent });
    }
    if known.epoch > epoch || (known.epoch == epoch && known.agent != agent) {
        return Err(Refusal::StaleAgent { host: host(), known: known.epoch, claimed: epoch });
    }
    let is_latest = known.boots.last() == Some(&facts.boot);
    if !is_latest && known.boots.contains(&facts.boot) {
        return Err(Refusal::OldBoot { host: host(), boot: facts.boot.clone() });
    }
    if known.boots.len().max(known.allocations.len()) >= MAX_BOOTS && !is_latest {
        return Err(Refusal::TooManyBoots(host()));
    }
    Ok(())
}
