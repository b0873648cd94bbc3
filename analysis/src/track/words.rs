//! What a track says, in sentences.

use super::{TrackReport, TrackStanding, TrackStepReport};
use crate::count::{counted, percent, ratio};
use speedup_core::experiment::metric::Metric;
use speedup_statistics::track::ChangeShape;

/// Commits that a sentence names.
const NAMED: usize = 4;

/// Of a track whose points count as one ratio each.
const BY_POINTS: &str = "Each point counts as one ratio, since the layout of a build moves all of its blocks alike. Where builds are known to be equally fast, \
                         --builds-alike finds a step after fewer points.";
/// Of a track whose blocks count.
const BUILDS_ALIKE: &str = "It was declared that builds of equally fast programs are equally fast";

/// What was found, the most important first.
pub(super) fn sentences(report: &TrackReport) -> Vec<String> {
    let open = |step: &&TrackStepReport| step.acknowledged.is_none();
    let (worse, better): (Vec<_>, Vec<_>) = report.steps.iter().filter(open).partition(|step| step.is_worse);
    let mut sentences: Vec<String> =
        worse.into_iter().chain(better).map(|step| report.sentence(step)).collect();
    if report.points() == 0 {
        sentences.push("No commit was measured yet.".to_owned());
        return sentences;
    }
    let unchanged = report.standing_at(TrackStanding::Unchanged).count() as u64;
    if unchanged > 0 && sentences.is_empty() {
        let known = match report.steps.len() as u64 {
            0 => "No change was found".to_owned(),
            steps => format!("No change was found besides {}", counted(steps, "acknowledged one")),
        };
        let points = counted(report.points() as u64, "point");
        sentences.push(format!("{known}, in {points} of {}.", counted(unchanged, "benchmark")));
    }
    let early: Vec<u64> =
        report.standing_at(TrackStanding::TooEarly).map(|benchmark| benchmark.ratios_lacking).collect();
    if let Some(lacking) = early.iter().max() {
        sentences.push(format!(
            "It is too early for a change to be found on {}: at least {} more.",
            counted(early.len() as u64, "benchmark"),
            counted(*lacking, report.unit())
        ));
    }
    sentences
}

/// What must be known besides.
pub(super) fn caveats(report: &TrackReport) -> Vec<String> {
    let after_steps = report.standing_at(TrackStanding::Changed).map(|benchmark| benchmark.ratios_lacking);
    let mut caveats = Vec::new();
    if let Some(lacking) = after_steps.max().filter(|lacking| *lacking > 0) {
        let lacking = counted(lacking, report.unit());
        caveats.push(format!(
            "After the latest change of a benchmark, the next one is found when at least {lacking} more are measured."
        ));
    }
    caveats.push(match (report.terms.builds_alike, report.terms.margin) {
        (false, _) => BY_POINTS.to_owned(),
        (true, None) => {
            format!("{BUILDS_ALIKE}: if they are not, there are more false alarms than declared.")
        }
        (true, Some(margin)) => format!(
            "{BUILDS_ALIKE} within {}: if they are not, there are more false alarms than declared.",
            percent(margin)
        ),
    });
    caveats
}

impl TrackReport {
    /// What counts as one ratio.
    fn unit(&self) -> &'static str {
        if self.terms.builds_alike { "block" } else { "point" }
    }

    /// A step in a sentence: what it is, since when, and how large.
    pub fn sentence(&self, step: &TrackStepReport) -> String {
        let [lower, upper] = step.size.interval;
        let size = ratio(step.size.ratio, Some((lower, upper)));
        let takes = match (self.terms.metric == Metric::Wall.name(), step.shape) {
            (true, ChangeShape::Drift) => format!("drifts to {size} the time"),
            (true, ChangeShape::Step | ChangeShape::Undecided) => format!("takes {size} the time"),
            (false, ChangeShape::Drift) => format!("drifts to {size} the {}", self.terms.metric),
            (false, ChangeShape::Step | ChangeShape::Undecided) => {
                format!("has {size} the {}", self.terms.metric)
            }
        };
        let level = percent(self.terms.confidence);
        format!("{} {takes} since {}, at confidence level {level}.", step.benchmark, self.set(step))
    }

    /// The commits of which one began a step.
    pub fn set(&self, step: &TrackStepReport) -> String {
        let name = |id: &String| self.commit(id).map_or_else(|| id.clone(), super::TrackCommit::in_words);
        let commits = &step.set.versions;
        match commits.as_slice() {
            [only] => name(only),
            few if few.len() <= NAMED => {
                format!(
                    "one of {} commits: {}",
                    few.len(),
                    few.iter().map(name).collect::<Vec<_>>().join("; ")
                )
            }
            [first, .., last] => {
                let likeliest = name(&step.set.likeliest);
                format!(
                    "one of {} commits from {} to {}, the likeliest being {likeliest}",
                    commits.len(),
                    name(first),
                    name(last)
                )
            }
            [] => String::new(),
        }
    }
}
