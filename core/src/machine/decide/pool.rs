//! Hosts that join, leave, and are taken out of the pool.

#[cfg(test)]
mod tests;

use super::{Answer, dated};
use crate::host::{Host, HostFacts, Identifier, MAX_BOOTS, Sharing, Standing};
use crate::machine::{
    COORDINATOR, Effect, HostRequest, MAX_DRIFTED, MAX_EPOCH_LEAD, MAX_HOSTS, Machine, Refusal, Request,
    Speaker, event::Change, provision::PROVISIONER, provision::is_given_back,
};
use crate::run::{HostNumber, LossReason};
use crate::value::{id::AgentEpoch, id::AgentId, id::HostId, time::Timestamp};

impl Machine {
    pub(super) fn join(
        &self,
        now: Timestamp,
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
    ) -> Result<Vec<Change>, Refusal> {
        let facts = HostFacts { sharing: facts.sharing.or_alone(), ..facts };
        if epoch.0 > (now + MAX_EPOCH_LEAD).0 {
            return Err(Refusal::FutureAgent { host: facts.host, claimed: epoch, now });
        }
        let known = self.host(&facts.host);
        match known {
            None if self.hosts.len() >= MAX_HOSTS => return Err(Refusal::TooManyHosts),
            None => {}
            Some(known) => is_that_host(known, &facts, agent, epoch)?,
        }
        self.is_on_its_own_machine(&facts)?;
        let drifted = known.and_then(|known| self.drift(known, &facts));
        let stuck = known
            .filter(|known| known.reboot.is_some() && known.facts.boot == facts.boot && known.epoch != epoch);
        let stuck = stuck.map(|_| quarantined(&facts.host, "it came back without a reboot"));
        // Its engine has given it out anew.
        let is_back = known.is_some_and(|known| {
            is_given_back(&known.standing) && known.facts.job != facts.job && stuck.is_none()
        });
        let back =
            is_back.then(|| Change::HostResumed { host: facts.host.clone(), by: PROVISIONER.to_owned() });
        let joined = Change::HostJoined { facts: Box::new(facts), agent, epoch };
        Ok(std::iter::once(joined).chain(back).chain(drifted).chain(stuck).collect())
    }

    /// One machine under two ids would count as two. Another id on it stands in the way while it is connected, or while a
    /// running experiment rests on it; after that the machine may change its name. Where the owner says that hosts share the
    /// machine, all of them have to say so.
    fn is_on_its_own_machine(&self, facts: &HostFacts) -> Result<(), Refusal> {
        for mark in facts.marks() {
            let of_mark = (mark.clone(), HostNumber(0))..=(mark.clone(), HostNumber(u32::MAX));
            for other in self.marks.range(of_mark).map(|(_, number)| self.host_at(*number)) {
                let is_same = other.facts.host == facts.host;
                let do_share = facts.sharing == Sharing::Shared && other.facts.sharing != Sharing::Alone;
                let is_out = matches!(other.standing, Standing::Quarantined { .. });
                if !is_same && !do_share && (other.is_here() || other.is_in_use() || is_out) {
                    let by = mark.identifier();
                    return Err(Refusal::SameMachine { other: other.facts.host.clone(), by });
                }
            }
        }
        Ok(())
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

    /// An idle host that is given back is free at once; a busy one when it asks again.
    pub(super) fn drain(&self, now: Timestamp, HostRequest { host: id, by }: HostRequest) -> Answer {
        let host = self.known(&id)?;
        Ok(match host.standing {
            Standing::Serving => {
                let is_free = by == PROVISIONER && host.is_here() && is_idle(host);
                let dismiss = is_free.then(|| Effect::Dismiss { host: id.clone() });
                (dated(now, vec![Change::HostDrained { host: id, by }]), dismiss.into_iter().collect())
            }
            Standing::Draining { .. } | Standing::Quarantined { .. } => (Vec::new(), Vec::new()),
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
        let is_well = match self.known(&host)?.standing {
            Standing::Serving => !self.is_in_trouble(self.numbers[&host]),
            Standing::Draining { .. } | Standing::Quarantined { .. } => false,
        };
        Ok(if is_well { Vec::new() } else { vec![Change::HostResumed { host, by }] })
    }

    /// Its attempt and visits go to other hosts at once: whoever has them cannot be told from whoever joins next.
    pub(super) fn reset_host(
        &self,
        HostRequest { host: id, by }: HostRequest,
    ) -> Result<Vec<Change>, Refusal> {
        let host = self.known(&id)?;
        let lease = host.lease.as_ref();
        let lost = lease.map(|lease| self.lost(lease, LossReason::HostLost));
        // The visit of a lost attempt ends with it.
        let visits = host.visits.keys().filter(|visit| lease.is_none_or(|lease| lease.experiment != **visit));
        let broken = visits.map(|visit| Change::VisitBroken { host: id.clone(), experiment: *visit });
        let reset = Change::HostReset { host: id.clone(), by };
        Ok(lost.into_iter().chain(broken).chain([reset]).collect())
    }

    pub(super) fn approve(
        &self,
        Request { experiment, by }: Request,
        host: HostId,
    ) -> Result<Vec<Change>, Refusal> {
        let active = self.changeable(experiment)?;
        let class = self.known(&host)?.class;
        if !active.independence().hosts.pins_classes() {
            return Err(Refusal::AnyClass(experiment));
        }
        if active.kept.classes.contains(&class) {
            return Ok(Vec::new());
        }
        Ok(vec![Change::ClassApproved { experiment, host, class, by }])
    }

    fn known(&self, host: &HostId) -> Result<&Host, Refusal> {
        self.host(host).ok_or_else(|| Refusal::UnknownHost(host.clone()))
    }
}

/// That something is wrong with a host, found by the machine.
/// Whether it holds no run and is in no visit.
pub(super) fn is_idle(host: &Host) -> bool {
    host.lease.is_none() && host.visits.is_empty() && host.reboot.is_none()
}

pub(super) fn quarantined(host: &HostId, reason: impl Into<String>) -> Change {
    Change::HostQuarantined { host: host.clone(), by: COORDINATOR.to_owned(), reason: reason.into() }
}

/// Whether what joins is the host that is known by this id, and its agent the latest.
fn is_that_host(known: &Host, facts: &HostFacts, agent: AgentId, epoch: AgentEpoch) -> Result<(), Refusal> {
    let host = || facts.host.clone();
    let is_full = known.boots.len().max(known.allocations.len()) >= MAX_BOOTS;
    if is_full && !known.boots.contains(&facts.boot) {
        return Err(Refusal::TooManyBoots(host()));
    }
    if known.is_released {
        return Ok(());
    }
    let is_another = |by, other| Err(Refusal::AnotherMachine { host: host(), by, other });
    if let (Some(before), Some(now)) = (known.facts.hardware, facts.hardware)
        && before != now
    {
        return is_another(Identifier::Hardware, before.to_string());
    }
    // A host that was asked to boot may be back before its connection is noticed to be gone.
    if known.is_here() && known.facts.boot != facts.boot && known.reboot.is_none() {
        return is_another(Identifier::Boot, known.facts.boot.to_string());
    }
    if known.agent != agent && known.is_here() {
        return Err(Refusal::HostClaimed { host: host(), agent: known.agent });
    }
    if known.epoch > epoch || (known.epoch == epoch && known.agent != agent) {
        return Err(Refusal::StaleAgent { host: host(), known: known.epoch, claimed: epoch });
    }
    if known.facts.boot != facts.boot && known.boots.contains(&facts.boot) {
        return Err(Refusal::OldBoot { host: host(), boot: facts.boot.clone() });
    }
    Ok(())
}
