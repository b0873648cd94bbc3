//! Pieces that are no machine are refused, each for its own reason.

use super::*;
use crate::machine::checkpoint::{ActivePiece, PieceContent, RunPiece};
use crate::{host::Presence, host::WorkRequest, run::Settlement};

/// A host executes, one has served, and one attempt was given up.
fn whole() -> Machine {
    let mut scene = Scene::with(3, PLAIN);
    scene.serve(0);
    let lost = scene.ask(1).expect("a run");
    scene.tick_after(Span(lost.deadline.0 - lost.granted.0));
    let lease = scene.ask(2).expect("a run");
    scene.handle(Command::Started { speaker: scene.speaker(2), lease: lease.epoch });
    assert_eq!(scene.ask(0), None, "it has served");
    scene.machine
}

fn assembled(change: impl FnOnce(&mut Vec<Piece>)) -> Result<Machine, Misfit> {
    let machine = whole();
    let mut pieces: Vec<Piece> = machine.pieces().collect();
    change(&mut pieces);
    Machine::assemble(Settings::default(), pieces)
}

fn experiment(pieces: &mut [Piece]) -> &mut ActivePiece {
    let found = pieces.iter_mut().find_map(|piece| match &mut piece.0 {
        PieceContent::Experiment(active) => Some(&mut **active),
        PieceContent::Progress { .. }
        | PieceContent::Class { .. }
        | PieceContent::Host(_)
        | PieceContent::Superseded(_) => None,
    });
    found.expect("one experiment")
}

fn hosts(pieces: &mut [Piece]) -> Vec<&mut Host> {
    let hosts = pieces.iter_mut().filter_map(|piece| match &mut piece.0 {
        PieceContent::Host(host) => Some(&mut **host),
        PieceContent::Progress { .. }
        | PieceContent::Class { .. }
        | PieceContent::Experiment(_)
        | PieceContent::Superseded(_) => None,
    });
    hosts.collect()
}

#[test]
fn a_machine_comes_back_from_its_pieces() {
    let mut expected = whole();
    // Whether a host has asked is not kept.
    for number in 0..3 {
        expected.set_presence(HostNumber(number), Presence::Here { asking: WorkRequest::No });
    }
    let found = assembled(|pieces| {
        assert_eq!(experiment(pieces).runs.len(), 3, "equal runs side by side are one piece");
    });
    let found = found.expect("pieces that fit");
    found.check();
    assert_eq!(found, expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let misfit = |change: fn(&mut Vec<Piece>)| assembled(change).expect_err("it does not fit");
    assert_eq!(
        misfit(|pieces| {
            let host = pieces.iter().find(|piece| matches!(piece.0, PieceContent::Host(_))).cloned();
            pieces.extend(host);
        }),
        Misfit::HostTwice("host-0".to_owned())
    );
    assert_eq!(
        misfit(|pieces| pieces.push(pieces.last().cloned().expect("the experiment"))),
        Misfit::ExperimentTwice(FIRST)
    );
    assert_eq!(
        misfit(|pieces| pieces.retain(|piece| !matches!(piece.0, PieceContent::Class { .. }))),
        Misfit::UnknownClass("host-0".to_owned())
    );
    assert_eq!(
        misfit(|pieces| experiment(pieces).runs.push((RunPiece::Held, 1))),
        Misfit::Runs { experiment: FIRST, runs: 4, states: 5 }
    );
    assert_eq!(
        misfit(|pieces| {
            experiment(pieces).kept.tried.insert(0, vec![HostNumber(3)]);
        }),
        Misfit::UnknownHost(FIRST)
    );
    assert_eq!(
        misfit(|pieces| {
            experiment(pieces).kept.built.insert(RunIndex(0), BuildResult::Made(Vec::new()));
        }),
        Misfit::NoBuild { experiment: FIRST, run: RunIndex(0) }
    );
    let lease = hosts(&mut whole().pieces().collect::<Vec<_>>())[2].lease.clone().expect("it executes").epoch;
    assert_eq!(
        misfit(|pieces| hosts(pieces)[2].lease.as_mut().expect("a lease").run = RunIndex(9)),
        Misfit::Lease(lease)
    );
    assert_eq!(
        misfit(|pieces| hosts(pieces)[2].lease.as_mut().expect("a lease").experiment = SECOND),
        Misfit::Lease(lease)
    );
    assert_eq!(
        misfit(|pieces| {
            if let PieceContent::Progress { next_lease, .. } = &mut pieces[0].0 {
                next_lease.0 -= 1;
            }
        }),
        Misfit::Lease(lease)
    );
    assert_eq!(misfit(|pieces| hosts(pieces)[2].lease = None), Misfit::HeldByNobody(FIRST));
    assert_eq!(misfit(|pieces| hosts(pieces)[1].reserves = Some(SECOND)), Misfit::NotActive(SECOND));
    assert_eq!(
        misfit(|pieces| {
            let runs = &mut experiment(pieces).runs;
            let held = runs.iter_mut().find(|(piece, _)| *piece == RunPiece::Held).expect("one is held");
            held.0 = RunPiece::Settled(Settlement::Failed);
        }),
        Misfit::Lease(lease)
    );
}

#[test]
fn hosts_that_boot_for_an_experiment_are_counted() {
    let found = assembled(|pieces| hosts(pieces)[1].reserves = Some(FIRST)).expect("it fits");
    assert_eq!(found.experiments[&FIRST].reserved, 1);
}
