//! Events: everything that ever changes the coordinator's machine. The journal stores them, and
//! replaying them restores the machine.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    fingerprint::ClassId, host::HostFacts, machine::provision::EngineNote, plan::Extension, plan::Plan,
    run::AfterLoss, run::LossReason, run::Settlement, run::lease::Lease, run::record::Record,
    value::id::AgentEpoch, value::id::AgentId, value::id::Attempt, value::id::ExperimentId,
    value::id::HostId, value::id::LeaseEpoch, value::id::RunIndex, value::time::Timestamp,
};

/// A change of the machine, with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time of the change by the coordinator's clock, which never goes back here.
    pub at: Timestamp,
    pub change: Change,
}

/// Key by which a repeated request is recognized: an id drawn by the client, and a hash of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Drawn by the client.
    pub id: Uuid,
    /// BLAKE3 of the request and its user.
    pub content: [u8; 32],
}

/// Kind of a change, with its data. The compiler names the places that a new variant concerns, except the coordinator's
/// metrics, which count only some.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The coordinator's process started; no host is connected yet.
    CoordinatorStarted,
    Submitted {
        experiment: ExperimentId,
        plan: Arc<Plan>,
        by: String,
        /// Key of the request, if the client may repeat it.
        request: Option<RequestKey>,
    },
    /// No run of the experiment is given out until it is resumed.
    Paused {
        experiment: ExperimentId,
        by: String,
        reason: String,
    },
    /// Runs of the experiment are given out again.
    Resumed {
        experiment: ExperimentId,
        by: String,
    },
    /// No further run of the experiment is given out.
    Cancelled {
        experiment: ExperimentId,
        by: String,
        /// May be empty if a user cancelled it.
        reason: String,
    },
    /// Runs were appended to the plan.
    Extended {
        experiment: ExperimentId,
        /// Index of the first appended run, which is the number of runs before.
        from: u32,
        appended: Extension,
        by: String,
    },
    /// All runs are settled, and the rule has to decide whether they are enough.
    AwaitingDecision {
        experiment: ExperimentId,
    },
    /// The rule has decided whether the runs are enough. If they are not, `Extended` follows.
    Decided {
        experiment: ExperimentId,
        by: String,
        enough: bool,
        words: String,
    },
    /// The experiment accepts hosts of this class only, and of classes approved from now on. A class pinned before no longer counts:
    /// nothing was measured on it.
    ClassPinned {
        experiment: ExperimentId,
        class: ClassId,
    },
    /// The experiment accepts hosts of this class as well.
    ClassApproved {
        experiment: ExperimentId,
        /// Host whose class was approved.
        host: HostId,
        class: ClassId,
        by: String,
    },
    /// All runs are settled. The machine drops the experiment; the store keeps it.
    Finished {
        experiment: ExperimentId,
        /// Number of runs by settlement.
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
        /// When its lease is given up unless it is back.
        give_up: Timestamp,
    },
    /// The host joined with another fingerprint than before.
    HostDrifted {
        host: HostId,
        /// Names of the facts that differ.
        facts: Vec<String>,
    },
    /// The host completes its attempt and gets no more runs.
    HostDrained {
        host: HostId,
        by: String,
    },
    /// The host gets no more runs, because something is wrong with it.
    HostQuarantined {
        host: HostId,
        by: String,
        reason: String,
    },
    /// The host is given runs again.
    HostResumed {
        host: HostId,
        by: String,
    },
    /// The id was released: attempt and visits of the host have been given up, and the next agent to join with the id is the host.
    HostReset {
        host: HostId,
        by: String,
    },
    /// Note for the event log on an engine that provides hosts. It changes nothing.
    EngineNoted(EngineNote),
    /// The host was asked to reboot.
    RebootAsked {
        host: HostId,
        experiment: ExperimentId,
        /// When it is quarantined unless it is back.
        give_up: Timestamp,
    },
    /// The rest of a visit goes to another host, because this one is away or silent.
    VisitBroken {
        host: HostId,
        experiment: ExperimentId,
    },
    /// A connected host waits for work. Not stored: it asks again when it reconnects.
    HostAsked {
        host: HostId,
    },
    /// No waiting run is eligible for the asking host. Not stored.
    HostPassed {
        host: HostId,
        /// When it has rested, if that is all it lacks.
        until: Option<Timestamp>,
    },
    /// An asking host is held for the run of a gang until all of its hosts ask. Not stored.
    HostHeld {
        host: HostId,
        experiment: ExperimentId,
        run: RunIndex,
    },
    /// A host of a gang is prepared. Not stored: its agent reports it again when it reconnects.
    HostReady {
        host: HostId,
        lease: LeaseEpoch,
    },
    /// A lease on an attempt was granted to a host.
    LeaseGranted(Box<Lease>),
    /// Leases on an attempt were granted to the hosts of a gang, in the order of their seats.
    GangGranted(Vec<Lease>),
    /// The agent reported the start of the run.
    RunStarted {
        host: HostId,
        lease: LeaseEpoch,
    },
    /// The attempt was executed, which settles the run.
    RunReported {
        host: HostId,
        lease: LeaseEpoch,
        record: Arc<Record>,
    },
    /// The host has completed its part of a run that another host of the gang started.
    PartEnded {
        host: HostId,
        lease: LeaseEpoch,
        /// Conditions on the host meanwhile.
        record: Arc<Record>,
    },
    /// The infrastructure lost the attempt; of a gang, through this host.
    AttemptLost {
        host: HostId,
        lease: LeaseEpoch,
        reason: LossReason,
        /// What becomes of the run.
        after: AfterLoss,
    },
    /// The report of an attempt that had been given up arrived. It is stored and marked, and not analysed.
    LateReport {
        superseded: Superseded,
        record: Arc<Record>,
    },
}

impl Change {
    /// Whether the journal stores it. What it does not store is reported again after a restart.
    pub const fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::HostAsked { .. } | Self::HostPassed { .. } | Self::HostHeld { .. } | Self::HostReady { .. }
        )
    }

    /// Leases that it grants, those of a gang in the order of their seats.
    pub fn granted(&self) -> &[Lease] {
        if let Self::LeaseGranted(lease) = self {
            return std::slice::from_ref(lease);
        }
        if let Self::GangGranted(leases) = self { leases } else { &[] }
    }

    /// Whether the demand for hosts may differ after it: there is more to do, or a host has nothing to do.
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

/// Attempt that was given up before its report arrived.
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

/// Number of runs in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Waiting for a host.
    pub waiting: u32,
    /// Given to a host.
    pub leased: u32,
    /// Reported as started.
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
    /// Number of all runs.
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

    /// Counter of a settlement.
    pub const fn counter(&mut self, settlement: Settlement) -> &mut u32 {
        match settlement {
            Settlement::Measured => &mut self.measured,
            Settlement::Failed => &mut self.failed,
            Settlement::Abandoned => &mut self.abandoned,
            Settlement::Cancelled => &mut self.cancelled,
        }
    }
}

/// Ended attempt with all that the machine knew of it: one row of the export.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAttempt {
    pub lease: Lease,
    /// Number of its cell in the plan.
    pub cell: u32,
    pub ended: Timestamp,
    pub end: AttemptEnd,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptEnd {
    /// It was executed and settled its run.
    Reported(Arc<Record>),
    /// It was lost. A report that arrives later is stored beside.
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
