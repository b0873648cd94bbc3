//! A machine comes back from the bytes of its checkpoint as it went, whatever has happened to it.

use std::convert::Infallible;

use proptest::{prelude::*, sample::Index};
use speedup_core::machine::{Machine, Piece, Settings};
use speedup_proto::checkpoint_payload::{CheckpointError, Decoder, VERSION, encode};
use speedup_simulation::history::simulate;

use crate::hostile::mutated;

/// How many worlds are looked at: in these every kind of piece occurs.
const SEEDS: u64 = 60;
/// At how many places the journal of each is cut.
const CUTS: usize = 12;

#[test]
fn a_machine_comes_back_from_the_bytes_of_its_checkpoint() {
    for seed in 0..SEEDS {
        let world = simulate(seed, |_, _| {});
        let mut machine = Machine::new(world.settings());
        let every = (world.journal().len() / CUTS).max(1);
        for (at, event) in world.journal().iter().enumerate() {
            if at.is_multiple_of(every) {
                assert_eq!(
                    through_bytes(world.settings(), &machine),
                    machine,
                    "seed {seed}, after {at} events"
                );
            }
            machine.replay(event);
        }
        assert_eq!(through_bytes(world.settings(), &machine), machine, "seed {seed}, at its end");
    }
}

proptest! {
    #[test]
    fn a_mutated_checkpoint_is_taken_or_refused((settings, records) in mutated_checkpoint()) {
        if let Ok(pieces) = decoded(&records) {
            let _ = Machine::assemble(settings, pieces);
        }
    }
}

/// The records of some world's checkpoint, one of them with other bytes.
fn mutated_checkpoint() -> impl Strategy<Value = (Settings, Vec<Vec<u8>>)> {
    (0..SEEDS, any::<Index>()).prop_flat_map(|(seed, at)| {
        let world = simulate(seed, |_, _| {});
        let mut machine = Machine::new(world.settings());
        world.journal().iter().take(at.index(world.journal().len())).for_each(|event| machine.replay(event));
        let records = records(&machine);
        let at = at.index(records.len());
        mutated(Just(records[at].clone())).prop_map(move |record| {
            let mut records = records.clone();
            records[at] = record;
            (world.settings(), records)
        })
    })
}

fn through_bytes(settings: Settings, machine: &Machine) -> Machine {
    let pieces = decoded(&records(machine)).expect("a whole checkpoint");
    Machine::assemble(settings, pieces).expect("pieces that fit")
}

fn records(machine: &Machine) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for piece in machine.pieces() {
        let Ok(()) = encode(&piece, |record| {
            records.push(record.to_vec());
            Ok::<(), Infallible>(())
        });
    }
    records
}

fn decoded(records: &[Vec<u8>]) -> Result<Vec<Piece>, CheckpointError> {
    let mut decoder = Decoder::default();
    let mut pieces = Vec::new();
    for record in records {
        pieces.extend(decoder.decode(VERSION, record)?);
    }
    decoder.finish()?;
    Ok(pieces)
}
