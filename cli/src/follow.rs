//! Follows an experiment: its status after every change, over the coordinator's restarts.

pub(crate) mod interrupt;
pub(crate) mod live;
pub(crate) mod progress;

use std::time::Duration;

use speedup_core::value::id::ExperimentId;
use speedup_proto::{
    convert::ExperimentStatus, convert::StatusPhase, v1, v1::experiments_client::ExperimentsClient,
};
use tokio::{sync::watch, time::Instant};
use tonic::{Code, Status, Streaming, transport::Channel};

use crate::{connection::selector::get, exit::failure::Failure};

const TRIED: &str = "cannot follow the experiment";
/// The first pause before the coordinator is asked again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a coordinator may be away: a restart with a large journal to replay takes minutes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) enum FollowUpdate {
    Status(Box<ExperimentStatus>),
    /// The coordinator does not answer; it is asked again.
    Away {
        /// What was answered instead.
        failure: Failure,
    },
}

/// What whoever follows an experiment and whoever asks why it waits for hosts tell each other.
#[derive(Debug, Default)]
pub(crate) struct HostWait {
    /// Whether the latest status says that it waits.
    pub(crate) is_waiting: watch::Sender<bool>,
    /// Why it waits, in the words of `explain`; empty while it does not.
    pub(crate) why: watch::Sender<String>,
    /// Runs that were settled at the latest status: they show that hosts came between two statuses.
    settled: watch::Sender<u32>,
}

impl HostWait {
    /// Takes note of a status. Whoever looks at `is_waiting` only sometimes sees a change also where hosts came in between.
    pub(crate) fn note(&self, status: &ExperimentStatus) {
        let is_waiting = status.phase == StatusPhase::WaitingForHosts;
        let settled = status.tally.settled();
        if self.settled.send_replace(settled) != settled || *self.is_waiting.borrow() != is_waiting {
            self.is_waiting.send_replace(is_waiting);
        }
        if !is_waiting {
            self.why.send_replace(String::new());
        }
    }
}

/// What was last said of why an experiment waits for hosts, by whoever says it in lines.
#[derive(Debug, Default)]
pub(crate) struct HostWaitTold(String);

impl HostWaitTold {
    /// Whether a reason is another than the one that was said last. Numbers in it change with every host and job that comes or
    /// goes, which is no news; and when hosts have come, the status says so.
    pub(crate) fn is_news(&mut self, why: &str) -> bool {
        let kind: String = why.chars().filter(|character| !character.is_ascii_digit()).collect();
        let kind = kind.split_whitespace().collect::<Vec<_>>().join(" ");
        if kind.is_empty() || kind == self.0 {
            return false;
        }
        self.0 = kind;
        true
    }
}

/// The statuses of one experiment, as they come.
#[derive(Debug)]
pub(crate) struct Follower {
    client: ExperimentsClient<Channel>,
    experiment: ExperimentId,
    patience: Duration,
    stream: Option<Streaming<v1::ExperimentStatus>>,
    away: Option<Away>,
}

/// Since when the coordinator does not answer.
#[derive(Clone, Copy, Debug)]
struct Away {
    since: Instant,
    pause: Duration,
    again: Instant,
}

impl Away {
    fn begin(now: Instant) -> Self {
        Self { since: now, pause: FIRST_PAUSE, again: now + FIRST_PAUSE }
    }

    fn further(self, now: Instant) -> Self {
        let pause = (self.pause * 2).min(LONGEST_PAUSE);
        Self { pause, again: now + pause, ..self }
    }
}

impl Follower {
    /// Follows one experiment. A coordinator that is away for longer than `patience` is given up.
    pub(crate) fn new(
        client: ExperimentsClient<Channel>,
        experiment: ExperimentId,
        patience: Duration,
    ) -> Self {
        Self { client, experiment, patience, stream: None, away: None }
    }

    /// The next status. Nothing is lost when this is dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<FollowUpdate, Failure> {
        loop {
            if let Some(away) = self.away {
                tokio::time::sleep_until(away.again).await;
            }
            match self.receive().await {
                Ok(Some(status)) => {
                    self.away = None;
                    let status = ExperimentStatus::try_from(status);
                    let status = status.map_err(|error| Failure::malformed(TRIED, error))?;
                    return Ok(FollowUpdate::Status(Box::new(status)));
                }
                // Whoever serves has ended; that it serves again is asked for.
                Ok(None) => {
                    if let Some(told) = self.miss(&Status::unavailable("the coordinator has ended"))? {
                        return Ok(told);
                    }
                }
                Err(status) => {
                    if let Some(told) = self.miss(&status)? {
                        return Ok(told);
                    }
                }
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<v1::ExperimentStatus>, Status> {
        if self.stream.is_none() {
            self.stream = Some(self.client.watch(get(self.experiment)).await?.into_inner());
        }
        match &mut self.stream {
            Some(stream) => stream.message().await,
            None => Ok(None),
        }
    }

    /// Takes note that there was no status; tells it the first time, and gives up after the last.
    fn miss(&mut self, status: &Status) -> Result<Option<FollowUpdate>, Failure> {
        self.stream = None;
        let failure = Failure::status(TRIED, status);
        if !may_pass(status.code()) {
            return Err(failure);
        }
        let now = Instant::now();
        match self.away {
            None => {
                self.away = Some(Away::begin(now));
                Ok(Some(FollowUpdate::Away { failure }))
            }
            Some(away) if now.duration_since(away.since) >= self.patience => {
                Err(failure.context("the coordinator did not come back"))
            }
            Some(away) => {
                self.away = Some(away.further(now));
                Ok(None)
            }
        }
    }
}

/// Whether it may be otherwise when the coordinator is asked again.
fn may_pass(code: Code) -> bool {
    matches!(code, Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal | Code::Aborted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let now = Instant::now();
        let mut away = Away::begin(now);
        for _ in 0..10 {
            away = away.further(now);
        }
        assert_eq!((away.pause, away.since), (LONGEST_PAUSE, now));
    }

    #[test]
    fn a_reason_with_other_numbers_is_no_news() {
        let mut told = HostWaitTold::default();
        let said = [
            "",
            "3 runs wait.\n  1 busy",
            " 12 runs wait.\n 10  busy",
            "",
            "No host.",
            "3 runs wait.\n  1 busy",
        ];
        assert_eq!(said.map(|why| told.is_news(why)), [false, true, false, false, true, true]);
    }

    #[test]
    fn what_was_refused_is_not_asked_again() {
        assert!(may_pass(Code::Unavailable) && !may_pass(Code::NotFound) && !may_pass(Code::Unimplemented));
    }
}
