//! How many runs: so many as were asked for, or as fit a time. The time is known from executions before the clock that are in no
//! sample, so that the number depends on no measured value, and every test and interval keeps its level.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use speedup_core::experiment::{MAX_RUNS, Rule};
use speedup_statistics::{inference::ConfidenceLevel, sample::SampleQuantile};

use crate::{arguments::fraction, exit::failure::Failure};

/// Fewest runs of a command where nothing else is asked for, as hyperfine's.
const FEWEST: u32 = 10;
/// What coordinator and agent take around a run (docs/performance.md: 858 runs of `/bin/true` a second).
const AROUND: Duration = Duration::from_micros(1_200);

/// How many runs are asked for.
#[derive(Clone, Copy, Debug, Args)]
#[group(skip)]
pub(super) struct Bounds {
    /// Timed runs of each command [default: as many as fit --min-benchmarking-time]
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs", "min_benchmarking_time", "precision"], help_heading = "Number of runs")]
    runs: Option<u32>,
    /// The minimum number of timed runs of each command [default: 10, or what an interval of the median needs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Number of runs")]
    min_runs: Option<u32>,
    /// The maximum number of timed runs of each command
    #[arg(short = 'M', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Number of runs")]
    max_runs: Option<u32>,
    /// How many seconds to spend on the timed runs of each command, beyond --min-runs
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds, help_heading = "Number of runs")]
    min_benchmarking_time: Duration,
    /// Stop once the ratio of the trimmed means is known to within this share; with another --center, once the difference of the
    /// means is to within this share of the baseline's mean. The first --min-runs are the pilot (Stein)
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = fraction::margin, help_heading = "Number of runs")]
    precision: Option<f64>,
}

/// How many runs there are to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunCount {
    /// Runs of each command, or those of the pilot.
    pub(super) runs: u32,
    /// The rule that may ask for more.
    pub(super) rule: Rule,
}

impl Bounds {
    /// Refuses what cannot be kept, before anything is executed.
    pub(super) fn check(&self, commands: usize) -> Result<(), Failure> {
        if let (Some(least), Some(most)) = (self.min_runs, self.max_runs)
            && least > most
        {
            return Err(Failure::usage(anyhow!("at least {least} runs, but at most {most}")));
        }
        if self.precision.is_some() && commands < 2 {
            return Err(Failure::usage(anyhow!(
                "--precision needs a difference, but there is only one command"
            ))
            .hint("leave it out, or give a second command"));
        }
        Ok(())
    }

    /// Whether it takes executions of each command to tell the number.
    pub(super) const fn are_open(&self) -> bool {
        self.runs.is_none()
    }

    /// The number by how long each command took, with what is done before and after it.
    pub(super) fn settle(&self, durations: &[Duration], level: ConfidenceLevel) -> RunCount {
        let fixed = |runs| RunCount { runs, rule: Rule::Fixed };
        if let Some(runs) = self.runs {
            return fixed(runs);
        }
        // Fewer have no interval of the median, which takes more runs than that of the trimmed mean.
        let usual = u64::from(FEWEST).max(SampleQuantile::runs_needed(0.5, level));
        // As hyperfine: an upper bound lowers the usual lower one.
        let usual = u32::try_from(usual).unwrap_or(u32::MAX).min(self.max_runs.unwrap_or(u32::MAX));
        let least = self.min_runs.unwrap_or(usual);
        // All commands have as many runs, so their times are taken together.
        let round: Duration = durations.iter().map(|duration| *duration + AROUND).sum();
        let time = self.min_benchmarking_time.as_secs_f64() * durations.len().max(1) as f64;
        let most = MAX_RUNS / durations.len().max(1) as u64;
        let fitting = (time / round.max(AROUND).as_secs_f64()).ceil().min(most as f64) as u32;
        let runs = fitting.min(self.max_runs.unwrap_or(u32::MAX)).max(least);
        match self.precision {
            // A pilot's spread takes two.
            Some(precision) => {
                RunCount { runs: least.max(2), rule: Rule::Pilot { precision, maximum: runs.max(2) } }
            }
            None => fixed(runs),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "give seconds, such as 3 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(min_runs: Option<u32>, max_runs: Option<u32>) -> Bounds {
        let min_benchmarking_time = Duration::from_secs(3);
        Bounds { runs: None, min_runs, max_runs, min_benchmarking_time, precision: None }
    }

    fn runs(bounds: Bounds, milliseconds: &[u64]) -> u32 {
        let durations: Vec<Duration> = milliseconds.iter().map(|one| Duration::from_millis(*one)).collect();
        bounds.settle(&durations, ConfidenceLevel::USUAL).runs
    }

    #[test]
    fn as_many_runs_as_fit_three_seconds_a_command_and_at_least_ten() {
        assert_eq!(runs(bounds(None, None), &[1_000]), 10);
        assert_eq!(runs(bounds(None, None), &[1_000, 1_000]), 10);
        assert_eq!(runs(bounds(None, None), &[99, 99]), 30, "3 s / 100.2 ms, rounded up");
        assert_eq!(runs(bounds(None, None), &[19, 179]), 30, "together");
        assert_eq!(runs(bounds(None, None), &[0]), 2_500);
    }

    #[test]
    fn bounds_are_kept_and_an_upper_one_lowers_the_usual_lower_one() {
        assert_eq!(runs(bounds(Some(40), None), &[99]), 40);
        assert_eq!(runs(bounds(None, Some(20)), &[99]), 20);
        assert_eq!(runs(bounds(None, Some(3)), &[1_000]), 3);
        assert_eq!(runs(bounds(Some(2), None), &[10_000]), 2);
        assert!(bounds(Some(3), Some(2)).check(2).is_err());
    }

    #[test]
    fn a_high_level_has_enough_runs_for_an_interval_of_the_median() {
        let level = ConfidenceLevel::new(0.9999).unwrap();
        assert_eq!(bounds(None, None).settle(&[Duration::from_secs(9)], level).runs, 15);
    }

    #[test]
    fn a_precision_makes_the_fewest_runs_a_pilot_and_the_time_its_bound() {
        let bounds = Bounds { precision: Some(0.01), ..bounds(None, None) };
        let settled = bounds.settle(&[Duration::from_millis(99); 2], ConfidenceLevel::USUAL);
        assert_eq!(settled, RunCount { runs: 10, rule: Rule::Pilot { precision: 0.01, maximum: 30 } });
        assert!(bounds.check(1).is_err());
    }
}
