//! Gangs of all sizes beside small runs that never cease, on thousands of hosts.
#![expect(clippy::print_stderr, reason = "a failing seed is printed")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand_chacha::ChaCha8Rng;
use speedup_core::experiment::gang::{Gang, GangLauncher};
use speedup_core::experiment::{Experiment, Limits, Policy, Scope};
use speedup_core::plan::Plan;
use speedup_core::value::seed::{Seed, below};
use speedup_core::value::time::Span;
use speedup_simulation::{crowd::Crowd, crowd::Kind, crowd::Story, experiment::plain};

const HOSTS: u32 = 4_096;
/// Hosts of the largest gang: as a power of two.
const LARGEST: u32 = 9;
const SEEDS: u64 = 2;

#[test]
fn no_gang_waits_for_longer_than_what_is_there_before_it_lasts() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let one = number("SPEEDUP_SIM_GANG");
    let seeds = one.map_or(0..number("SPEEDUP_SIM_GANGS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| crowded(seed))) {
            Ok(story) => {
                eprintln!("{seed}: {story:?}");
                assert_eq!(story.largest, 1 << LARGEST, "{story:?}");
                assert!(story.held > 0 && story.backfilled > 0, "it was crowded: {story:?}");
            }
            Err(panic) => {
                eprintln!("replay with SPEEDUP_SIM_GANG={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Plans of gangs of 1 to 512 hosts, some of one size and some of several, beside small ones. In odd worlds hosts crash.
fn crowded(seed: u64) -> Story {
    let random = &mut Seed(seed).child("gangs");
    let crashes = (seed % 2 == 1).then(|| Span::from_secs(100));
    let mut crowd = Crowd::new(HOSTS, crashes, Seed(seed).child("crowd"));
    for _ in 0..4 {
        let small = small(random);
        crowd.submit(Span::from_secs(2), Plan::draw(small), Kind::Ceaseless);
    }
    for power in 0..=LARGEST {
        let after = Span::from_secs(below(600, random));
        crowd.submit(after, Plan::draw(large(random, &[1 << power])), Kind::Once);
    }
    // Those of a series stand beside each other in one plan.
    let after = Span::from_secs(below(600, random));
    let all: Vec<u32> = (0..=LARGEST).map(|power| 1 << power).collect();
    crowd.submit(after, Plan::draw(large(random, &all)), Kind::Once);
    crowd.run()
}

/// Runs of one host, more than there are hosts in all of them.
fn small(random: &mut ChaCha8Rng) -> Experiment {
    let mut small = plain(random, Policy::Any, Scope::Benchmark, 1);
    small.runs = HOSTS / 4;
    small.benchmarks[0].timeout = Span::from_secs(200 + below(1_000, random));
    small.limits = Limits::of_attempts(20);
    small
}

/// Runs of so many hosts, a benchmark for each number.
fn large(random: &mut ChaCha8Rng, sizes: &[u32]) -> Experiment {
    let policy = [Policy::Any, Policy::Distinct, Policy::DistinctSets][below(3, random) as usize];
    let mut large = plain(random, policy, Scope::Benchmark, sizes.len() as u32);
    large.runs = 2;
    large.limits = Limits::of_attempts(20);
    for (benchmark, hosts) in large.benchmarks.iter_mut().zip(sizes) {
        benchmark.timeout = Span::from_secs(30 + below(1_000, random));
        benchmark.gang = Some(Gang {
            hosts: *hosts,
            ranks_per_host: 1,
            launcher: GangLauncher::None,
            times_ranks: false,
            series: None,
        });
    }
    large
}
