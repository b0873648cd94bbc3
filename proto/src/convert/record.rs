//! The record of an attempt, its outcome and its output; of one that was not executed, why and who stood in the way.

use speedup_core::{
    experiment::MAX_NAME_BYTES, experiment::MAX_OUTPUT_KEPT, experiment::files::ContentHash, run::Obstacle,
    run::program::MAX_PATH_BYTES, run::program::Program, run::program::ProgramContent, run::record::Failure,
    run::record::MAX_RANKS, run::record::Outcome, run::record::Output, run::record::RankEnd,
    run::record::RankTime, run::record::Record, run::record::RestReading, value::time::Span,
};

use super::build::{products_in, products_out};
use super::field::{
    chosen, cut, enumerated, enumeration, exactly, no_longer, optional, reason, required, small,
};
use super::malformed::{Malformed, Why, Within};
use super::metric;
use crate::v1;
use v1::executed_program::Content as WireContent;
use v1::failure::{Exit, Failure as WireFailure, NoProduct, NoValue, Warmup, WrongOutput};
use v1::rank_time::End as WireEnd;
use v1::record::Outcome as WireOutcome;

impl From<&Record> for v1::Record {
    fn from(record: &Record) -> Self {
        wire(record, v1::StreamOutput::from(&record.stdout), (&record.stderr).into())
    }
}

/// Moves the output that was kept, which may be large.
impl From<Record> for v1::Record {
    fn from(mut record: Record) -> Self {
        let (stdout, stderr) = (std::mem::take(&mut record.stdout), std::mem::take(&mut record.stderr));
        wire(&record, stdout.into(), stderr.into())
    }
}

fn wire(record: &Record, stdout: v1::StreamOutput, stderr: v1::StreamOutput) -> v1::Record {
    v1::Record {
        outcome: Some((&record.outcome).into()),
        started_unix_ns: record.started_unix_ns,
        metrics: metric::values_out(&record.metrics, &record.user_only),
        stdout: Some(stdout),
        stderr: Some(stderr),
        survivors: record.survivors,
        agent_switches: record.agent_switches,
        timer: record.timer.map(Into::into),
        conditions: record.conditions.as_deref().map(Into::into),
        absent: metric::absent_out(&record.absent),
        series: metric::series_out(&record.series),
        rest: record.rest.map(Into::into),
        canary_ns: record.canary.map(|time| time.0),
        canary_failed: record.canary_failed.clone(),
        products: products_out(&record.products),
        program: record.program.as_deref().map(Into::into),
        ranks: record.ranks.iter().map(Into::into).collect(),
    }
}

impl TryFrom<v1::Record> for Record {
    type Error = Malformed;

    fn try_from(wire: v1::Record) -> Result<Self, Malformed> {
        let (metrics, user_only) = metric::values_in(&wire.metrics)?;
        if wire.canary_ns.is_some() && wire.canary_failed.is_some() {
            return Err(Malformed::new("canary_failed", Why::Twice));
        }
        Ok(Self {
            outcome: chosen(wire.outcome, "outcome")?.try_into()?,
            started_unix_ns: wire.started_unix_ns,
            absent: metric::absent_in(wire.absent, &metrics)?,
            series: metric::series_in(wire.series)?,
            metrics,
            user_only,
            stdout: required(wire.stdout, "stdout")?,
            stderr: required(wire.stderr, "stderr")?,
            survivors: wire.survivors,
            agent_switches: wire.agent_switches,
            timer: optional(wire.timer, "timer")?,
            conditions: optional(wire.conditions, "conditions")?.map(Box::new),
            rest: wire.rest.map(Into::into),
            canary: wire.canary_ns.map(Span),
            canary_failed: wire.canary_failed.map(reason),
            products: products_in(wire.products, "products")?,
            program: optional(wire.program, "program")?.map(Box::new),
            ranks: ranks_in(wire.ranks)?,
        })
    }
}

pub(super) fn ranks_in(wire: Vec<v1::RankTime>) -> Result<Vec<RankTime>, Malformed> {
    if wire.len() > MAX_RANKS {
        return Err(Malformed::new("ranks", Why::TooMany { items: wire.len(), most: MAX_RANKS }));
    }
    let ranks: Vec<RankTime> =
        wire.into_iter().map(TryInto::try_into).collect::<Result<_, _>>().within("ranks")?;
    if !ranks.is_sorted_by(|a, b| a.rank < b.rank) {
        return Err(Malformed::new("ranks", Why::Unordered));
    }
    Ok(ranks)
}

impl From<&RankTime> for v1::RankTime {
    fn from(time: &RankTime) -> Self {
        let RankTime { rank, started_unix_ns, wall, user, system, max_rss_bytes, end } = *time;
        let end = match end {
            RankEnd::Exited(code) => WireEnd::Exit(code.into()),
            RankEnd::Signalled(signal) => WireEnd::Signal(signal.into()),
        };
        let (wall_ns, user_ns, system_ns) = (wall.0, user.0, system.0);
        Self { rank, started_unix_ns, wall_ns, user_ns, system_ns, max_rss_bytes, end: Some(end) }
    }
}

impl TryFrom<v1::RankTime> for RankTime {
    type Error = Malformed;

    fn try_from(wire: v1::RankTime) -> Result<Self, Malformed> {
        let v1::RankTime { rank, started_unix_ns, wall_ns, user_ns, system_ns, max_rss_bytes, end } = wire;
        let end = match chosen(end, "end")? {
            WireEnd::Exit(code) => RankEnd::Exited(small(code, "exit")?),
            WireEnd::Signal(signal) => RankEnd::Signalled(small(signal, "signal")?),
        };
        let (wall, user, system) = (Span(wall_ns), Span(user_ns), Span(system_ns));
        Ok(Self { rank, started_unix_ns, wall, user, system, max_rss_bytes, end })
    }
}

impl From<&Program> for v1::ExecutedProgram {
    fn from(program: &Program) -> Self {
        let content = match &program.content {
            ProgramContent::Blake3(hash) => WireContent::Blake3(hash.0.to_vec()),
            ProgramContent::Unknown { reason } => WireContent::Unknown(reason.clone()),
        };
        Self { path: program.path.clone(), content: Some(content) }
    }
}

impl TryFrom<v1::ExecutedProgram> for Program {
    type Error = Malformed;

    fn try_from(wire: v1::ExecutedProgram) -> Result<Self, Malformed> {
        let content = match chosen(wire.content, "content")? {
            WireContent::Blake3(hash) => ProgramContent::Blake3(ContentHash(exactly(&hash, "blake3")?)),
            WireContent::Unknown(text) => ProgramContent::Unknown { reason: reason(text) },
        };
        Ok(Self { path: cut(wire.path, MAX_PATH_BYTES), content })
    }
}

impl From<RestReading> for v1::RestReading {
    fn from(reading: RestReading) -> Self {
        let RestReading { waited, load_percent, temperature_mc, frequency_percent } = reading;
        Self { waited_ns: waited.0, load_percent, temperature_mc, frequency_percent }
    }
}

impl From<v1::RestReading> for RestReading {
    fn from(wire: v1::RestReading) -> Self {
        let v1::RestReading { waited_ns, load_percent, temperature_mc, frequency_percent } = wire;
        Self { waited: Span(waited_ns), load_percent, temperature_mc, frequency_percent }
    }
}

impl From<&Outcome> for WireOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Measured => Self::Measured(v1::Measured {}),
            Outcome::Failed(failure) => Self::Failed(failure.into()),
            Outcome::NotExecuted { reason, obstacle } => Self::NotExecuted(not_executed(reason, *obstacle)),
        }
    }
}

impl TryFrom<WireOutcome> for Outcome {
    type Error = Malformed;

    fn try_from(wire: WireOutcome) -> Result<Self, Malformed> {
        Ok(match wire {
            WireOutcome::Measured(v1::Measured {}) => Self::Measured,
            WireOutcome::Failed(failure) => Self::Failed(Failure::try_from(failure).within("failed")?),
            WireOutcome::NotExecuted(wire) => {
                let (reason, obstacle) = reason_and_obstacle(wire).within("not_executed")?;
                Self::NotExecuted { reason, obstacle }
            }
        })
    }
}

impl From<&Failure> for v1::Failure {
    fn from(failure: &Failure) -> Self {
        let core_dumped = matches!(failure, Failure::Signal { core_dumped: true, .. });
        let failure = match failure {
            Failure::Exit { code, expected } => {
                WireFailure::Exit(Exit { code: u32::from(*code), expected: u32::from(*expected) })
            }
            Failure::Signal { signal, core_dumped: _ } => WireFailure::Signal(u32::from(*signal)),
            Failure::TimedOut { limit } => WireFailure::TimedOutLimitNs(limit.0),
            Failure::WrongOutput { blake3, expected } => {
                WireFailure::WrongOutput(WrongOutput { blake3: blake3.to_vec(), expected: expected.to_vec() })
            }
            Failure::TooMuchOutput { limit } => WireFailure::TooMuchOutputLimit(*limit),
            Failure::NoValue { metric, reason } => {
                WireFailure::NoValue(NoValue { metric: metric.clone(), reason: reason.clone() })
            }
            Failure::NoProduct { name, reason } => {
                WireFailure::NoProduct(NoProduct { name: name.clone(), reason: reason.clone() })
            }
            Failure::Warmup { number, failure } => {
                WireFailure::Warmup(Warmup { number: *number, failure: failure.clone() })
            }
        };
        Self { failure: Some(failure), core_dumped }
    }
}

impl TryFrom<v1::Failure> for Failure {
    type Error = Malformed;

    fn try_from(wire: v1::Failure) -> Result<Self, Malformed> {
        Ok(match chosen(wire.failure, "failure")? {
            WireFailure::Exit(Exit { code, expected }) => {
                Self::Exit { code: small(code, "exit.code")?, expected: small(expected, "exit.expected")? }
            }
            WireFailure::Signal(signal) => {
                Self::Signal { signal: small(signal, "signal")?, core_dumped: wire.core_dumped }
            }
            WireFailure::TimedOutLimitNs(limit) => Self::TimedOut { limit: Span(limit) },
            WireFailure::WrongOutput(WrongOutput { blake3, expected }) => Self::WrongOutput {
                blake3: exactly(&blake3, "wrong_output.blake3")?,
                expected: exactly(&expected, "wrong_output.expected")?,
            },
            WireFailure::TooMuchOutputLimit(limit) => Self::TooMuchOutput { limit },
            WireFailure::NoValue(NoValue { metric, reason: text }) => {
                Self::NoValue { metric: cut(metric, MAX_NAME_BYTES), reason: reason(text) }
            }
            WireFailure::NoProduct(NoProduct { name, reason: text }) => {
                Self::NoProduct { name: cut(name, MAX_NAME_BYTES), reason: reason(text) }
            }
            WireFailure::Warmup(Warmup { number, failure }) => {
                Self::Warmup { number, failure: reason(failure) }
            }
        })
    }
}

impl From<&Output> for v1::StreamOutput {
    fn from(output: &Output) -> Self {
        output.clone().into()
    }
}

impl From<Output> for v1::StreamOutput {
    fn from(output: Output) -> Self {
        Self { bytes: output.bytes, blake3: output.blake3.to_vec(), kept: output.kept }
    }
}

impl TryFrom<v1::StreamOutput> for Output {
    type Error = Malformed;

    fn try_from(wire: v1::StreamOutput) -> Result<Self, Malformed> {
        let most = usize::try_from(MAX_OUTPUT_KEPT).unwrap_or(usize::MAX);
        no_longer(wire.kept.len(), most, "kept")?;
        Ok(Self { bytes: wire.bytes, blake3: exactly(&wire.blake3, "blake3")?, kept: wire.kept })
    }
}

/// What the reason begins with where an owner's limits stood in the way and the message, which is of a release that had no
/// field for it, does not say so. Journals of such releases are replayed by it, for ever.
const OWNERS_WORDS: &str = "the owner of this host does not allow it: ";

enumeration!(Obstacle, v1::Obstacle, [Host, Owner, Plan]);

/// The host is written only where the words would tell otherwise: else the bytes are those of releases without the field.
pub(super) fn not_executed(reason: &str, obstacle: Obstacle) -> v1::NotExecuted {
    let told = if by_words(reason) == obstacle && obstacle == Obstacle::Host {
        v1::Obstacle::Unspecified
    } else {
        obstacle.into()
    };
    v1::NotExecuted { reason: reason.to_owned(), obstacle: told.into() }
}

/// The reason and who stood in the way.
pub(super) fn reason_and_obstacle(wire: v1::NotExecuted) -> Result<(String, Obstacle), Malformed> {
    let v1::NotExecuted { reason: text, obstacle } = wire;
    let obstacle = if obstacle == v1::Obstacle::Unspecified as i32 {
        by_words(&text)
    } else {
        enumerated::<v1::Obstacle, _>(obstacle, "obstacle")?
    };
    Ok((reason(text), obstacle))
}

fn by_words(reason: &str) -> Obstacle {
    if reason.starts_with(OWNERS_WORDS) { Obstacle::Owner } else { Obstacle::Host }
}
