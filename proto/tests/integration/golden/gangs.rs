//! Events of runs on several hosts: a plan of each launcher, a gang, and the part of a host that ended.

use std::sync::Arc;

use speedup_core::experiment::gang::{Gang, GangLauncher, ScalingLaw, ScalingSeries};
use speedup_core::machine::event::{Change, Event};
use speedup_core::plan::Plan;
use speedup_core::run::lease::{Evidence, Lease, LeaseSeat};
use speedup_core::run::record::{Outcome, RankEnd, RankTime, Record};
use speedup_core::value::id::LeaseEpoch;
use speedup_core::value::time::{Span, Timestamp};

use super::{EXPERIMENT, leased, plan, record};

pub(super) fn events() -> Vec<Event> {
    let own = GangLauncher::Own(vec!["srun".to_owned(), "--nodes={hosts}".to_owned()]);
    let plans = [GangLauncher::None, GangLauncher::OpenMpi, GangLauncher::Mpich, own].map(|launcher| {
        let law = if launcher == GangLauncher::Mpich { ScalingLaw::Weak } else { ScalingLaw::Strong };
        let series =
            (launcher != GangLauncher::None).then(|| ScalingSeries { name: "solve".to_owned(), law });
        submitted(Gang { hosts: 2, ranks_per_host: 4, launcher, times_ranks: false, series })
    });
    let mut leases = [("machine-1", "node17"), ("machine-2", "node18")].map(|(host, name)| Lease {
        host: host.parse().unwrap(),
        evidence: Evidence { host_name: Some(name.parse().unwrap()), ..leased().evidence },
        ..leased()
    });
    for (number, lease) in (0..).zip(&mut leases) {
        lease.epoch = LeaseEpoch(7 + u64::from(number));
        lease.seat = Some(Box::new(LeaseSeat::numbered(number)));
    }
    LeaseSeat::introduce(&mut leases);
    let (host, lease) = (leases[1].host.clone(), leases[1].epoch);
    let ended = Change::PartEnded { host, lease, record: Arc::new(record(Outcome::Measured)) };
    let timed = |end| RankTime {
        rank: 7,
        started_unix_ns: 1_700_000_000_000_000_000,
        wall: Span(2_000_000),
        user: Span(1_500_000),
        system: Span(250_000),
        max_rss_bytes: 1 << 20,
        end,
    };
    let ranks = vec![timed(RankEnd::Exited(0)), RankTime { rank: 8, ..timed(RankEnd::Signalled(9)) }];
    let timed = Record { ranks, ..record(Outcome::Measured) };
    let timed = Change::PartEnded { host: leases[1].host.clone(), lease, record: Arc::new(timed) };
    let step =
        Gang { hosts: 2, ranks_per_host: 4, launcher: GangLauncher::Srun, times_ranks: true, series: None };
    let switches = Some("core.leaf7".parse().unwrap());
    let placed = Lease { evidence: Evidence { switches, ..leased().evidence }, ..leased() };
    let later = [submitted(step), timed, Change::LeaseGranted(Box::new(placed))];
    let changes = plans.into_iter().chain([Change::GangGranted(leases.into()), ended]).chain(later);
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn submitted(gang: Gang) -> Change {
    let mut experiment = plan().experiment;
    experiment.benchmarks[0].gang = Some(gang);
    let plan = Arc::new(Plan::draw(experiment));
    Change::Submitted { experiment: EXPERIMENT, plan, by: "ada@laptop".to_owned(), request: None }
}
