//! Worlds from their beginning to their end.

use speedup_core::{plan::Plan, value::seed::Seed, value::seed::below};

use crate::{experiment, world::Choice, world::Weights, world::Wish, world::World};

/// How many things happen in a world before it is left in peace.
const STEPS: usize = 600;
/// Rounds without faults after which everything must be settled: each may settle only one attempt of each run.
const CALM_ROUNDS: usize = 400;

/// The world of a seed from its beginning to its end; `tell` hears of each step before it happens.
///
/// # Panics
/// When anything does not hold that has to.
pub fn simulate(seed: u64, mut tell: impl FnMut(usize, &Choice)) -> World {
    let random = &mut Seed(seed).child("simulation");
    let plans = (0..1 + below(3, random)).map(|_| Plan::draw(experiment::any(random))).collect();
    let mut world = World::new(plans, 1 + below(8, random) as usize);
    let weights = Weights::draw(random);
    for step in 0..STEPS {
        let choice = world.draw(random, &weights);
        tell(step, &choice);
        world.apply(choice);
    }
    settle(&mut world);
    world
}

/// Faults end, hosts come until all is done; then the journal is judged.
///
/// # Panics
/// When that takes too long, or the verdict is against it.
pub fn settle(world: &mut World) {
    for plan in 0..3 {
        if world.choices().contains(&Choice::User(Wish::Submit(plan))) {
            world.apply(Choice::User(Wish::Submit(plan)));
        }
    }
    for _ in 0..CALM_ROUNDS {
        world.calm_round();
        if world.is_quiet() {
            world.apply(Choice::Sync);
            world.verify();
            return;
        }
        world.apply(Choice::AddHost);
    }
    panic!("not settled after {CALM_ROUNDS} calm rounds: {world:#?}");
}
