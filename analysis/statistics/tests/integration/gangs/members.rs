//! Hosts that serve runs together: which of them is unlike the others.

use super::assert_close;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use speedup_statistics::diagnostics::host_effect::{HostEffectError, HostRanks};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample};

/// Times, and the hosts of each run.
type GangCell = (Sample, Vec<Vec<u32>>);

fn ranks(cells: &[GangCell], level: f64) -> Result<HostRanks, HostEffectError> {
    let cells: Vec<(&Sample, &[Vec<u32>])> =
        cells.iter().map(|(sample, hosts)| (sample, &hosts[..])).collect();
    HostRanks::from_gangs(&cells, ConfidenceLevel::new(level).expect("a level"))
}

fn cell(times: &[f64], hosts: &[&[u32]]) -> GangCell {
    (Sample::new(times.to_vec()).expect("times"), hosts.iter().map(|run| run.to_vec()).collect())
}

/// All subsets of the runs, by `gangs/reference.py`.
#[test]
fn members_agree_with_all_subsets_by_numpy() {
    let cells = [
        cell(
            &[10.1, 10.4, 12.9, 10.2, 12.2, 10.8, 13.1, 10.6],
            &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 4], &[3, 5, 0], &[4, 5, 1], &[5, 0, 2], &[0, 2, 4], &[1, 3, 5]],
        ),
        cell(
            &[205.0, 231.0, 202.0, 207.0, 229.0, 207.0],
            &[&[5, 1, 3], &[0, 4, 2], &[1, 3, 5], &[2, 3, 0], &[4, 1, 5], &[1, 5, 0]],
        ),
    ];
    let found = ranks(&cells, 0.95).unwrap();
    let [slow] = found.outlying() else { panic!("one host: {found:?}") };
    assert_eq!((slow.host, slow.runs, found.hosts(), &slow.together), (4, 5, 6, &Vec::new()));
    assert_close(slow.z, 2.914_848_941_059_254_6, "z");
    assert_close(slow.p.get(), 0.002_380_952_380_952_380_7, "p");
    assert_close(slow.adjusted.get(), 6.0 * 0.002_380_952_380_952_380_7, "p, adjusted");
    // 12.9, 12.2 and 13.1 beside a median of 10.4; 231 and 229 beside one of 206.
    assert!((slow.slower - (12.9 / 10.4 - 1.0)).abs() < 0.15, "{slow:?}");
    // Without its runs nobody is unlike the others: the next has a p-value of 0.35 among five.
    let without = cells.map(|(sample, hosts)| {
        let kept = sample.in_run_order().iter().zip(hosts).filter(|(_, hosts)| !hosts.contains(&4));
        let (times, hosts): (Vec<f64>, Vec<Vec<u32>>) = kept.map(|(time, hosts)| (*time, hosts)).unzip();
        (Sample::new(times).expect("times"), hosts)
    });
    let without = ranks(&without, 0.95).unwrap();
    let next = without.most_unlikely();
    assert_eq!((next.host, next.adjusted.get()), (1, 1.0));
    assert_close(next.p.get(), 0.35, "the next");
    assert_close(next.z, -1.038_242_829_227_99, "z of the next");
}

#[test]
fn hosts_that_served_the_same_runs_are_one() {
    let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let three = cell(&times, &[&[7, 0], &[0, 7], &[1, 2], &[1, 2], &[3, 4], &[4, 3]]);
    let found = ranks(std::slice::from_ref(&three), 1e-9).unwrap();
    assert_eq!(found.hosts(), 6);
    let first = found.most_unlikely();
    assert_eq!((first.host, &first.together), (3, &vec![4]));
    assert_close(first.adjusted.get(), 3.0 * first.p.get(), "of three that can be told apart");
    let two = cell(&times, &[&[0, 1], &[2, 3], &[0, 1], &[2, 3], &[0, 1], &[2, 3]]);
    assert_eq!(ranks(&[two], 0.95).unwrap_err(), HostEffectError::FewHosts { hosts: 2, needed: 3 });
    let of_all: [&[u32]; 6] = [&[0, 1, 2]; 6];
    let all = cell(&times, &of_all);
    assert_eq!(ranks(&[all], 0.95).unwrap_err(), HostEffectError::FewHosts { hosts: 0, needed: 3 });
}

/// A run of an exponential law on hosts that are drawn, longer by `slow` on host 0.
fn drawn(random: &mut ChaCha8Rng, pool: u32, hosts: usize, runs: usize, slow: f64) -> GangCell {
    let mut run = |_| {
        let mut of: Vec<u32> = (0..pool).collect();
        for at in 0..hosts {
            let other = random.random_range(at..of.len());
            of.swap(at, other);
        }
        of.truncate(hosts);
        let noise = -random.random_range(1e-12..1.0_f64).ln();
        (noise + if of.contains(&0) { slow } else { 0.0 }, of)
    };
    let (times, hosts): (Vec<f64>, Vec<Vec<u32>>) = (0..runs).map(&mut run).unzip();
    (Sample::new(times).expect("times"), hosts)
}

/// The promise: where hosts do not matter, one is named in at most a twentieth of experiments.
#[test]
fn alike_members_are_named_in_at_most_a_twentieth() {
    const EXPERIMENTS: u32 = 1_000;
    for (pool, hosts, runs, cells, seed) in [(6, 2, 12, 2, 1), (8, 4, 10, 4, 2), (40, 8, 20, 3, 3)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let alarms = (0..EXPERIMENTS).filter(|_| {
            let cells: Vec<GangCell> =
                (0..cells).map(|_| drawn(&mut random, pool, hosts, runs, 0.0)).collect();
            !ranks(&cells, 0.95).unwrap().outlying().is_empty()
        });
        // Of 1000 at 5 %, at most 73 with a probability of 99.9 %; the law is discrete, so there are mostly fewer.
        let alarms = alarms.count();
        assert!((10..=73).contains(&alarms), "{hosts} of {pool} hosts, {runs} runs, {cells} cells: {alarms}");
    }
}

/// A slow host is found, and those that served beside it are not called slow for it.
#[test]
fn a_slow_member_is_found_and_those_beside_it_are_not() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let (mut found, mut others) = (0, 0);
    for _ in 0..200 {
        let cells: Vec<GangCell> = (0..4).map(|_| drawn(&mut random, 10, 4, 20, 3.0)).collect();
        let ranks = ranks(&cells, 0.95).unwrap();
        found += u32::from(ranks.outlying().first().is_some_and(|host| host.host == 0 && host.z > 0.0));
        others += u32::from(ranks.outlying().iter().any(|host| host.host != 0));
    }
    // Of 200 at 5 % at most 20 with a probability of 99.9 %.
    assert!(found >= 195 && others <= 20, "found {found} times, others {others} times");
}

proptest! {
    /// Of runs on one host each it is the method for those, in every digit.
    #[test]
    fn gangs_of_one_are_single_hosts(
        cells in prop::collection::vec(prop::collection::vec((0_u32..5, 0_u32..30), 2..12), 1..5),
    ) {
        let split = |cell: &Vec<(u32, u32)>| {
            let times = cell.iter().map(|(_, time)| f64::from(*time)).collect();
            (Sample::new(times).expect("times"), cell.iter().map(|(host, _)| *host).collect::<Vec<u32>>())
        };
        let alone: Vec<(Sample, Vec<u32>)> = cells.iter().map(split).collect();
        let gangs: Vec<GangCell> = alone
            .iter()
            .map(|(sample, hosts)| (sample.clone(), hosts.iter().map(|host| vec![*host]).collect()))
            .collect();
        let alone: Vec<(&Sample, &[u32])> = alone.iter().map(|(sample, hosts)| (sample, &hosts[..])).collect();
        prop_assert_eq!(HostRanks::new(&alone, ConfidenceLevel::USUAL), ranks(&gangs, 0.95));
    }

    /// A host that served all runs says nothing, and changes nothing that is said of the others.
    #[test]
    fn a_host_of_all_runs_changes_nothing(seed in 0_u64..200) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (sample, hosts) = drawn(&mut random, 6, 2, 12, 1.0);
        let with = hosts.iter().map(|run| run.iter().copied().chain([99]).collect()).collect();
        let [without, with] = [(sample.clone(), hosts), (sample, with)].map(|cell| ranks(&[cell], 0.95).unwrap());
        prop_assert_eq!(without.most_unlikely(), with.most_unlikely());
        prop_assert_eq!(without.outlying().len(), with.outlying().len());
    }
}
