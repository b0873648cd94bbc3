//! A series that a detector followed, and what it said.

use super::SeriesKind;
use speedup_statistics::track::{ChangeShape, StretchLevel, Track, TrackPoint, TrackRule, TrackStep};

/// What happens in a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Series {
    NoChange,
    Step,
    Drift,
}

/// How the points are given, and what the level is taken to be.
pub(super) struct Detector {
    pub(super) level: StretchLevel,
    /// Each point is one ratio.
    by_points: bool,
    /// The names of its rows.
    pub(super) methods: [&'static str; 11],
}

/// What a detector said of a series.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) alarms: usize,
    /// From the change on to the first alarm, the point that raises it included.
    pub(super) delay: Option<f64>,
    pub(super) covers: Option<bool>,
    pub(super) set_size: Option<f64>,
    pub(super) size_covers: Option<bool>,
    pub(super) called_wrong_shape: Option<bool>,
}

impl Series {
    pub(super) const ALL: [Self; 3] = [Self::NoChange, Self::Step, Self::Drift];

    /// The level of a point: a step has all of it from the point `first` on, and a drift grows to it until the last.
    pub(super) fn level(self, step: f64, [point, first, points]: [u64; 3]) -> f64 {
        match self {
            Self::NoChange => 0.0,
            Self::Step => step * f64::from(u8::from(point >= first)),
            Self::Drift => step * (point + 1).saturating_sub(first) as f64 / (points - first) as f64,
        }
    }
}

impl Detector {
    /// The blocks against the reference, the blocks against a level that is not known, and points as one ratio each against such a level. A build's level makes
    /// the first one's supposition wrong, that the commits are as fast as the reference, so it is left out there.
    pub(super) fn all(kind: SeriesKind) -> Vec<Self> {
        let reference = Self {
            level: StretchLevel::Reference,
            by_points: false,
            methods: [
                "alarms_a_year",
                "any_alarm",
                "step_found",
                "step_delay",
                "set_covers",
                "set_size",
                "size_covers",
                "step_called_drift",
                "drift_found",
                "drift_delay",
                "drift_called_step",
            ],
        };
        let unknown = Self {
            level: StretchLevel::Unknown,
            by_points: false,
            methods: [
                "unknown_alarms_a_year",
                "unknown_any_alarm",
                "unknown_step_found",
                "unknown_step_delay",
                "unknown_set_covers",
                "unknown_set_size",
                "unknown_size_covers",
                "unknown_step_called_drift",
                "unknown_drift_found",
                "unknown_drift_delay",
                "unknown_drift_called_step",
            ],
        };
        let points = Self {
            level: StretchLevel::Unknown,
            by_points: true,
            methods: [
                "points_alarms_a_year",
                "points_any_alarm",
                "points_step_found",
                "points_step_delay",
                "points_set_covers",
                "points_set_size",
                "points_size_covers",
                "points_step_called_drift",
                "points_drift_found",
                "points_drift_delay",
                "points_drift_called_step",
            ],
        };
        if kind == SeriesKind::Builds { vec![unknown, points] } else { vec![reference, unknown, points] }
    }

    /// Gives the points to a track.
    pub(super) fn follow(&self, rule: TrackRule, points: &[Vec<f64>], series: Series, size: f64) -> Followed {
        let mut track = Track::new(rule);
        for (commit, ratios) in points.iter().enumerate() {
            let ratios = ratios.clone();
            let point = if self.by_points {
                TrackPoint::as_one(commit, ratios)
            } else {
                TrackPoint { commit, ratios }
            };
            // What the library refuses it has not found.
            let _ = track.observe(point);
        }
        let first = points.len() / 2;
        let alarms = track.steps().len();
        let found = track.steps().iter().find(|step| series != Series::NoChange && step.found_at >= first);
        found.map_or(Followed { alarms, ..Followed::default() }, |step| Followed {
            alarms,
            ..outcome(step, series, first, size)
        })
    }
}

fn outcome(step: &TrackStep, series: Series, first: usize, size: f64) -> Followed {
    let wrong = if series == Series::Step { ChangeShape::Drift } else { ChangeShape::Step };
    Followed {
        alarms: 0,
        delay: Some((step.found_at + 1 - first) as f64),
        covers: Some(step.commits.commits.contains(&first)),
        set_size: Some(step.commits.commits.len() as f64),
        size_covers: Some(step.size.lower <= libm::exp(size) && libm::exp(size) <= step.size.upper),
        called_wrong_shape: Some(step.shape == wrong),
    }
}

pub(super) fn median(ratios: &[f64]) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}
