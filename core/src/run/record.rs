//! What an agent says was done: the record of one attempt.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    experiment::build::Build, experiment::build::Product, experiment::files::MAX_FILE_BYTES,
    experiment::gang::MAX_RANKS_PER_HOST, experiment::metric::Absence, experiment::metric::Metric,
    run::Obstacle, run::conditions::Conditions, run::program::Program, run::timer::TimerError,
    value::time::Span,
};

/// Most bytes of an explanation in words; longer ones are cut where they enter.
pub const MAX_REASON_BYTES: usize = 2_000;

/// The record of one attempt, as the agent that executed it reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub outcome: Outcome,
    /// When the clock started, by the agent's wall clock (nanoseconds since the Unix epoch): information, not evidence.
    pub started_unix_ns: u64,
    /// What was measured, whatever the outcome; empty when nothing was executed.
    pub metrics: BTreeMap<Metric, u64>,
    pub stdout: Output,
    pub stderr: Output,
    /// Processes that outlived the run and were ended.
    pub survivors: u32,
    /// Context switches of the agent itself while the run was timed.
    pub agent_switches: u64,
    /// The error of the timer that it was measured with, where that was tested.
    pub timer: Option<TimerError>,
    /// The conditions of the timed execution; absent when there was none, and in records of earlier releases.
    #[serde(default)]
    pub conditions: Option<Box<Conditions>>,
    /// Metrics whose values lack what happened in the kernel, because the agent may not count there.
    pub user_only: BTreeSet<Metric>,
    /// Why metrics that the plan wants have no value. No metric is both here and in `metrics`.
    pub absent: BTreeMap<Metric, Absence>,
    /// The values of the plan's own metrics by their names, one an iteration, in the order of the output; finite.
    pub series: BTreeMap<String, Vec<f64>>,
    /// How the host was when the run began, where the plan has hosts rest.
    pub rest: Option<RestReading>,
    /// How long the plan's canary took after the run, where it has one and that succeeded.
    pub canary: Option<Span>,
    /// Why the canary has no time, where the plan has one. The run counts nevertheless.
    pub canary_failed: Option<String>,
    /// What it made, where it was a build; ascending by name.
    #[serde(default)]
    pub products: Vec<Product>,
    /// The file that was executed; absent when nothing was timed, and in records of earlier releases.
    #[serde(default)]
    pub program: Option<Box<Program>>,
    /// The times of the ranks on this host, where the plan has them timed; ascending by number.
    #[serde(default)]
    pub ranks: Vec<RankTime>,
}

/// Most ranks of one host whose times are kept.
pub const MAX_RANKS: usize = MAX_RANKS_PER_HOST as usize;

/// What one rank of a program took, by the clock of the host that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTime {
    /// Its number among the ranks of all hosts.
    pub rank: u32,
    /// When it was started, by the wall clock of the host (nanoseconds since the Unix epoch): information, not evidence.
    pub started_unix_ns: u64,
    /// From its start to its end.
    pub wall: Span,
    /// Processor time in user mode.
    pub user: Span,
    /// Processor time in the kernel.
    pub system: Span,
    /// The peak of its resident memory, in bytes.
    pub max_rss_bytes: u64,
    pub end: RankEnd,
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankEnd {
    /// By itself, with this code.
    Exited(u8),
    Signalled(u8),
}

/// How a host was when it had rested. What cannot be read on it is absent, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestReading {
    /// How long the agent waited until the host was within the plan's bounds.
    pub waited: Span,
    /// The one-minute load average in percent: 100 is one task.
    pub load_percent: Option<u32>,
    /// The highest temperature of the processor, in thousandths of a degree Celsius.
    pub temperature_mc: Option<i32>,
    /// The mean frequency of the CPUs of the run, in percent of the mean of the highest that they offer.
    pub frequency_percent: Option<u32>,
}

impl Record {
    /// A record of an attempt of which nothing is known but how it ended.
    pub fn bare(outcome: Outcome) -> Self {
        Self {
            outcome,
            started_unix_ns: 0,
            metrics: BTreeMap::new(),
            stdout: Output::default(),
            stderr: Output::default(),
            survivors: 0,
            agent_switches: 0,
            timer: None,
            conditions: None,
            user_only: BTreeSet::new(),
            absent: BTreeMap::new(),
            series: BTreeMap::new(),
            rest: None,
            canary: None,
            canary_failed: None,
            products: Vec::new(),
            program: None,
            ranks: Vec::new(),
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// As expected: the run counts.
    Measured,
    /// The benchmark failed: an outcome, not repeated.
    Failed(Failure),
    /// The host or the agent failed before the benchmark could: the run is tried again elsewhere.
    NotExecuted {
        /// What was tried and why it failed.
        reason: String,
        /// Who stood in the way.
        obstacle: Obstacle,
    },
}

impl Outcome {
    /// In words, why the attempt does not count, if it does not.
    pub fn why_not(&self) -> Option<String> {
        match self {
            Self::Measured => None,
            Self::Failed(failure) => Some(failure.words()),
            Self::NotExecuted { reason, .. } => Some(reason.clone()),
        }
    }
}

crate::words! {
    /// How a benchmark fails.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Failure {
        /// It ended with another exit code than expected.
        Exit { code: u8, expected: u8 } = "exit",
        Signal {
            signal: u8,
            /// Whether the kernel dumped the program's memory, which was part of the time.
            #[serde(default)]
            core_dumped: bool,
        } = "signal",
        /// It did not end in time.
        TimedOut {
            limit: Span,
        } = "timeout",
        /// It wrote something else than expected to its standard output.
        WrongOutput {
            blake3: [u8; 32],
            expected: [u8; 32],
        } = "wrong_output",
        /// It wrote more than the plan allows.
        TooMuchOutput {
            /// The plan's limit in bytes.
            limit: u64,
        } = "too_much_output",
        /// Its output has no value of one of the plan's own metrics.
        NoValue {
            metric: String,
            /// What was found instead.
            reason: String,
        } = "no_value",
        /// It was a build, and what it was to make is not there.
        NoProduct {
            name: String,
            /// What was found instead.
            reason: String,
        } = "no_product",
        /// A warm-up failed, so the run was not begun.
        Warmup {
            /// Which, from 1.
            number: u32,
            failure: String,
        } = "warmup",
    }
    /// The failure's code name in exports.
    fn code(&self);
}

impl Failure {
    /// What keeps reported products from being those of a build: exactly the declared ones are.
    pub(crate) fn from_products(build: &Build, products: &[Product]) -> Option<Self> {
        for (number, Product { name, content }) in products.iter().enumerate() {
            let reason = if !build.products.contains_key(name) {
                "the plan does not name it".to_owned()
            } else if products[..number].iter().any(|earlier| earlier.name == *name) {
                "it was reported twice".to_owned()
            } else if content.bytes > MAX_FILE_BYTES {
                format!("it has {} bytes, but at most {MAX_FILE_BYTES} are allowed", content.bytes)
            } else {
                continue;
            };
            return Some(Self::NoProduct { name: name.clone(), reason });
        }
        let mut declared = build.products.keys();
        let lacking = declared.find(|name| products.iter().all(|product| product.name != **name))?;
        Some(Self::NoProduct { name: lacking.clone(), reason: "it was not reported".to_owned() })
    }

    /// The failure in words.
    pub fn words(&self) -> String {
        match self {
            Self::Exit { code, expected } => format!("exit code {code} instead of {expected}"),
            Self::Signal { signal, core_dumped: false } => format!("ended by signal {signal}"),
            Self::Signal { signal, core_dumped: true } => format!("ended by signal {signal}, core dumped"),
            Self::TimedOut { limit } => format!("did not end within {limit}"),
            Self::WrongOutput { .. } => "standard output differs from what the plan expects".to_owned(),
            Self::TooMuchOutput { limit } => format!("wrote more than the {limit} bytes the plan allows"),
            Self::NoValue { metric, reason } => format!("no value of {metric}: {reason}"),
            Self::NoProduct { name, reason } => format!("the build has no product `{name}`: {reason}"),
            Self::Warmup { number, failure } => format!("warm-up {number} failed: {failure}"),
        }
    }
}

/// One stream of output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many bytes were written.
    pub bytes: u64,
    /// BLAKE3 of all of them.
    pub blake3: [u8; 32],
    /// The first of them, as many as the plan keeps.
    pub kept: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::CommandLine;
    use crate::experiment::build::USUAL_TIMEOUT;
    use crate::experiment::files::{Content, ContentHash};

    fn product(name: &str, bytes: u64) -> Product {
        let content = Content { blake3: ContentHash([1; 32]), bytes, executable: true };
        Product { name: name.to_owned(), content }
    }

    fn build(names: &[&str]) -> Build {
        Build {
            command: CommandLine::Shell("make".to_owned()),
            builds: 1,
            products: names.iter().map(|name| ((*name).to_owned(), format!("out/{name}"))).collect(),
            timeout: USUAL_TIMEOUT,
        }
    }

    #[test]
    fn exactly_the_declared_products_are_taken() {
        let build = build(&["lib", "prog"]);
        let refused = |products: &[Product]| match Failure::from_products(&build, products) {
            Some(Failure::NoProduct { name, .. }) => Some(name),
            other => other.map(|failure| failure.words()),
        };
        assert_eq!(refused(&[product("prog", 1), product("lib", 2)]), None, "in any order");
        assert_eq!(refused(&[product("prog", 1)]), Some("lib".to_owned()));
        assert_eq!(refused(&[]), Some("lib".to_owned()));
        assert_eq!(refused(&[product("lib", 1), product("prog", 1), product("x", 1)]), Some("x".to_owned()));
        assert_eq!(
            refused(&[product("lib", 1), product("lib", 1), product("prog", 1)]),
            Some("lib".to_owned())
        );
        assert_eq!(refused(&[product("lib", 1), product("prog", u64::MAX)]), Some("prog".to_owned()));
    }
}
