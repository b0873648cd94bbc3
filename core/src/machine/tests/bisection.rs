//! A bisection in the machine: its ends are built first, other versions when its rule asks for them; one of these that cannot be built ends
//! nothing; a block goes to one host.

use super::*;
use crate::experiment::{Bisection, Order, Rule, build::Product, files::Content, files::ContentHash};
use crate::{machine::event::Tally, plan::Extension, value::id::VersionIndex};

const LAST: u32 = 4;

fn bisecting(policy: &str) -> Plan {
    let mut text = format!(
        "[experiment]\nname = \"line\"\n[benchmarks.b]\ncommand = [\"{{build.prog}}\"]\n[limits]\nattempts = 1\n\
         [independence]\npolicy = \"{policy}\"\n"
    );
    for version in 0..=LAST {
        let baseline = if version == 0 { "baseline = true\n" } else { "" };
        text += &format!(
            "[versions.c{version}]\n{baseline}build = [\"make\"]\nproducts = {{ prog = \"prog\" }}\n"
        );
    }
    let mut experiment = plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    experiment.order = Order::Blocked;
    experiment.rule = Rule::Bisection(Bisection { maximum: 8, block: 4, blocks: 1 });
    experiment.check().expect("a bisection");
    Plan::draw(experiment)
}

fn submitted(policy: &str) -> Scene {
    let mut scene = Scene::of(2);
    scene.handle(fixture::submit(FIRST, Arc::new(bisecting(policy)), "ada"));
    scene
}

/// Has host 0 do all that waits; builds of `broken` make nothing. Says what was done.
fn done(scene: &mut Scene, broken: &[u32]) -> Vec<Lease> {
    let mut leases = Vec::new();
    while let Some(lease) = scene.ask(0) {
        let task = scene.machine.experiment(FIRST).expect("active").plan().task(lease.run);
        let content = Content { blake3: ContentHash([1; 32]), bytes: 5, executable: true };
        let product = Product { name: "prog".to_owned(), content };
        let makes = matches!(task, crate::plan::Task::Build(version) if !broken.contains(&version.0));
        let products = makes.then_some(product).into_iter().collect();
        scene.handle(fixture::report(&lease, Record { products, ..Record::bare(RunOutcome::Measured) }));
        leases.push(lease);
        if scene.machine.experiment(FIRST).is_none() {
            break;
        }
    }
    leases
}

fn plan_of(scene: &Scene) -> Arc<Plan> {
    scene.machine.experiment(FIRST).expect("active").plan().clone()
}

fn decide(scene: &Scene, appended: Extension) -> Command {
    Command::Decide {
        request: Request { experiment: FIRST, by: "rule".to_owned() },
        from: plan_of(scene).runs(),
        decision: Decision::Extend(appended),
        words: "next".to_owned(),
    }
}

fn versions(numbers: &[u32]) -> Vec<VersionIndex> {
    numbers.iter().copied().map(VersionIndex).collect()
}

#[test]
fn versions_are_built_when_they_are_first_to_be_run() {
    let mut scene = submitted("any");
    let plan = plan_of(&scene);
    assert_eq!((plan.runs(), plan.builds(), plan.is_building()), (2, 2, true), "the ends");
    assert_eq!(done(&mut scene, &[]).len(), 2);
    assert_eq!(scene.machine.experiment(FIRST).expect("active").phase(), &Phase::Deciding);

    let block = plan_of(&scene).draw_blocks(&[versions(&[0, 2, LAST])]);
    let refusal = scene.refused(decide(&scene, block));
    assert!(matches!(refusal, Refusal::Unfit(_)), "version 2 was never built: {refusal}");
    let builds = plan_of(&scene).builds_for(&versions(&[2, 3]));
    scene.handle(decide(&scene, builds));
    assert_eq!(done(&mut scene, &[3]).len(), 2);
    let active = scene.machine.experiment(FIRST).expect("a version between the ends ends nothing");
    assert_eq!((active.phase(), active.tally().failed), (&Phase::Deciding, 1));

    let with_broken = plan_of(&scene).draw_blocks(&[versions(&[0, 3, LAST])]);
    let refusal = scene.refused(decide(&scene, with_broken));
    assert!(matches!(refusal, Refusal::NotBuilt { .. }), "{refusal}");
    let too_long = plan_of(&scene).draw_blocks(&[versions(&[0, 2, 2, 2, LAST])]);
    assert_eq!(scene.refused(decide(&scene, too_long)), Refusal::BeyondRule { runs: 5, max: 4 });
    let again = plan_of(&scene).builds_for(&versions(&[2]));
    assert!(matches!(scene.refused(decide(&scene, again)), Refusal::Unfit(_)), "it is built once");

    let block = plan_of(&scene).draw_blocks(&[versions(&[0, 2, 2, LAST])]);
    scene.handle(decide(&scene, block));
    let leases = done(&mut scene, &[]);
    let used: Vec<u32> = leases
        .iter()
        .map(|lease| {
            let plan = plan_of(&scene);
            let build = lease.evidence.build.as_ref().expect("it is built").run;
            assert_eq!(plan.task(build).version(), plan.task(lease.run).version());
            plan.task(lease.run).version().0
        })
        .collect();
    assert_eq!(used.len(), 4);
    assert_eq!(used.iter().filter(|version| **version == 2).count(), 2);

    let more = plan_of(&scene).draw_blocks(&vec![versions(&[0, 2, 2, LAST]); 2]);
    assert_eq!(scene.refused(decide(&scene, more)), Refusal::BeyondRule { runs: 12, max: 8 });
    let extend = Command::Extend { request: Request { experiment: FIRST, by: "ada".to_owned() }, more: 1 };
    assert_eq!(scene.refused(extend), Refusal::Bisecting(FIRST));
    let enough = Command::Decide {
        request: Request { experiment: FIRST, by: "rule".to_owned() },
        from: plan_of(&scene).runs(),
        decision: Decision::Enough,
        words: "found".to_owned(),
    };
    let finished = scene.handle(enough).events;
    let tally = Tally { measured: 7, failed: 1, ..Tally::default() };
    let expected = Change::Finished { experiment: FIRST, tally, cancelled: false };
    assert!(finished.iter().any(|event| event.change == expected), "{finished:?}");
}

#[test]
fn an_end_that_cannot_be_built_is_the_end() {
    for end in [0, LAST] {
        let mut scene = submitted("any");
        done(&mut scene, &[end]);
        assert_eq!(scene.machine.active().count(), 0);
    }
}

/// All runs of a block are on one host, and the next block is on another where the policy wants it.
#[test]
fn a_block_is_served_by_one_host() {
    let mut scene = submitted("distinct");
    done(&mut scene, &[]);
    let builds = plan_of(&scene).builds_for(&versions(&[2]));
    scene.handle(decide(&scene, builds));
    done(&mut scene, &[]);
    let blocks = plan_of(&scene).draw_blocks(&vec![versions(&[0, 2, LAST]); 2]);
    scene.handle(decide(&scene, blocks));
    assert_eq!(done(&mut scene, &[]).len(), 3, "the host is fresh for one block");
    let other = scene.ask(1).expect("the other block");
    assert_eq!(plan_of(&scene).place(other.run).group, other.run);
    let pieces: Vec<Piece> = scene.machine.pieces().collect();
    let again = Machine::assemble(Settings::default(), pieces.clone()).expect("a machine");
    again.check();
    assert_eq!(again.pieces().collect::<Vec<_>>(), pieces);
}
