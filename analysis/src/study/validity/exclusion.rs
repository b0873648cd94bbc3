//! The hosts that were taken out of service while the experiment ran: drained, or quarantined because something was wrong
//! with them. Their observations stay in their samples, so the report says how many those are.

use crate::study::{Study, head::calendar};
use crate::{conclusion::ReportWord, conclusion::Word, count::counted};
use serde::{Deserialize, Serialize};
use speedup_core::{host::Exclusion, host::ExclusionCause, value::id::HostId};
use std::collections::BTreeSet;

/// Exclusions that are listed; the others are counted.
const MOST_LISTED: usize = 50;

/// The hosts that were taken out of service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExclusionsReport {
    /// How many, in a sentence.
    pub sentence: String,
    /// Hosts that were quarantined, each once.
    pub quarantined: u64,
    /// Hosts that were drained, each once.
    pub drained: u64,
    /// The measured runs of all of them, which are in their samples.
    pub observations: u64,
    /// Each exclusion, oldest first; at most fifty.
    pub hosts: Vec<ExcludedHost>,
    /// Further ones.
    pub more: u64,
}

/// That a host was taken out of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedHost {
    /// Its id.
    pub host: String,
    /// What people call it, where that is known and no other host of the experiment has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// How it was taken out.
    pub cause: Word<ExclusionKind>,
    /// Who did it.
    pub by: String,
    /// What was wrong; `None` of a drained host.
    pub reason: Option<String>,
    /// When, as RFC 3339 in UTC.
    pub at: String,
    /// When it was given runs again.
    pub resumed: Option<String>,
    /// Its measured runs in this experiment, before and after.
    pub observations: u64,
    /// Its attempts that were lost.
    pub lost: u64,
}

speedup_core::words! {
    /// How a host is taken out of service.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ExclusionKind {
        /// Somebody drained it.
        Drained = "drained",
        /// Something was wrong with it.
        Quarantined = "quarantined",
    }
    impl ReportWord::name;
}

impl ExclusionsReport {
    /// Of a study; `None` where no host was taken out.
    pub(crate) fn new(study: &Study) -> Option<Self> {
        let all = &study.exclusions;
        if all.is_empty() {
            return None;
        }
        let distinct = |is: fn(&ExclusionCause) -> bool| {
            all.iter().filter(|one| is(&one.cause)).map(|one| &one.host).collect::<BTreeSet<&HostId>>()
        };
        let quarantined = distinct(|cause| matches!(cause, ExclusionCause::Quarantined { .. })).len() as u64;
        let drained = distinct(|cause| matches!(cause, ExclusionCause::Drained { .. })).len() as u64;
        let hosts = distinct(|_| true);
        let observations = hosts.iter().map(|host| study.evidence.attempts_of(host).0).sum();
        Some(Self {
            sentence: format!(
                "Taken out of service while the experiment ran: {} quarantined, {} drained; their {} stay in the samples.",
                counted(quarantined, "host"),
                counted(drained, "host"),
                counted(observations, "measured run")
            ),
            quarantined,
            drained,
            observations,
            hosts: all.iter().take(MOST_LISTED).map(|one| ExcludedHost::new(one, study)).collect(),
            more: all.len().saturating_sub(MOST_LISTED) as u64,
        })
    }
}

impl ExcludedHost {
    fn new(Exclusion { host, at, cause, resumed }: &Exclusion, study: &Study) -> Self {
        let (observations, lost) = study.evidence.attempts_of(host);
        let (kind, by, reason) = match cause {
            ExclusionCause::Drained { by } => (ExclusionKind::Drained, by, None),
            ExclusionCause::Quarantined { by, reason } => {
                (ExclusionKind::Quarantined, by, Some(reason.clone()))
            }
        };
        Self {
            host: host.to_string(),
            host_name: study.evidence.name_of(host.as_str()),
            cause: kind.into(),
            by: by.clone(),
            reason,
            at: calendar(*at),
            resumed: resumed.map(calendar),
            observations,
            lost,
        }
    }
}
