//! What a selftest means, in words.

use serde::Serialize;

use super::{AgainstFloor, BusyRuns, Selftest};

/// The bias that a good timer stays below, nanoseconds: a sixth of what the best of the usual ones add.
pub(super) const GOOD_BIAS_NS: u64 = 10_000;
/// How much wider than the floor's a good timer's interquartile range may be, nanoseconds.
pub(super) const GOOD_EXCESS_NS: u64 = 3_000;

/// What this host's timer is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimerVerdict {
    pub quality: Quality,
    /// In sentences, the most important first.
    pub sentences: Vec<String>,
}

/// What this host's timer is worth, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Bias and spread are those of the kernel itself.
    AtTheFloor,
    /// The timer adds more than it should, or scatters more.
    AboveTheFloor,
    /// A time was reported shorter than the truth: this host must not be used.
    Short,
}

impl Selftest {
    /// What was found, in words.
    pub fn verdict(&self) -> TimerVerdict {
        let shorts = [self.busy, self.busy_beside].into_iter().flatten().map(|busy| busy.short).sum::<u32>();
        let programs = [("a program that only exits", self.no_op), ("/bin/true", self.bin_true)];
        let tested: Vec<(&str, AgainstFloor)> =
            programs.into_iter().filter_map(|(name, found)| Some((name, found?))).collect();
        let quality = if shorts > 0 {
            Quality::Short
        } else if tested.iter().all(|(_, found)| found.is_good()) {
            Quality::AtTheFloor
        } else {
            Quality::AboveTheFloor
        };
        let mut sentences = vec![match quality {
            Quality::Short => format!(
                "This timer reported {shorts} times shorter than they were: do not measure on this host, and report it."
            ),
            Quality::AtTheFloor => {
                "This timer is at the floor: it adds no more than the kernel's own noise.".to_owned()
            }
            Quality::AboveTheFloor => "This timer is above the floor: was the host busy? Repeat the test on \
                                       an idle host before you trust small effects measured here."
                .to_owned(),
        }];
        sentences.extend(tested.iter().map(|(name, found)| found.sentence(name)));
        sentences.extend(
            self.no_op_beside
                .map(|found| found.sentence("a program that only exits, beside busy neighbours")),
        );
        sentences.extend(self.busy.map(|busy| busy.sentence("alone")));
        sentences.extend(self.busy_beside.map(|busy| busy.sentence("beside busy neighbours")));
        sentences.extend(self.asleep.map(|run| match (run.voluntary, run.involuntary) {
            (1, 0) => "While a program slept, no thread of the agent woke.".to_owned(),
            (voluntary, involuntary) => format!(
                "While a program slept, the agent was switched {voluntary} times by its own waiting (1 is the wait \
                 itself) and {involuntary} times by others."
            ),
        }));
        if let Some(test) = self.test() {
            sentences.push(format!(
                "Differences up to {} between two medians are near this timer's own error.",
                microseconds(test.error.near_ns().cast_signed())
            ));
        }
        TimerVerdict { quality, sentences }
    }
}

impl AgainstFloor {
    /// Whether bias and spread are those of the floor.
    pub fn is_good(&self) -> bool {
        let allowed_ns = self.floor.interquartile_range_ns() + GOOD_EXCESS_NS;
        // Below the floor is not above it: the floor's parent wakes once more than the launcher.
        self.bias_ns <= GOOD_BIAS_NS.max(self.floor.interquartile_range_ns()).cast_signed()
            && self.timer.interquartile_range_ns() <= allowed_ns
    }

    fn sentence(&self, name: &str) -> String {
        let mut name = name.to_owned();
        name[..1].make_ascii_uppercase();
        format!(
            "{name}: {} at the floor, {} by this timer ({} by the median), interquartile range {} and {}.",
            microseconds(self.floor.median_ns.cast_signed()),
            microseconds(self.timer.median_ns.cast_signed()),
            signed_microseconds(self.bias_ns),
            microseconds(self.floor.interquartile_range_ns().cast_signed()),
            microseconds(self.timer.interquartile_range_ns().cast_signed()),
        )
    }
}

impl BusyRuns {
    fn sentence(&self, how: &str) -> String {
        let over_ns = self.timer.median_ns.cast_signed() - self.wanted_ns.cast_signed();
        format!(
            "A program busy for {} ms, {how}: reported shorter {} times in {}, {} by the median.",
            self.wanted_ns as f64 / 1e6,
            self.short,
            self.runs,
            signed_microseconds(over_ns),
        )
    }
}

fn microseconds(ns: i64) -> String {
    format!("{:.1} µs", ns as f64 / 1e3).replace('-', "−")
}

fn signed_microseconds(ns: i64) -> String {
    format!("{:+.1} µs", ns as f64 / 1e3).replace('-', "−")
}
