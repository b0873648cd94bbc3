//! What is said of the ranks of runs on several hosts.

use super::synthetic::{Synthetic, with_ranks};
use crate::conclusion::ReasonCode;
use crate::study::{IntervalReport, RanksReport, Report, VersionRanks};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::value::seed::{Seed, below};
use std::sync::Arc;

const PER_HOST: u32 = 4;
const HOSTS: u32 = 3;

/// One benchmark in two versions, 12 ranks on 3 of 7 hosts, in 8 runs each; the third rank is the slowest of 6 of
/// the baseline's runs.
fn synthetic() -> Synthetic {
    Synthetic::named("solve", "old new", 8, "").hosts(7).of_ranks(HOSTS, PER_HOST)
}

/// The hosts take turns.
fn host(run: u32, seat: u32) -> Option<String> {
    Some(format!("node-{}", (run + 2 * seat) % 7))
}

fn time(run: u32, rank: u32) -> u64 {
    let noise = below(1_000_000, &mut Seed(3).child(&format!("{run} {rank}")));
    let slow = if rank == 2 && !run.is_multiple_of(5) { 2_000_000 } else { 0 };
    50_000_000 + noise + slow
}

fn attempts() -> Vec<EndedAttempt> {
    let mut attempts = synthetic().with_parts(&host);
    with_ranks(&mut attempts, PER_HOST, &time);
    attempts
}

fn report(attempts: &[EndedAttempt]) -> Report {
    synthetic().study_of(attempts).report(None).unwrap()
}

fn only(report: &Report) -> &RanksReport {
    let [only] = &report.ranks[..] else { panic!("one benchmark: {:?}", report.ranks) };
    only
}

/// The times of the ranks of each run of a version, in run order.
fn times(version: u32) -> Vec<Vec<f64>> {
    let plan = synthetic().study().plan().clone();
    let runs = (0..plan.runs()).filter(|run| {
        plan.cell(speedup_core::value::id::RunIndex(*run)).is_some_and(|cell| cell.version.0 == version)
    });
    runs.map(|run| (0..HOSTS * PER_HOST).map(|rank| time(run, rank) as f64).collect()).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    f64::midpoint(values[(n - 1) / 2], values[n / 2])
}

fn most(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

#[test]
fn what_ranks_took_is_by_hand() {
    let report = report(&attempts());
    let found = only(&report);
    assert_eq!((found.benchmark.as_str(), found.hosts, found.ranks), ("solve", 3, 12));
    for (version, of) in (0..).zip(&found.versions) {
        let times = times(version);
        assert_eq!((of.n, of.incomplete), (8, 0));
        let slowest: Vec<f64> = times.iter().map(|run| most(run)).collect();
        let mean = slowest.iter().sum::<f64>() / 8.0;
        let value = of.slowest_ns.as_ref().unwrap();
        assert!((value.estimate - mean).abs() < 1e-3, "{value:?}");
        let deviation = (slowest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 7.0).sqrt();
        // scipy.stats.t.ppf(0.975, 7)
        let half = 2.364_624_251_592_784_6 * deviation / 8_f64.sqrt();
        let (lower, upper) = value.interval.ends().unwrap();
        assert!((lower - (mean - half)).abs() < 1e-3 && (upper - (mean + half)).abs() < 1e-3, "{value:?}");
        let least = |run: &Vec<f64>| run.iter().copied().fold(f64::INFINITY, f64::min);
        let skew = median(times.iter().map(|run| most(run) - least(run)).collect());
        assert!((of.skew_ns.as_ref().unwrap().estimate - skew).abs() < 1e-3);
        let imbalance = |run: &Vec<f64>| most(run) / (run.iter().sum::<f64>() / 12.0) - 1.0;
        let imbalance = median(times.iter().map(imbalance).collect());
        assert!((of.imbalance.as_ref().unwrap().estimate - imbalance).abs() < 1e-12);
    }
    let [old, new] = &found.versions[..] else { panic!("two versions") };
    let speedup = new.speedup.as_ref().unwrap();
    let ratio = old.slowest_ns.as_ref().unwrap().estimate / new.slowest_ns.as_ref().unwrap().estimate;
    assert!(old.speedup.is_none() && (speedup.estimate - ratio).abs() < 1e-12, "{speedup:?}");
    let (lower, upper) = speedup.interval.ends().unwrap();
    assert!(lower < ratio && ratio < upper && upper - lower < 0.1, "{speedup:?}");
}

#[test]
fn the_rank_that_is_the_slowest_more_often_than_chance_is_named() {
    let report = report(&attempts());
    for (version, of) in (0..).zip(&only(&report).versions) {
        let hits = times(version).iter().filter(|run| run[2] == most(run)).count() as u64;
        let rank = of.rank.as_ref().unwrap();
        assert_eq!((rank.name.as_str(), rank.hits, rank.runs, rank.tied), ("2", hits, 8, 0));
        assert!(hits >= 5 && rank.is_more_often && rank.adjusted < 0.01, "{rank:?}");
        assert!((rank.expected - 8.0 / 12.0).abs() < 1e-12);
        assert!((rank.adjusted / rank.p_value - 12.0).abs() < 1e-9);
        for part in [format!("{}: rank 2 ", of.version), format!("{hits} of 8 runs (0.7 by chance")] {
            assert!(of.sentence.contains(&part), "{part}: {}", of.sentence);
        }
        let seat = of.seat.as_ref().unwrap();
        assert_eq!((seat.name.as_str(), seat.runs), ("0", 8));
        let host = of.host.as_ref().unwrap();
        assert!(host.name.starts_with("node-") && host.runs >= host.hits, "{host:?}");
        assert!((host.expected - host.runs as f64 / 3.0).abs() < 1e-12, "{host:?}");
    }
}

/// Runs whose ranks are not all known, and ties, are left out and counted.
#[test]
fn what_is_not_known_is_left_out_and_counted() {
    let mut some = attempts();
    let runs_of_old: Vec<u32> = some
        .iter()
        .filter(|ended| ended.cell == 0 && !ended.lease.is_of_member())
        .map(|ended| ended.lease.run.0)
        .collect();
    for ended in &mut some {
        let (run, is_part) = (ended.lease.run.0, ended.lease.is_of_member());
        let AttemptEnd::Reported(record) = &mut ended.end else { panic!("reported") };
        let record = Arc::make_mut(record);
        if run == runs_of_old[0] && is_part {
            record.ranks.pop();
        } else if run == runs_of_old[1] {
            record.ranks.iter_mut().for_each(|rank| rank.wall.0 = 60_000_000);
        }
    }
    let report = report(&some);
    let [old, new] = &only(&report).versions[..] else { panic!("two versions") };
    assert_eq!((old.n, old.incomplete, new.n, new.incomplete), (7, 1, 8, 0));
    let (rank, seat, host) =
        (old.rank.as_ref().unwrap(), old.seat.as_ref().unwrap(), old.host.as_ref().unwrap());
    assert_eq!((rank.runs, rank.tied), (6, 1));
    assert_eq!((seat.runs, seat.tied, host.tied), (6, 1, 1));
    for part in ["1 run with several", "1 run of which"] {
        assert!(old.sentence.contains(part), "{part}: {}", old.sentence);
    }
}

#[test]
fn the_order_of_attempts_and_parts_tells_nothing() {
    let mut turned = attempts();
    turned.reverse();
    assert_eq!(report(&attempts()).ranks, report(&turned).ranks);
    turned.sort_by_key(|ended| (ended.lease.is_of_member(), ended.lease.run.0 % 3, ended.lease.epoch));
    assert_eq!(report(&attempts()).ranks, report(&turned).ranks);
}

/// A single run has values and no intervals; without ranks nothing is said.
#[test]
fn few_runs_have_reasons_in_the_place_of_intervals() {
    let first = attempts()[..3].to_vec();
    let report = report(&first);
    let with_runs: Vec<&VersionRanks> = only(&report).versions.iter().filter(|of| of.n > 0).collect();
    let [of] = &with_runs[..] else { panic!("one run") };
    let code = |interval: &IntervalReport| match interval {
        IntervalReport::Missing { reason } => reason.code.known(),
        IntervalReport::Bounded { .. } => None,
    };
    assert_eq!(code(&of.slowest_ns.as_ref().unwrap().interval), Some(ReasonCode::TooFewRuns));
    assert_eq!(code(&of.skew_ns.as_ref().unwrap().interval), Some(ReasonCode::TooFewRuns));
    assert!(of.host.is_none(), "each host served one run");
    let without = Synthetic::new(1, 2, 4, "").report();
    assert!(serde_json::to_value(&without).unwrap().get("ranks").is_none());
}
