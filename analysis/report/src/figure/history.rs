//! The history of a benchmark on a track: ratios to the reference, commit after commit.

use std::collections::BTreeMap;

use speedup_analysis::count::{counted, percent};
use speedup_analysis::track::{TrackBenchmark, TrackReport, TrackStepReport};
use speedup_core::value::foreign::one_line;

use super::{Mark, axis::Axis, axis::Spacing};

/// The history of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub title: String,
    /// Commits of the branch, measured or not; their places are from 0.
    pub commits: usize,
    /// What the first and the last commit are called.
    pub ends: [String; 2],
    pub points: Vec<HistoryPoint>,
    /// Levels: from which commit to which, and the ratio.
    pub levels: Vec<(usize, usize, f64)>,
    /// Steps: the first and the last commit that may have begun each, its number, and whether it is worse.
    pub steps: Vec<HistoryStep>,
    /// Other references, with the median of their ratios.
    pub references: Vec<(String, f64)>,
    /// The same in words.
    pub description: String,
}

/// A commit that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPoint {
    /// Its place on the branch.
    pub commit: usize,
    pub ratio: f64,
    /// The interval of that, where there is one.
    pub interval: Option<[f64; 2]>,
}

/// A change that raised an alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryStep {
    /// The first and the last commit that may have begun it.
    pub set: [usize; 2],
    /// Its number in the track.
    pub number: u32,
    /// Whether the new level is worse.
    pub mark: Mark,
}

impl History {
    /// What lines and colours stand for.
    pub(crate) const KEY: &str = "Dashed: the reference. Points: the commits, with the band of their intervals. Line: the median level between steps. Grey: commits that may have begun a step.";

    /// That of a benchmark; none without points.
    pub(crate) fn from_report(report: &TrackReport, benchmark: &TrackBenchmark) -> Option<Self> {
        let places: BTreeMap<&str, usize> =
            report.commits.iter().enumerate().map(|(at, commit)| (commit.id.as_str(), at)).collect();
        let mut points = Vec::new();
        for point in &benchmark.points {
            // What is no commit of the branch, or has no ratio, has no place.
            if let (Some(commit), Some(found)) = (places.get(point.commit.as_str()), point.ratio) {
                points.push(HistoryPoint { commit: *commit, ratio: found.ratio, interval: found.interval });
            }
        }
        let mut levels = Vec::new();
        for level in &benchmark.levels {
            if let (Some(from), Some(to)) = (places.get(level.from.as_str()), places.get(level.to.as_str())) {
                levels.push((*from, *to, level.ratio.ratio));
            }
        }
        let own = report.steps.iter().filter(|step| step.benchmark == benchmark.benchmark);
        let steps: Vec<HistoryStep> = own.filter_map(|step| HistoryStep::new(step, &places)).collect();
        if points.is_empty() {
            return None;
        }
        Some(Self {
            title: one_line(&format!("{}: ratio to the reference", benchmark.benchmark)),
            commits: report.commits.len(),
            ends: [report.commits.first(), report.commits.last()]
                .map(|end| end.map_or_else(String::new, |commit| commit.short().to_owned())),
            levels,
            references: others(report, benchmark),
            description: format!(
                "The ratios of {}, with their intervals at confidence level {} where the blocks are enough; {}.",
                counted(points.len() as u64, "point"),
                percent(report.terms.confidence),
                counted(steps.len() as u64, "step")
            ),
            points,
            steps,
        })
    }

    /// The ratios from the lowest to the highest, with all that is drawn.
    pub(crate) fn axis(&self) -> Axis {
        let of_points =
            self.points.iter().flat_map(|point| point.interval.into_iter().flatten().chain([point.ratio]));
        let of_references = self.references.iter().map(|(_, ratio)| *ratio);
        Axis::over(Spacing::Logarithmic, of_points.chain(of_references).chain([1.0]), 0.08)
    }

    /// The upper ends of neighbouring points with an interval, and back along the lower ones: one outline for each stretch of them.
    pub(crate) fn bands(&self) -> Vec<Vec<(usize, f64)>> {
        let mut bands = Vec::new();
        for stretch in self.points.split(|point| point.interval.is_none()) {
            if stretch.len() < 2 {
                continue;
            }
            let mut outline = Vec::new();
            for point in stretch {
                outline.extend(point.interval.map(|[_, upper]| (point.commit, upper)));
            }
            for point in stretch.iter().rev() {
                outline.extend(point.interval.map(|[lower, _]| (point.commit, lower)));
            }
            bands.push(outline);
        }
        bands
    }
}

impl HistoryStep {
    fn new(step: &TrackStepReport, places: &BTreeMap<&str, usize>) -> Option<Self> {
        let first = places.get(step.set.versions.first()?.as_str())?;
        let last = places.get(step.set.versions.last()?.as_str())?;
        let mark = if step.is_worse { Mark::Slower } else { Mark::Faster };
        Some(Self { set: [*first, *last], number: step.number, mark })
    }
}

/// The references but the first, each with the median of its ratios at the points.
fn others(report: &TrackReport, benchmark: &TrackBenchmark) -> Vec<(String, f64)> {
    let mut others = Vec::new();
    for (at, commit) in report.terms.references.iter().skip(1).enumerate() {
        let mut ratios: Vec<f64> =
            benchmark.points.iter().filter_map(|point| point.references.get(at).copied().flatten()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        if let Some(median) = ratios.get(ratios.len() / 2) {
            others.push((one_line(&commit.revision), *median));
        }
    }
    others
}
