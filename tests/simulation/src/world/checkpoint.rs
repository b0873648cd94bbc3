//! Recovery through a checkpoint: whatever prefix of the journal it stands for, the machine is that of the whole replay.

use speedup_core::{machine::Machine, machine::Settings, machine::event::Event};

/// At how many places the journal of a finished world is cut.
const CUTS: usize = 12;

/// The machine of a journal, by a checkpoint of its first `cut` events.
///
/// # Panics
/// When it is not the machine that replayed them all.
pub(super) fn recovered(settings: Settings, journal: &[Event], cut: usize) -> Machine {
    let replayed = |mut machine: Machine, events: &[Event]| {
        events.iter().for_each(|event| machine.replay(event));
        machine
    };
    let (before, after) = journal.split_at(cut);
    let before = replayed(Machine::new(settings), before);
    let restored = Machine::assemble(settings, before.pieces()).expect("pieces that fit");
    restored.check();
    assert_eq!(restored, before, "the checkpoint is the machine");
    let whole = replayed(before, after);
    let recovered = replayed(restored, after);
    assert_eq!(recovered, whole, "and so it is after the events that follow");
    recovered
}

/// The journal of a finished world, cut at places all over it.
pub(super) fn verify(settings: Settings, journal: &[Event]) {
    for cut in (0..=journal.len()).step_by((journal.len() / CUTS).max(1)) {
        recovered(settings, journal, cut);
    }
}
