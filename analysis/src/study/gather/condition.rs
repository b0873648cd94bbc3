//! Under which conditions the measured runs of a cell were: how many were disturbed, by what, and which settings of the
//! plan's environment their hosts had not. All of them are in the sample; none is dropped for it.

use serde::{Deserialize, Serialize};
use speedup_core::{run::conditions::Conditions, run::disturbance::Disturbance};
use std::collections::{BTreeMap, BTreeSet};

/// The conditions of the measured runs of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionCounts {
    /// Runs whose conditions were recorded.
    pub recorded: u64,
    /// Those of them that were disturbed.
    pub disturbed: u64,
    /// Runs by the code name of what disturbed them; one run may be in several.
    pub disturbances: BTreeMap<String, u64>,
    /// Runs by the name of a setting that their host had not.
    pub unmet: BTreeMap<String, u64>,
    /// Runs by the kind of the file system on which they stood, where that was no disk or memory of their host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_local: BTreeMap<String, u64>,
}

impl ConditionCounts {
    /// Counts a measured run.
    pub(crate) fn measured(&mut self, conditions: Option<&Conditions>) {
        let Some(conditions) = conditions else { return };
        self.recorded += 1;
        self.disturbed += u64::from(!conditions.disturbances.is_empty());
        let codes: BTreeSet<&str> = conditions.disturbances.iter().map(Disturbance::code).collect();
        let unmet: BTreeSet<&str> = conditions.unmet.iter().map(|unmet| unmet.setting.name()).collect();
        codes.into_iter().for_each(|code| count(&mut self.disturbances, code, 1));
        unmet.into_iter().for_each(|name| count(&mut self.unmet, name, 1));
        if let Some(stood_on) = conditions.file_system.as_ref().filter(|stood_on| !stood_on.is_local()) {
            count(&mut self.not_local, &stood_on.kind, 1);
        }
    }

    /// The counts of several cells together.
    #[must_use]
    pub fn sum<'a>(cells: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for cell in cells {
            sum.recorded += cell.recorded;
            sum.disturbed += cell.disturbed;
            cell.disturbances.iter().for_each(|(code, runs)| count(&mut sum.disturbances, code, *runs));
            cell.unmet.iter().for_each(|(name, runs)| count(&mut sum.unmet, name, *runs));
            cell.not_local.iter().for_each(|(kind, runs)| count(&mut sum.not_local, kind, *runs));
        }
        sum
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str, runs: u64) {
    *counts.entry(name.to_owned()).or_default() += runs;
}
