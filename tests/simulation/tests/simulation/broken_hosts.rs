//! Hosts that can execute nothing.

use speedup_core::experiment::{Limits, Policy, Scope};
use speedup_core::host::Host;
use speedup_core::plan::Plan;
use speedup_core::value::seed::Seed;
use speedup_simulation::{experiment::plain, world::Choice, world::Ending, world::Wish, world::World};

/// A host that can execute nothing asks all the time. The experiment gives it up before it has cost a run its attempts, and it
/// stays in the pool: others may be able to execute on it.
#[test]
fn a_host_that_can_execute_nothing_is_given_up() {
    let world = served_by(2, 1);
    assert!(world.is_quiet(), "the other host has measured all");
    let machine = world.machine().expect("it runs");
    let standings: Vec<bool> = machine.hosts().iter().map(Host::is_available).collect();
    assert_eq!(standings, [true, true], "{:?}", machine.hosts()[0].standing);
    world.verify();
}

/// An experiment that no host can execute is paused, instead of being spent on the pool.
#[test]
fn an_experiment_that_nobody_can_execute_is_paused() {
    for hosts in [1, 8] {
        let world = served_by(hosts, hosts);
        assert!(!world.is_quiet(), "the experiment waits for somebody to look");
        let open = world.open_runs();
        assert!((40..60).contains(&open), "{open} of 60 runs are left for when it is mended");
    }
}

/// Sixty runs on hosts of which the first can execute nothing.
fn served_by(hosts: usize, broken: usize) -> World {
    let mut plan = plain(&mut Seed(3).child("black hole"), Policy::Any, Scope::Benchmark, 3);
    plan.runs = 10;
    plan.limits = Limits::of_attempts(2);
    let mut world = World::new(vec![Plan::draw(plan)], hosts);
    world.apply(Choice::User(Wish::Submit(0)));
    (0..hosts).for_each(|host| world.apply(Choice::Connect(host)));
    for _ in 0..200 {
        while world.choices().contains(&Choice::Deliver(0)) {
            world.apply(Choice::Deliver(0));
            world.apply(Choice::Sync);
        }
        (0..broken).for_each(|host| world.apply(Choice::Finish(host, Ending::NotExecuted)));
        (broken..hosts).for_each(|host| world.apply(Choice::Finish(host, Ending::Measured)));
    }
    world
}
