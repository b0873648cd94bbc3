//! All short histories of a small world.

use speedup_core::{experiment::Policy, experiment::Scope, plan::Plan, value::seed::Seed};
use speedup_simulation::experiment::plain;
use speedup_simulation::history::settle;
use speedup_simulation::world::{Choice, Ending, Rebirth, Wish, World};

/// All that can happen to one experiment of two runs on two hosts within a few steps, then calm.
#[test]
fn every_short_history_ends_well() {
    let plan = Plan::draw(plain(&mut Seed(1).child("exhaustive"), Policy::Distinct, Scope::Experiment, 1));
    let mut start = World::new(vec![plan], 2);
    start.apply(Choice::User(Wish::Submit(0)));
    for host in 0..2 {
        start.apply(Choice::Connect(host));
    }
    let depth = std::env::var("SPEEDUP_SIM_DEPTH").ok().map_or(2, |text| text.parse().expect("a number"));
    let mut ends = 0;
    // From every point of the undisturbed history, every disturbed continuation.
    for _ in 0..24 {
        explore(&start, depth, &mut ends);
        if start.choices().contains(&Choice::Deliver(0)) {
            start.apply(Choice::Deliver(0));
        } else {
            start.apply(Choice::Finish(0, Ending::Measured));
            start.apply(Choice::Finish(1, Ending::Failed));
        }
        start.apply(Choice::Sync);
    }
    assert!(ends > 1_000, "{ends} histories were tried");
}

fn explore(world: &World, depth: usize, ends: &mut u64) {
    if depth == 0 {
        let mut end = world.clone();
        settle(&mut end);
        *ends += 1;
        return;
    }
    for choice in world.choices() {
        let is_rare = matches!(
            choice,
            Choice::User(_)
                | Choice::StepBack(_)
                | Choice::StepForward(_)
                | Choice::Clone(_)
                | Choice::Twin(_)
                | Choice::JobEnded(_)
                | Choice::Reborn(_, Rebirth::Fact | Rebirth::Allocation)
        );
        if is_rare {
            continue;
        }
        let mut next = world.clone();
        next.apply(choice);
        explore(&next, depth - 1, ends);
    }
}
