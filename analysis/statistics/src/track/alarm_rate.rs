//! How many false alarms a track may raise.

use serde::Serialize;
use thiserror::Error;

/// The most false alarms or points a year: beyond any use, and the product with any number of benchmarks is a number.
const MOST_A_YEAR: f64 = 1e9;

/// The declared number of false alarms a year, of all benchmarks of a track together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AlarmRate {
    alarms_a_year: f64,
    points_a_year: f64,
    benchmarks: u32,
}

/// A rate that is none.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum AlarmRateError {
    #[error("the {what} must be above 0 and at most {MOST_A_YEAR:e}, not {given}")]
    Range { what: &'static str, given: f64 },
    /// An alarm would be raised at every point.
    #[error(
        "{alarms} false alarms a year are not fewer than the {points} points a year of all benchmarks: every point would raise an alarm"
    )]
    EveryPoint { alarms: f64, points: f64 },
}

speedup_core::hints! { AlarmRateError:
    _ => "declare few false alarms, such as 1 a year, or 0.1: one in ten years",
}

impl AlarmRate {
    /// `alarms_a_year` of all `benchmarks` together, each of which has `points_a_year`.
    ///
    /// # Errors
    /// [`AlarmRateError`] for numbers that are not positive, too large, or let every point raise an alarm.
    pub fn new(alarms_a_year: f64, points_a_year: f64, benchmarks: u32) -> Result<Self, AlarmRateError> {
        let given = [
            ("false alarms a year", alarms_a_year),
            ("points a year", points_a_year),
            ("number of benchmarks", f64::from(benchmarks)),
        ];
        let is_in_range = |given: f64| given > 0.0 && given <= MOST_A_YEAR;
        if let Some(&(what, given)) = given.iter().find(|(_, given)| !is_in_range(*given)) {
            return Err(AlarmRateError::Range { what, given });
        }
        let points = points_a_year * f64::from(benchmarks);
        if points <= alarms_a_year {
            return Err(AlarmRateError::EveryPoint { alarms: alarms_a_year, points });
        }
        Ok(Self { alarms_a_year, points_a_year, benchmarks })
    }

    /// The points of one benchmark in which at most one false alarm is expected: expectations add up over benchmarks, however these depend on
    /// each other.
    pub fn points_between(self) -> f64 {
        self.points_a_year * f64::from(self.benchmarks) / self.alarms_a_year
    }

    /// As declared.
    pub fn alarms_a_year(self) -> f64 {
        self.alarms_a_year
    }
}
