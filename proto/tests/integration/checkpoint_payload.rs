//! A machine comes back from the bytes of its checkpoint as it went, whatever has happened to it.

use std::convert::Infallible;

use speedup_core::machine::{Machine, Settings};
use speedup_proto::checkpoint_payload::{Decoder, VERSION, encode};
use speedup_simulation::history::simulate;

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

fn through_bytes(settings: Settings, machine: &Machine) -> Machine {
    let mut records = Vec::new();
    for piece in machine.pieces() {
        let Ok(()) = encode(&piece, |record| {
            records.push(record.to_vec());
            Ok::<(), Infallible>(())
        });
    }
    let mut decoder = Decoder::default();
    let decoded = records.iter().map(|record| decoder.decode(VERSION, record).expect("a record"));
    let pieces: Vec<_> = decoded.flatten().collect();
    decoder.finish().expect("a whole checkpoint");
    Machine::assemble(settings, pieces).expect("pieces that fit")
}
