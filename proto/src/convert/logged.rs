//! The words of the event log: the same on the command line, in JSON and on the page.

use crate::v1::EventKind;

impl EventKind {
    /// What was done, in words that stay the same.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unspecified => "unknown to this release",
            Self::CoordinatorStarted => "coordinator started",
            Self::Submitted => "submitted",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Cancelled => "cancelled",
            Self::Extended => "extended",
            Self::Decided => "decided",
            Self::ClassPinned => "class pinned",
            Self::ClassApproved => "class approved",
            Self::Finished => "finished",
            Self::HostDrifted => "host drifted",
            Self::HostDrained => "host drained",
            Self::HostQuarantined => "host quarantined",
            Self::HostResumed => "host resumed",
            Self::HostReset => "host reset",
            Self::HostsRequested => "hosts requested",
            Self::HostsRequestEnded => "request for hosts ended",
            Self::JobsAsked => "jobs asked for",
            Self::JobBegan => "job began",
            Self::JobEnded => "job ended",
            Self::JobFailed => "job failed",
            Self::HostsRequestStopped => "request for hosts stopped",
            Self::SshHostAdded => "host added by ssh",
            Self::SshHostRemoved => "host removed by ssh",
            Self::SshAgentStarted => "agent started by ssh",
            Self::TokenCreated => "token created",
            Self::TokenRevoked => "token revoked",
            Self::CertificateIssued => "certificate issued",
            Self::CertificateRevoked => "certificate revoked",
        }
    }
}
