//! Events of the pool, of classes of hosts, and of rules.

use speedup_core::host::fingerprint::ClassId;
use speedup_core::machine::event::Change;
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::value::id::{ExperimentId, HostId};
use speedup_core::value::time::Timestamp;

use super::{Kept, journal};
use crate::convert::field::{class, enumerated, enumeration, id, optional_id};
use crate::convert::host::fact_names;
use crate::convert::id::{experiment_id, id_bytes};
use crate::convert::malformed::Malformed;

pub(super) fn host_changed(host: &HostId, by: &str, reason: &str) -> journal::HostChanged {
    let (by, reason) = (by.to_owned(), reason.to_owned());
    journal::HostChanged { host: host.as_str().to_owned(), by, reason }
}

enumeration!(
    EngineNoteKind,
    journal::EngineNoteKind,
    [Added, Removed, JobsAsked, JobBegan, JobEnded, JobFailed, Stopped, SshAdded, SshRemoved, SshStarted]
);

pub(super) fn engine_noted(EngineNote { kind, host, by, words }: &EngineNote) -> Kept {
    let kind = journal::EngineNoteKind::from(*kind).into();
    let host = host.as_ref().map(|host| host.as_str().to_owned());
    Kept::EngineNoted(journal::EngineNoted { kind, by: by.clone(), words: words.clone(), host })
}

impl TryFrom<journal::EngineNoted> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::EngineNoted) -> Result<Self, Malformed> {
        let kind = enumerated::<journal::EngineNoteKind, _>(wire.kind, "kind")?;
        let host = optional_id(wire.host, "host")?;
        Ok(Self::EngineNoted(EngineNote { kind, host, by: wire.by, words: wire.words }))
    }
}

pub(super) fn host_drifted(host: &HostId, facts: &[String]) -> Kept {
    Kept::HostDrifted(journal::HostDrifted { host: host.as_str().to_owned(), facts: facts.to_vec() })
}

impl TryFrom<journal::HostDrifted> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::HostDrifted) -> Result<Self, Malformed> {
        Ok(Self::HostDrifted { host: id(wire.host, "host")?, facts: fact_names(wire.facts, "facts")? })
    }
}

pub(super) fn class_pinned(experiment: ExperimentId, class: ClassId) -> Kept {
    let (experiment, class) = (id_bytes(experiment.0), class.to_string());
    Kept::ClassPinned(journal::ClassTaken { experiment, class, ..journal::ClassTaken::default() })
}

pub(super) fn class_approved(experiment: ExperimentId, host: &HostId, class: ClassId, by: &str) -> Kept {
    Kept::ClassApproved(journal::ClassTaken {
        experiment: id_bytes(experiment.0),
        class: class.to_string(),
        host: host.as_str().to_owned(),
        by: by.to_owned(),
    })
}

impl journal::ClassTaken {
    pub(super) fn pinned(self) -> Result<Change, Malformed> {
        let experiment = experiment_id(&self.experiment, "experiment")?;
        Ok(Change::ClassPinned { experiment, class: class(&self.class, "class")? })
    }

    pub(super) fn approved(self) -> Result<Change, Malformed> {
        let experiment = experiment_id(&self.experiment, "experiment")?;
        let (host, class) = (id(self.host, "host")?, class(&self.class, "class")?);
        Ok(Change::ClassApproved { experiment, host, class, by: self.by })
    }
}

pub(super) fn reboot_asked(host: &HostId, experiment: ExperimentId, give_up: Timestamp) -> Kept {
    let (host, experiment) = (host.as_str().to_owned(), id_bytes(experiment.0));
    Kept::RebootAsked(journal::RebootAsked { host, experiment, give_up_ns: give_up.0 })
}

impl TryFrom<journal::RebootAsked> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::RebootAsked) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        Ok(Self::RebootAsked {
            host: id(wire.host, "host")?,
            experiment,
            give_up: Timestamp(wire.give_up_ns),
        })
    }
}

pub(super) fn decided(experiment: ExperimentId, by: &str, enough: bool, words: &str) -> Kept {
    let (by, words) = (by.to_owned(), words.to_owned());
    Kept::Decided(journal::Decided { experiment: id_bytes(experiment.0), by, enough, words })
}

impl TryFrom<journal::Decided> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::Decided) -> Result<Self, Malformed> {
        let journal::Decided { experiment, by, enough, words } = wire;
        Ok(Self::Decided { experiment: experiment_id(&experiment, "experiment")?, by, enough, words })
    }
}

pub(super) fn visit_broken(host: &HostId, experiment: ExperimentId) -> Kept {
    let (host, experiment) = (host.as_str().to_owned(), id_bytes(experiment.0));
    Kept::VisitBroken(journal::VisitBroken { host, experiment })
}

impl TryFrom<journal::VisitBroken> for Change {
    type Error = Malformed;

    fn try_from(wire: journal::VisitBroken) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        Ok(Self::VisitBroken { host: id(wire.host, "host")?, experiment })
    }
}
