//! How often a track raises a false alarm, and how soon it finds a change, on three kinds of series and one that breaks its promise.

mod followed;
mod series_law;

use super::{LawShape, Replication, SimulationError, row::Cell, row::StudyRow, row::Unanswered};
use crate::{law::draws::Draws, replication::Tally};
use clap::{Args, ValueEnum, builder::TypedValueParser as _};
use followed::{Detector, Followed, Series};
pub use series_law::SeriesLaw;
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use speedup_statistics::track::{AlarmRate, NoiseFloor, StretchLevel, TrackRule};
use std::str::FromStr as _;

/// The study of tracks.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(mut_arg("replicates", |arg| arg.default_value("200")))]
pub struct TrackStudy {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which kinds of series are simulated, in this order.
    #[arg(long = "section", value_enum, value_delimiter = ',', default_values_t = SeriesKind::value_variants())]
    pub sections: Vec<SeriesKind>,
    /// The shapes of a run's noise.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Normal])]
    pub distributions: Vec<LawShape>,
    /// The law of the runs of a series.
    #[command(flatten)]
    pub series: SeriesLaw,
    /// The points of a series; a change comes in the middle.
    #[arg(long, value_delimiter = ',', default_values_t = [100])]
    pub points: Vec<u64>,
    /// The blocks of a point, each with a run of the commit and one of the reference.
    #[arg(long, value_delimiter = ',', default_values_t = [6])]
    pub blocks: Vec<u64>,
    /// The declared number of false alarms a year.
    #[arg(long, default_value = "1", value_parser = f64::from_str.try_map(|alarms| AlarmRate::new(alarms, POINTS_A_YEAR, 1)))]
    pub alarms: AlarmRate,
    /// The points a year, of that rate.
    #[arg(skip = POINTS_A_YEAR)]
    pub points_a_year: f64,
    /// The largest change that does not count.
    #[arg(long, default_value = "0", value_parser = f64::from_str.try_map(Threshold::new))]
    pub margin: Threshold,
}

speedup_core::words! {
    /// What makes the values of a series vary. The size of a cell is the blocks of a point, and the parameter the points of a series.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    pub enum SeriesKind {
        /// Only the noise of a run.
        Quiet = "quiet",
        /// Some runs take twice as long.
        Stalls = "stalls",
        /// A machine serves some points in a row, and then another one, which has a level of its own.
        Machines = "machines",
        /// The build of each commit, and of the reference, has a level of its own.
        Builds = "builds",
    }
    /// A short name that stays the same between releases.
    fn code;
}

/// The points a year of a track with one a day.
const POINTS_A_YEAR: f64 = 365.0;
/// The power for which the noise floor is asked.
const FLOOR_POWER: f64 = 0.8;
/// A change in the middle has a point before it and one from it on.
const FEWEST_POINTS: u64 = 4;

/// What a replicate finds: for each detector, in series without a change, with a step, and with a drift; and of the noise floor, whether a point without
/// a change exceeds what is usual, and whether one with the smallest change found does.
struct TrackFound {
    detectors: Vec<[Followed; 3]>,
    floor: Option<[bool; 2]>,
}

impl TrackStudy {
    /// False alarms a year, shares of series with a change that is found, delays, and what is said of the change.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.replication.check()?;
        self.series.check()?;
        SimulationError::check_counts("points", FEWEST_POINTS, &self.points)?;
        SimulationError::check_counts("blocks", 1, &self.blocks)?;
        let mut rows = Vec::new();
        for kind in &self.sections {
            for shape in &self.distributions {
                for points in &self.points {
                    rows.extend(
                        self.blocks.iter().flat_map(|blocks| self.cell_rows(*kind, *shape, *points, *blocks)),
                    );
                }
            }
        }
        Ok(rows)
    }

    fn cell_rows(&self, kind: SeriesKind, shape: LawShape, points: u64, blocks: u64) -> Vec<StudyRow> {
        let cell = Cell { section: kind.code(), distribution: Some(shape), size: blocks };
        let stream = format!("{} {points}", cell.stream());
        let detectors = Detector::all(kind);
        let found = self
            .replication
            .each(&stream, |draws| self.replicate(kind, shape, [points, blocks], &detectors, draws));
        let mut rows: Vec<StudyRow> = (0..detectors.len())
            .flat_map(|at| {
                self.detector_rows(
                    &cell,
                    points,
                    &detectors[at],
                    &|found: &TrackFound| &found.detectors[at],
                    &found,
                )
            })
            .collect();
        let expected = [1.0 - self.replication.confidence.get(), FLOOR_POWER];
        for (at, method) in ["floor_exceeded", "floor_change_found"].into_iter().enumerate() {
            let tally = Tally::new(found.iter().map(|found| Some(found.floor?[at])));
            rows.push(cell.row(
                method,
                tally,
                Unanswered::LeftOut,
                [Some(points as f64), Some(expected[at])],
            ));
        }
        rows
    }

    fn detector_rows(
        &self,
        cell: &Cell,
        points: u64,
        detector: &Detector,
        of: &dyn Fn(&TrackFound) -> &[Followed; 3],
        found: &[TrackFound],
    ) -> Vec<StudyRow> {
        let parameter = Some(points as f64);
        let [
            a_year,
            any,
            step_found,
            step_delay,
            covers,
            set,
            size,
            shape,
            drift_found,
            drift_delay,
            drift_shape,
        ] = detector.methods;
        // One number alone has no error, and is none.
        let average = |method, values: Vec<f64>, expected| {
            let values = if values.len() > 1 { values } else { Vec::new() };
            let unanswered = (found.len() - values.len()) as u64;
            let replicates = Some(found.len() as u64);
            StudyRow { expected, replicates, unanswered, ..cell.average(method, &values, parameter) }
        };
        let share = |method, answer: &dyn Fn(&TrackFound) -> Option<bool>, expected| {
            cell.row(method, Tally::new(found.iter().map(answer)), Unanswered::LeftOut, [parameter, expected])
        };
        let declared = self.alarms.alarms_a_year();
        let most = (points as f64 / self.alarms.points_between()).min(1.0);
        let year = self.points_a_year / points as f64;
        let promised = self.replication.promised_coverage();
        let step = |found: &TrackFound| of(found)[1].clone();
        let drift = |found: &TrackFound| of(found)[2].clone();
        let numbers = |number: &dyn Fn(&TrackFound) -> Option<f64>| {
            found.iter().filter_map(number).collect::<Vec<f64>>()
        };
        vec![
            average(a_year, numbers(&|found| Some(of(found)[0].alarms as f64 * year)), Some(declared)),
            share(any, &|found| Some(of(found)[0].alarms > 0), Some(most)),
            share(step_found, &|found| Some(step(found).delay.is_some()), None),
            average(step_delay, numbers(&|found| step(found).delay), None),
            share(covers, &|found| step(found).covers, promised),
            average(set, numbers(&|found| step(found).set_size), None),
            share(size, &|found| step(found).size_covers, promised),
            share(shape, &|found| step(found).called_wrong_shape, None),
            share(drift_found, &|found| Some(drift(found).delay.is_some()), None),
            average(drift_delay, numbers(&|found| drift(found).delay), None),
            share(drift_shape, &|found| drift(found).called_wrong_shape, None),
        ]
    }

    fn replicate(
        &self,
        kind: SeriesKind,
        shape: LawShape,
        [points, blocks]: [u64; 2],
        detectors: &[Detector],
        draws: &mut Draws,
    ) -> TrackFound {
        let drawn = Series::ALL.map(|series| {
            let first = points / 2;
            let level = |point: u64| series.level(self.series.step, [point, first, points]);
            (series, self.series.draw(kind, shape, [points, blocks], &level, draws))
        });
        let rule = |level: StretchLevel| TrackRule {
            alarms: self.alarms,
            level,
            margin: self.margin,
            confidence: self.replication.confidence,
        };
        let followed = |detector: &Detector| {
            drawn.each_ref().map(|(series, ratios)| {
                detector.follow(rule(detector.level), ratios, *series, self.series.step)
            })
        };
        TrackFound {
            detectors: detectors.iter().map(followed).collect(),
            floor: self.floor(kind, shape, [points, blocks], draws),
        }
    }

    /// By controls of the reference: the next point without a change, and the next one with the change that is said to be found.
    fn floor(
        &self,
        kind: SeriesKind,
        shape: LawShape,
        [points, blocks]: [u64; 2],
        draws: &mut Draws,
    ) -> Option<[bool; 2]> {
        // Both runs of a control are of the same build.
        let kind = if kind == SeriesKind::Builds { SeriesKind::Quiet } else { kind };
        let controls = self.series.draw(kind, shape, [points + 2, blocks], &|_| 0.0, draws);
        let medians: Vec<f64> = controls.iter().map(|ratios| followed::median(ratios)).collect();
        let (last, known) = medians.split_last()?;
        let (next, known) = known.split_last()?;
        let level: ConfidenceLevel = self.replication.confidence;
        let floor = NoiseFloor::new(known).ok()?;
        let usual = libm::log(floor.usual(level).ratio);
        let smallest = libm::log(floor.smallest_found(level, FLOOR_POWER).ok()?.ratio);
        Some([next.abs() > usual, (last + smallest).abs() > usual])
    }
}
