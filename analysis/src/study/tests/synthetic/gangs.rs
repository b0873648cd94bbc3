//! Runs on several hosts: the parts of further hosts, and ranks on all of them.

use super::Synthetic;
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::{
    lease::LeaseSeat, record::Outcome, record::RankEnd, record::RankTime, record::Record,
};
use speedup_core::{experiment::gang::ScalingLaw, value::id::LeaseEpoch, value::time::Span};
use std::sync::Arc;

/// Leases of a run are numbered one after another.
const EPOCHS_OF_A_RUN: u64 = 100;

impl Synthetic {
    /// With each benchmark on `hosts` hosts with so many ranks on each, and its ranks timed.
    pub(in crate::study::tests) fn of_ranks(mut self, hosts: u32, ranks_per_host: u32) -> Self {
        let benchmarks = self.plan.experiment.benchmarks.len();
        self = self.scaling(ScalingLaw::Strong, &vec![hosts; benchmarks]);
        for gang in self.plan.experiment.benchmarks.iter_mut().filter_map(|of| of.gang.as_mut()) {
            (gang.ranks_per_host, gang.times_ranks, gang.series) = (ranks_per_host, true, None);
        }
        self
    }

    /// The attempts with the parts of their further hosts: of each run the host of each seat, the first of which is
    /// `None` for the one that it has.
    pub(in crate::study::tests) fn with_parts(
        &self,
        host: &dyn Fn(u32, u32) -> Option<String>,
    ) -> Vec<EndedAttempt> {
        let mut all = Vec::new();
        for mut ended in self.attempts() {
            let (run, epoch) = (ended.lease.run.0, ended.lease.epoch.0 * EPOCHS_OF_A_RUN);
            let cell = self.plan.cell(ended.lease.run).expect("a run that is measured");
            let benchmark = self.plan.experiment.benchmark(cell.benchmark).expect("one of the plan");
            let hosts = benchmark.gang.as_ref().map_or(1, |gang| gang.hosts);
            ended.lease.epoch = LeaseEpoch(epoch);
            ended.lease.seat = Some(Box::new(LeaseSeat::numbered(0)));
            for seat in (1..hosts).rev() {
                let mut part = on(&ended, host(run, seat));
                part.lease.epoch = LeaseEpoch(epoch + u64::from(seat));
                part.lease.seat = Some(Box::new(LeaseSeat::numbered(seat)));
                if let AttemptEnd::Reported(_) = &part.end {
                    part.end = AttemptEnd::reported(Record::bare(Outcome::Measured));
                }
                all.push(part);
            }
            all.push(on(&ended, host(run, 0)));
        }
        all
    }
}

/// The same on another host.
fn on(ended: &EndedAttempt, host: Option<String>) -> EndedAttempt {
    let mut ended = ended.clone();
    if let Some(host) = host {
        ended.lease.host = host.parse().expect("the id of a host");
        ended.lease.evidence.boot = format!("boot-of-{host}").parse().expect("the id of a boot");
    }
    ended
}

/// The ranks of a host whose numbers these are, each with its wall time in nanoseconds.
fn ranks(numbers: std::ops::Range<u32>, ns: impl Fn(u32) -> u64) -> Vec<RankTime> {
    let rank = |rank| RankTime {
        rank,
        started_unix_ns: 0,
        wall: Span(ns(rank)),
        user: Span(0),
        system: Span(0),
        max_rss_bytes: 0,
        end: RankEnd::Exited(0),
    };
    numbers.map(rank).collect()
}

/// Lets all hosts of each run have told the times of their ranks: `per_host` of each, by run and rank.
pub(in crate::study::tests) fn with_ranks(
    attempts: &mut [EndedAttempt],
    per_host: u32,
    ns: &dyn Fn(u32, u32) -> u64,
) {
    for ended in attempts {
        let (run, seat) =
            (ended.lease.run.0, ended.lease.seat.as_ref().map_or(0, |seat| seat.number) * per_host);
        if let AttemptEnd::Reported(record) = &mut ended.end {
            Arc::make_mut(record).ranks = ranks(seat..seat + per_host, |rank| ns(run, rank));
        }
    }
}
