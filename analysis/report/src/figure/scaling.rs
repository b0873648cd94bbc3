//! The speedups of a scaling series against its numbers of hosts.

use speedup_analysis::count::{counted, ratio};
use speedup_analysis::study::{ScalingReport, ScalingValue, VersionScaling};
use speedup_core::value::foreign::one_line;

use super::axis::{Axis, Labels, Spacing, TICKS, label};

/// Speedups against numbers of hosts, both logarithmic, with what hosts without loss would bring.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingFigure {
    pub title: String,
    /// The same in words.
    pub description: String,
    /// The versions, in their order: what the marks stand for.
    pub curves: Vec<ScalingSeriesCurve>,
}

/// The speedups of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingSeriesCurve {
    pub version: String,
    /// At each number of hosts, the fewest first.
    pub points: Vec<SpeedupPoint>,
    /// The speedups by a serial share, where the times do not contradict it.
    pub fitted: Vec<(f64, f64)>,
}

/// A speedup on a number of hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedupPoint {
    /// The number of hosts.
    pub hosts: f64,
    pub speedup: f64,
    /// The ends of its interval; none on the fewest hosts.
    pub ends: Option<(f64, f64)>,
}

/// Points of a curve that is drawn.
const STEPS: u32 = 32;

impl ScalingFigure {
    /// Of a series of a report.
    pub(crate) fn new(report: &ScalingReport) -> Self {
        let curves: Vec<ScalingSeriesCurve> = report.versions.iter().map(ScalingSeriesCurve::new).collect();
        let told: Vec<String> = curves.iter().map(ScalingSeriesCurve::in_words).collect();
        Self {
            title: one_line(&format!("Speedup of {} against the number of hosts", report.series)),
            description: one_line(&format!(
                "Both axes are logarithmic; the straight line is what hosts without loss would bring. {}.",
                told.join("; ")
            )),
            curves,
        }
    }

    fn points(&self) -> impl Iterator<Item = &SpeedupPoint> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// The axes of hosts and of speedups.
    pub(crate) fn axes(&self) -> (Axis, Axis) {
        let hosts = Axis::over(Spacing::Logarithmic, self.points().map(|point| point.hosts), 0.04);
        let mut speedups: Vec<f64> = self.ideal().into_iter().map(|(_, speedup)| speedup).collect();
        for point in self.points() {
            let (lower, upper) = point.ends.unwrap_or((point.speedup, point.speedup));
            speedups.extend([lower, point.speedup, upper]);
        }
        (hosts, Axis::over(Spacing::Logarithmic, speedups.into_iter(), 0.06))
    }

    /// The ends of the line of hosts without loss.
    pub(crate) fn ideal(&self) -> Vec<(f64, f64)> {
        let fewest = self.points().map(|point| point.hosts).fold(f64::INFINITY, f64::min);
        let most = self.points().map(|point| point.hosts).fold(0.0, f64::max);
        if most > fewest { vec![(fewest, 1.0), (most, most / fewest)] } else { Vec::new() }
    }

    /// Each number of hosts, as far as there is room.
    pub(crate) fn labels<'a>(&self, axis: &'a Axis) -> Labels<'a> {
        let mut hosts: Vec<f64> = self.points().map(|point| point.hosts).collect();
        hosts.sort_by(f64::total_cmp);
        hosts.dedup();
        let every = hosts.len().div_ceil(2 * TICKS).max(1);
        let ticks = hosts.into_iter().step_by(every).map(|hosts| (hosts, label(hosts, 0))).collect();
        Labels { axis, name: "hosts".to_owned(), ticks }
    }
}

impl ScalingSeriesCurve {
    fn in_words(&self) -> String {
        let points = self.points.iter().skip(1).map(|point| {
            format!("{} on {}", ratio(point.speedup, point.ends), counted(point.hosts as u64, "host"))
        });
        format!("{}: {}", self.version, points.collect::<Vec<_>>().join(", "))
    }

    fn new(of: &VersionScaling) -> Self {
        let Some(fewest) = of.rows.first() else {
            return Self { version: one_line(&of.version), points: Vec::new(), fitted: Vec::new() };
        };
        let first = f64::from(fewest.hosts);
        let last = of.rows.last().map_or(1.0, |row| row.hosts.into());
        let points = of.rows.iter().filter_map(|row| match &row.speedup {
            None if row.hosts == fewest.hosts => {
                Some(SpeedupPoint { hosts: first, speedup: 1.0, ends: None })
            }
            None => None,
            Some(ScalingValue { estimate, interval }) => {
                Some(SpeedupPoint { hosts: row.hosts.into(), speedup: *estimate, ends: interval.ends() })
            }
        });
        let share = of.serial_share.as_ref().filter(|share| !share.is_rejected && share.is_share());
        let fitted = share.into_iter().flat_map(|share| {
            let above = fewest.mean / share.time_on_fewest;
            (0..=STEPS).map(move |step| {
                let factor = (last / first).powf(f64::from(step) / f64::from(STEPS));
                (first * factor, above * factor / (1.0 + share.estimate * (factor - 1.0)))
            })
        });
        Self { version: one_line(&of.version), points: points.collect(), fitted: fitted.collect() }
    }
}
