//! The times of one command in a few numbers.

use std::collections::BTreeMap;

use clap::ValueEnum;
use speedup_analysis::count::{decimals, percent};
use speedup_formats::{Name, SYSTEM, Series, USER, WALL};
use speedup_report::facts::{Sheet, SheetCell, number, words};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Interval};
use speedup_statistics::sample::{Sample, SampleQuantile};
use speedup_statistics::test::OneSampleTTest;

/// The times of a command, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) command: String,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) wall: Sample,
    /// The mean of the time in user mode.
    pub(super) user: Option<f64>,
    /// The mean of the time in the kernel.
    pub(super) system: Option<f64>,
}

speedup_core::words! {
    /// The unit of `--time-unit`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    pub(super) enum TimeUnit {
        /// Millionths of a second
        Microsecond = "µs",
        /// Thousandths of a second.
        Millisecond = "ms",
        /// Seconds.
        Second = "s",
    }
    fn sign;
}

/// The order of `--sort`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SortOrder {
    /// By mean on the terminal, in the order of the commands in files
    #[default]
    Auto,
    /// In the order of the commands
    Command,
    /// By mean
    MeanTime,
}

impl TimeUnit {
    /// The one in which a time is easily read.
    fn fitting(seconds: f64) -> Self {
        match seconds {
            small if small < 1e-3 => Self::Microsecond,
            small if small < 1.0 => Self::Millisecond,
            _ => Self::Second,
        }
    }

    pub(super) const fn convert_seconds(self, seconds: f64) -> f64 {
        match self {
            Self::Microsecond => seconds * 1e6,
            Self::Millisecond => seconds * 1e3,
            Self::Second => seconds,
        }
    }
}

impl Timing {
    /// The times of all commands, in their order.
    pub(super) fn all(series: &[Series]) -> Vec<Self> {
        let walls = series.iter().filter(|one| one.name.metric.as_str() == WALL);
        walls.filter_map(|wall| Self::from_series(wall, series)).collect()
    }

    fn from_series(wall: &Series, series: &[Series]) -> Option<Self> {
        let mean = |metric: &str| {
            let name = wall.name.with_metric(Name::new(metric).ok()?);
            let values = series.iter().find(|one| one.name == name)?.runs.values();
            Some(values.iter().sum::<f64>() / values.len() as f64)
        };
        let parameters = wall.name.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        Some(Self {
            command: wall.name.benchmark.to_string(),
            parameters: parameters.collect(),
            wall: Sample::new(wall.runs.values().to_vec()).ok()?,
            user: mean(USER),
            system: mean(SYSTEM),
        })
    }
}

/// The interval of a mean: Student's t.
pub(super) fn mean_interval(times: &Sample, level: ConfidenceLevel) -> Option<Interval> {
    OneSampleTTest::new(times, 0.0).ok().map(|test| test.interval(Alternative::TwoSided, level))
}

/// The interval of a median, between order statistics, where there are enough runs for one.
pub(super) fn median_interval(times: &Sample, level: ConfidenceLevel) -> Option<Interval> {
    let interval = SampleQuantile::median(times).interval(level);
    (interval.lower.is_finite() && interval.upper.is_finite()).then_some(interval)
}

pub(super) fn sorted(timings: &[Timing], by_mean: bool) -> Vec<&Timing> {
    let mut sorted: Vec<&Timing> = timings.iter().collect();
    if by_mean {
        sorted.sort_by(|a, b| a.wall.mean().total_cmp(&b.wall.mean()));
    }
    sorted
}

/// The unit of a table: the one asked for, or the one that fits the first command.
pub(super) fn unit_of(timings: &[&Timing], asked: Option<TimeUnit>) -> TimeUnit {
    asked.unwrap_or_else(|| TimeUnit::fitting(timings.first().map_or(1.0, |timing| timing.wall.mean())))
}

/// The table of the times, with an interval of each mean and median.
pub(super) fn sheet(timings: &[&Timing], unit: TimeUnit, level: ConfidenceLevel) -> Sheet {
    let headings = vec![
        words("command", "command"),
        number("runs", "runs"),
        number("mean", "mean"),
        number("median", "median"),
        number("range", "min … max"),
        number("user", "user"),
        number("system", "system"),
    ];
    let rows = timings.iter().map(|timing| row(timing, unit, level)).collect();
    Sheet { headings, rows }
}

/// What stands under the table.
pub(super) fn legend(unit: TimeUnit, level: ConfidenceLevel) -> String {
    format!(
        "Times in {}: mean ± half its interval (Student's t); median [its interval]\n(order statistics); confidence level \
         {}; user and system time are means.",
        unit.sign(),
        percent(level.get())
    )
}

fn row(timing: &Timing, unit: TimeUnit, level: ConfidenceLevel) -> Vec<SheetCell> {
    let mean = timing.wall.mean();
    let half = mean_interval(&timing.wall, level).map(|interval| (interval.upper - interval.lower) / 2.0);
    // Two digits of the half width; without one, four of the mean.
    let width = unit.convert_seconds(half.filter(|half| *half > 0.0).unwrap_or(mean / 100.0));
    let digits = decimals(width / 10.0, 4);
    let show = |seconds: f64| format!("{:.digits$}", unit.convert_seconds(seconds));
    let of_mean = half.map_or_else(|| show(mean), |half| format!("{} ± {}", show(mean), show(half)));
    let median = show(timing.wall.median());
    let of_median = match median_interval(&timing.wall, level) {
        Some(around) => format!("{median} [{}, {}]", show(around.lower), show(around.upper)),
        None => median,
    };
    let (least, most) = (timing.wall.min(), timing.wall.max());
    let mean_of = |time: Option<f64>| {
        time.map_or(SheetCell::Absent, |time| {
            SheetCell::Shown(time, format!("{:.digits$}", unit.convert_seconds(time)))
        })
    };
    vec![
        SheetCell::text(&timing.command),
        SheetCell::Count(timing.wall.len() as u64),
        SheetCell::Shown(mean, of_mean),
        SheetCell::Shown(timing.wall.median(), of_median),
        SheetCell::Shown(least, format!("{} … {}", show(least), show(most))),
        mean_of(timing.user),
        mean_of(timing.system),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::command::measure::bench) fn timing(command: &str, wall: &[f64]) -> Timing {
        let parameters = BTreeMap::new();
        let wall = Sample::new(wall.to_vec()).unwrap();
        Timing { command: command.to_owned(), parameters, wall, user: Some(0.001), system: None }
    }

    fn shown(timing: &Timing) -> Vec<String> {
        let sheet = sheet(&[timing], TimeUnit::Millisecond, ConfidenceLevel::USUAL);
        let shown =
            |cell: &SheetCell| if let SheetCell::Shown(_, text) = cell { Some(text.clone()) } else { None };
        sheet.rows[0].iter().filter_map(shown).collect()
    }

    #[test]
    fn mean_and_median_have_intervals_where_there_are_enough_runs() {
        let many = timing("a", &[0.010, 0.011, 0.012, 0.013, 0.014, 0.015]);
        // R: t.test(c(10, 11, 12, 13, 14, 15))$conf.int is 10.53667 to 14.46333.
        assert_eq!(shown(&many), ["12.5 ± 2.0", "12.5 [10.0, 15.0]", "10.0 … 15.0", "1.0"]);
        let few = timing("b", &[0.010, 0.012]);
        assert_eq!(shown(&few)[1], "11", "no interval of the median");
    }

    #[test]
    fn the_unit_fits_the_first_command_unless_it_is_asked_for() {
        let (fast, slow) = (timing("a", &[0.0005]), timing("b", &[2.0]));
        assert_eq!(unit_of(&[&fast, &slow], None), TimeUnit::Microsecond);
        assert_eq!(unit_of(&[&slow], Some(TimeUnit::Millisecond)), TimeUnit::Millisecond);
        assert_eq!(sorted(&[slow, fast], true)[0].command, "a");
    }
}
