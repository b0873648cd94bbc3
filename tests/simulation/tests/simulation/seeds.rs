//! Many worlds, each from a seed.
#![expect(clippy::print_stderr, reason = "a failing seed is printed")]

use std::collections::BTreeSet;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use speedup_simulation::{history::simulate, world::World};

const SEEDS: u64 = 800;

#[test]
fn every_run_is_settled_exactly_once_whatever_happens() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    if let Some(seed) = number("SPEEDUP_SIM_SEED") {
        simulate(seed, |step, choice| eprintln!("{step}: {choice:?}"));
        return;
    }
    let seeds = number("SPEEDUP_SIM_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let happened: BTreeSet<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| simulate_from(&next, seeds))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("its seeds pass")).collect()
    });
    // A simulation in which nothing goes wrong proves nothing. In a shorter one what is rare may not happen.
    for what in World::EVERYTHING.iter().filter(|_| seeds >= SEEDS) {
        assert!(happened.contains(what), "{what} never happened: {happened:?}");
    }
}

/// Simulates the next seed that no other thread has taken, until none is left or one fails.
fn simulate_from(next: &AtomicU64, seeds: u64) -> BTreeSet<&'static str> {
    let mut happened = BTreeSet::new();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds {
            return happened;
        }
        match catch_unwind(AssertUnwindSafe(|| simulate(seed, |_, _| {}))) {
            Ok(world) => happened.extend(world.happened()),
            Err(panic) => {
                eprintln!("replay with SPEEDUP_SIM_SEED={seed}");
                next.store(seeds, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let journal = |seed| format!("{:?}", simulate(seed, |_, _| {}));
    assert_eq!(journal(7), journal(7));
    assert_ne!(journal(7), journal(8));
}
