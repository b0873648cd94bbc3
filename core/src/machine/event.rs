//! Events: everything that ever changes the coordinator's machine. They are what the journal keeps, so that replaying
//! them gives the same machine again.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    fingerprint::ClassId, host::HostFacts, machine::provision::EngineNote, plan::Extension, plan::Plan,
    run::AfterLoss, run::LossReason, run::Settlement, run::lease::Lease, run::record::Record,
    value::id::AgentEpoch, value::id::AgentId, value::id::Attempt, value::id::ExperimentId,
    value::id::HostId, value::id::LeaseEpoch, value::id::RunIndex, value::time::Timestamp,
};

/// One change, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, on the coordinator's time line.
    pub at: Timestamp,
    pub change: Change,
}

/// A request of which a repetition is known: by the id that its client drew, and the hash of what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Drawn by the client.
    pub id: Uuid,
    /// BLAKE3 of what was asked for, and by whom.
    pub content: [u8; 32],
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The coordinator's process started; no host is connected yet.
    CoordinatorStarted,
    Submitted {
        experiment: ExperimentId,
        plan: Arc<Plan>,
        by: String,
        /// Which request it was, where it may be repeated.
        request: Option<RequestKey>,
    },
    /// No run of it is given out until it is resumed.
    Paused {
        experiment: ExperimentId,
        by: String,
        reason: String,
    },
    /// Its runs are given out again.
    Resumed {
        experiment: ExperimentId,
        by: String,
    },
    /// No further run of it is given out.
    Cancelled {
        experiment: ExperimentId,
        by: String,
        /// Why; may be empty where a person did it.
        reason: String,
    },
    /// Further runs were appended to its plan.
    Extended {
        experiment: ExperimentId,
        /// The first of them: as many as there were before.
        from: u32,
        appended: Extension,
        by: String,
    },
    /// All its runs are settled, and its rule has to say whether they are enough.
    AwaitingDecision {
        experiment: ExperimentId,
    },
    /// Its rule has said whether its runs are enough; where they are not, further ones follow.
    Decided {
        experiment: ExperimentId,
        by: String,
        enough: bool,
        words: String,
    },
    /// It takes hosts of this class only, and of those that are approved from now on. A class pinned before is let go of:
    /// nothing was measured on it.
    ClassPinned {
        experiment: ExperimentId,
        class: ClassId,
    },
    /// It takes hosts of this class too.
    ClassApproved {
        experiment: ExperimentId,
        /// The class of which host.
        host: HostId,
        class: ClassId,
        by: String,
    },
    /// All its runs are settled; the machine forgets it, the store keeps it.
    Finished {
        experiment: ExperimentId,
        /// How its runs were settled.
        tally: Tally,
        cancelled: bool,
    },
    HostJoined {
        facts: Box<HostFacts>,
        agent: AgentId,
        epoch: AgentEpoch,
    },
    HostLeft {
        host: HostId,
        /// When a lease it holds is given up.
        give_up: Timestamp,
    },
    /// It joined with another fingerprint than before.
    HostDrifted {
        host: HostId,
        /// The names of the facts that are different.
        facts: Vec<String>,
    },
    /// It ends what it has and gets no more.
    HostDrained {
        host: HostId,
        by: String,
    },
    /// Something is wrong with it: it gets no more.
    HostQuarantined {
        host: HostId,
        by: String,
        reason: String,
    },
    /// It is given runs again.
    HostResumed {
        host: HostId,
        by: String,
    },
    /// Its id is anybody's again: its attempt and visits have been given up, and the next to join with it is the host.
    HostReset {
        host: HostId,
        by: String,
    },
    /// Something happened between the coordinator and an engine that gives out hosts. Nothing follows from it.
    EngineNoted(EngineNote),
    /// It was asked to boot anew.
    RebootAsked {
        host: HostId,
        experiment: ExperimentId,
        /// When it should be back.
        give_up: Timestamp,
    },
    /// The rest of a visit goes to another host: this one is gone or silent.
    VisitBroken {
        host: HostId,
        experiment: ExperimentId,
    },
    /// A connected host waits for work. Not kept: it asks again when it connects again.
    HostAsked {
        host: HostId,
    },
    /// Nothing of what waits suits the asking host. Not kept.
    HostPassed {
        host: HostId,
        /// When it will have rested, if that is what it lacks.
        until: Option<Timestamp>,
    },
    /// An asking host is kept for a run that several hosts serve together, until all of them ask. Not kept.
    HostHeld {
        host: HostId,
        experiment: ExperimentId,
        run: RunIndex,
    },
    /// A host of a gang is prepared. Not kept: its agent says so again when it connects again.
    HostReady {
        host: HostId,
        lease: LeaseEpoch,
    },
    /// An attempt was given to a host.
    LeaseGranted(Box<Lease>),
    /// An attempt was given to hosts that serve it together, in the order of their seats.
    GangGranted(Vec<Lease>),
    /// The agent said that it began.
    RunStarted {
        host: HostId,
        lease: LeaseEpoch,
    },
    /// The attempt was executed: the run is settled.
    RunReported {
        host: HostId,
        lease: LeaseEpoch,
        record: Arc<Record>,
    },
    /// The part of a host is over in a run that another host has started.
    PartEnded {
        host: HostId,
        lease: LeaseEpoch,
        /// What it was like meanwhile.
        record: Arc<Record>,
    },
    /// The attempt was lost through the infrastructure; where several hosts served it, through this one.
    AttemptLost {
        host: HostId,
        lease: LeaseEpoch,
        reason: LossReason,
        /// What becomes of the run.
        after: AfterLoss,
    },
    /// An attempt that had been given up was reported after all: kept, marked, not analysed.
    LateReport {
        superseded: Superseded,
        record: Arc<Record>,
    },
}

impl Change {
    /// Whether the journal keeps it; what it does not keep is asked for again after a restart.
    pub const fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::HostAsked { .. } | Self::HostPassed { .. } | Self::HostHeld { .. } | Self::HostReady { .. }
        )
    }

    /// The leases that it gives, those of a gang in the order of their seats.
    pub fn granted(&self) -> &[Lease] {
        if let Self::LeaseGranted(lease) = self {
            return std::slice::from_ref(lease);
        }
        if let Self::GangGranted(leases) = self { leases } else { &[] }
    }

    /// Whether the plans may need other hosts after it: there is more to do, or a host that has nothing to do.
    pub const fn moves_demand(&self) -> bool {
        matches!(
            self,
            Self::Submitted { .. }
                | Self::Resumed { .. }
                | Self::Extended { .. }
                | Self::AttemptLost { .. }
                | Self::HostJoined { .. }
                | Self::HostLeft { .. }
                | Self::HostPassed { .. }
                | Self::HostHeld { .. }
        )
    }
}

/// An attempt that was given up before its report came.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Superseded {
    pub lease: LeaseEpoch,
    pub experiment: ExperimentId,
    pub run: RunIndex,
    pub attempt: Attempt,
    pub host: HostId,
    pub agent_epoch: AgentEpoch,
}

impl From<&Lease> for Superseded {
    fn from(lease: &Lease) -> Self {
        Self {
            lease: lease.epoch,
            experiment: lease.experiment,
            run: lease.run,
            attempt: lease.attempt,
            host: lease.host.clone(),
            agent_epoch: lease.agent_epoch,
        }
    }
}

/// How many runs are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Waiting for a host.
    pub waiting: u32,
    /// Given to a host.
    pub leased: u32,
    /// Begun.
    pub running: u32,
    /// Settled: measured.
    pub measured: u32,
    /// Settled: the benchmark failed.
    pub failed: u32,
    /// Settled: the infrastructure failed too often.
    pub abandoned: u32,
    /// Settled: cancelled before it was given out.
    pub cancelled: u32,
    /// Attempts lost, of whatever run.
    pub lost_attempts: u32,
}

impl Tally {
    /// All runs.
    pub const fn runs(&self) -> u32 {
        self.open() + self.settled()
    }

    /// Runs that can still change.
    pub const fn open(&self) -> u32 {
        self.waiting + self.leased + self.running
    }

    /// Runs that cannot change any more.
    pub const fn settled(&self) -> u32 {
        self.measured + self.failed + self.abandoned + self.cancelled
    }

    /// The count of one settlement.
    pub const fn counter(&mut self, settlement: Settlement) -> &mut u32 {
        match settlement {
            Settlement::Measured => &mut self.measured,
            Settlement::Failed => &mut self.failed,
            Settlement::Abandoned => &mut self.abandoned,
            Settlement::Cancelled => &mut self.cancelled,
        }
    }
}

/// An attempt that ended, with all the machine knew of it: one row of the export.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAttempt {
    pub lease: Lease,
    /// The number of its cell in the plan.
    pub cell: u32,
    pub ended: Timestamp,
    pub end: AttemptEnd,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptEnd {
    /// It was executed and settled its run.
    Reported(Arc<Record>),
    /// It was lost; a report may still come and is then kept beside.
    Lost {
        reason: LossReason,
        after: AfterLoss,
        /// The report that came too late, if one did.
        late: Option<Arc<Record>>,
    },
}

impl AttemptEnd {
    /// The end of an attempt that was reported.
    pub fn reported(record: Record) -> Self {
        Self::Reported(Arc::new(record))
    }
}
