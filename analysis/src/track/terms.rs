//! What is declared of a track before its first point, and stays.

use serde::{Deserialize, Serialize};
use speedup_core::{experiment::commit::Commit, experiment::metric::Better};

/// What is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackTerms {
    /// What people call the track.
    pub name: String,
    /// The branch whose commits are measured, by first parents.
    pub branch: String,
    /// The commits that each one is measured beside; ratios are to the first.
    pub references: Vec<Commit>,
    /// The commit of the branch after which the points begin.
    pub start: Commit,
    /// The benchmarks, in the plan's order.
    pub benchmarks: Vec<String>,
    /// The metric whose ratios are followed, by its name in plans.
    pub metric: String,
    /// Whether less of it is better.
    pub better: Better,
    /// Changes up to this share count as none.
    pub margin: Option<f64>,
    /// Whether builds of programs that are equally fast are said to be, within the margin. Then each block counts as a ratio; else each point is one, since its
    /// build moves all of its blocks.
    #[serde(default)]
    pub builds_alike: bool,
    /// The confidence level of sets of commits, sizes and intervals.
    pub confidence: f64,
    /// The declared number of false alarms a year, of all benchmarks together.
    pub false_alarms_a_year: f64,
    /// The points a year for which that is declared.
    pub points_a_year: f64,
}

impl TrackTerms {
    /// Whether a ratio to the reference is worse than none.
    pub fn is_worse(&self, ratio: f64) -> bool {
        match self.better {
            Better::Lower => ratio > 1.0,
            Better::Higher => ratio < 1.0,
        }
    }

    /// Whether the first points are supposed to be at the level of the reference: if they follow it, and builds add nothing.
    pub(super) fn begins_at_reference(&self) -> bool {
        self.builds_alike && self.references.first().is_some_and(|reference| reference.id == self.start.id)
    }
}
