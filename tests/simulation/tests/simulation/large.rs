//! Worlds of many hosts.

use std::{num::NonZero, sync::atomic::AtomicU64, sync::atomic::Ordering};

use speedup_core::experiment::{Limits, Order, Policy, Scope};
use speedup_core::plan::Plan;
use speedup_core::value::seed::Seed;
use speedup_simulation::experiment::{POLICIES, plain};
use speedup_simulation::history::settle;
use speedup_simulation::world::{Choice, Weights, Wish, World};

/// Most hosts have a run at once, and what happens to one of them happens amid all the others.
#[test]
fn many_hosts_settle_every_run_once() {
    let asked: Option<u64> =
        std::env::var("SPEEDUP_SIM_LARGE").ok().map(|text| text.parse().expect("a number"));
    let (worlds, hosts) = asked.map_or((1, 200), |worlds| (worlds, 2_000));
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let large = || {
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < worlds => simulate_large(number, hosts),
                    _ => return,
                }
            }
        };
        (0..threads).for_each(|_| drop(scope.spawn(large)));
    });
}

fn simulate_large(number: u64, hosts: u32) {
    const FAULTY_STEPS: usize = 2_000;
    let random = &mut Seed(number).child("many hosts");
    let policy = POLICIES[(number % 5) as usize];
    let mut large = plain(random, policy, Scope::Benchmark, 3);
    // Of each of the six cells: nearly as many runs as hosts.
    large.runs = hosts / 7;
    large.limits = Limits::of_attempts(5);
    if policy != Policy::Reallocated {
        large.order = [Order::Randomized, Order::Interleaved, Order::Blocked][(number / 5 % 3) as usize];
    }
    let mut world = World::new(vec![Plan::draw(large)], hosts as usize);
    world.apply(Choice::User(Wish::Submit(0)));
    world.calm_round();
    let leased = world
        .machine()
        .map_or(0, |machine| machine.hosts().iter().filter(|host| host.lease.is_some()).count());
    assert!(leased > hosts as usize / 4, "{leased} hosts have a run at once in world {number}");
    let weights = Weights::draw(random);
    for _ in 0..FAULTY_STEPS {
        let choice = world.draw(random, &weights);
        world.apply(choice);
    }
    settle(&mut world);
}
