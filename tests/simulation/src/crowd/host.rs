//! A host of a crowd, and what happens to it.

use speedup_core::fingerprint::{Fact, Fingerprint};
use speedup_core::host::HostFacts;
use speedup_core::machine::{Command, Speaker};
use speedup_core::value::id::{AgentEpoch, AgentId, HostId, LeaseEpoch};
use uuid::Uuid;

/// Something that happens to a host, by the start of its agent: later starts know nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    Asks,
    IsReady(LeaseEpoch),
    Ends(LeaseEpoch),
    Crashes,
    ComesBack,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It prepares for its part under a lease, or is prepared.
    Part(LeaseEpoch),
    Program(LeaseEpoch),
}

/// A host, and what its agent does.
#[derive(Clone, Debug)]
pub(super) struct CrowdHost {
    number: u32,
    pub(super) start: u64,
    /// Whether its agent lives.
    pub(super) is_here: bool,
    pub(super) does: Option<Doing>,
}

impl CrowdHost {
    pub(super) fn new(number: u32) -> Self {
        Self { number, start: 1, is_here: false, does: None }
    }

    pub(super) fn id(&self) -> HostId {
        format!("host-{}", self.number).parse().expect("a host id")
    }

    /// Whether it has to do with what it does.
    pub(super) fn minds(&self, happening: Happening) -> bool {
        match happening {
            Happening::IsReady(lease) => self.does == Some(Doing::Part(lease)),
            Happening::Ends(lease) => {
                [Some(Doing::Part(lease)), Some(Doing::Program(lease))].contains(&self.does)
            }
            Happening::Asks | Happening::Crashes | Happening::ComesBack => true,
        }
    }

    pub(super) fn epoch(&self) -> AgentEpoch {
        AgentEpoch(self.start)
    }

    pub(super) fn speaker(&self) -> Speaker {
        Speaker { host: self.id(), epoch: self.epoch() }
    }

    /// Every fourth is of another class.
    pub(super) fn join(&self) -> Command {
        let model = if self.number % 4 == 3 { "large" } else { "small" };
        let fingerprint = [("cpu.model".to_owned(), Fact::Value(model.to_owned()))].into();
        let boot = format!("boot-{}", self.number).parse().expect("a boot id");
        let facts = HostFacts {
            fingerprint: Fingerprint::new(fingerprint).expect("one short fact"),
            ..HostFacts::bare(self.id(), boot)
        };
        Command::Join { facts, agent: AgentId(Uuid::from_u128(self.number.into())), epoch: self.epoch() }
    }
}
