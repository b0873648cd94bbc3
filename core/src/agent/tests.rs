//! Each rule of the agent, whatever the link does: what it says and does next.

use uuid::Uuid;

use super::*;
use crate::plan::Cell;
use crate::value::id::{Attempt, BenchmarkIndex, ExperimentId, RunIndex, VersionIndex};

use crate::{plan, run::record::Outcome, run::work::WorkOrder, run::work::WorkSeat, value::seed::Seed};

const START: AgentEpoch = AgentEpoch(5);

fn facts() -> HostFacts {
    let bare = HostFacts::bare("host".parse().expect("a host id"), "boot".parse().expect("a boot id"));
    HostFacts { can_reboot: true, ..bare }
}

fn agent() -> Agent {
    Agent::new(facts(), AgentId(Uuid::from_u128(7)), START, Vec::new())
}

fn welcome(next: u64) -> Input {
    Input::Heard(CoordinatorMessage::Welcome { next_lease: LeaseEpoch(next) })
}

/// An agent that is in a session, has been welcomed and has asked.
fn joined() -> Agent {
    let mut agent = agent();
    assert_eq!(agent.handle(Input::LinkUp), [join(START)]);
    assert_eq!(agent.handle(welcome(0)), [ask()]);
    agent
}

fn grant(lease: u64) -> Box<Grant> {
    let plan = "[experiment]\nname = \"order\"\n[repetitions]\nruns = 1\n[versions.old]\nbaseline = true\n\
                [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\n";
    let experiment = plan::file::parse(plan, Seed(1)).expect("a plan");
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(0) };
    let order = WorkOrder::new(&experiment, cell, RunIndex(0));
    let experiment = ExperimentId(Uuid::from_u128(1));
    let (run, attempt) = (RunIndex(0), Attempt(1));
    Box::new(Grant { lease: LeaseEpoch(lease), agent_epoch: START, experiment, run, attempt, order })
}

fn granted(lease: u64) -> Input {
    Input::Heard(CoordinatorMessage::Grant(grant(lease)))
}

fn join(epoch: AgentEpoch) -> Action {
    let facts = Box::new(facts());
    Action::Send(AgentMessage::Join { facts, agent: AgentId(Uuid::from_u128(7)), epoch })
}

fn ask() -> Action {
    Action::Send(AgentMessage::Ask)
}

fn record() -> Record {
    Record::bare(Outcome::Measured)
}

fn report(lease: u64) -> AttemptReport {
    AttemptReport { lease: LeaseEpoch(lease), executed_by: START, record: record() }
}

fn send(report: AttemptReport) -> Action {
    Action::Send(AgentMessage::Report(Box::new(report)))
}

fn begins(lease: u64) -> [Action; 2] {
    let started = AgentMessage::Started { lease: LeaseEpoch(lease) };
    [Action::Send(started), Action::Execute(grant(lease))]
}

fn refused(lease: u64) -> Input {
    Input::Heard(CoordinatorMessage::Refused { lease: LeaseEpoch(lease), reason: "unknown".to_owned() })
}

fn turned_away(known: Option<u64>, is_lasting: bool) -> Input {
    let known_epoch = known.map(AgentEpoch);
    Input::Heard(CoordinatorMessage::TurnedAway { reason: "no".to_owned(), known_epoch, is_lasting })
}

fn withdraw() -> Action {
    Action::Withdraw { reason: "no".to_owned() }
}

fn reboot() -> Input {
    Input::Heard(CoordinatorMessage::Reboot { reason: "rebooted".to_owned() })
}

#[test]
fn a_run_goes_from_the_grant_to_the_acknowledgement() {
    let mut agent = joined();
    assert_eq!(agent.handle(granted(3)), begins(3));
    let kept = Action::Keep(Box::new(report(3)));
    assert_eq!(agent.handle(Input::Executed(record())), [kept, send(report(3)), ask()]);
    let acknowledged = || Input::Heard(CoordinatorMessage::Acknowledged { lease: LeaseEpoch(3) });
    assert_eq!(agent.handle(acknowledged()), [Action::Forget(LeaseEpoch(3))]);
    assert_eq!(agent.handle(acknowledged()), [], "it is forgotten once");
    assert_eq!(agent.handle(Input::Executed(record())), [], "nothing was executed");
}

#[test]
fn nothing_is_sent_without_a_session() {
    let mut agent = joined();
    agent.handle(granted(3));
    assert_eq!(agent.handle(Input::LinkDown), []);
    assert_eq!(agent.handle(Input::Quiet), []);
    assert_eq!(agent.handle(Input::Executed(record())), [Action::Keep(Box::new(report(3)))]);
    assert_eq!(agent.handle(Input::Quiet), []);
    assert_eq!(agent.handle(Input::LinkUp), [join(START)]);
    assert_eq!(agent.handle(Input::Quiet), [join(START)], "the first may have been lost");
    assert_eq!(
        agent.handle(welcome(4)),
        [send(report(3)), ask()],
        "with each session until it is acknowledged"
    );
    assert_eq!(agent.handle(Input::Quiet), [send(report(3)), ask()]);
}

#[test]
fn what_earlier_starts_left_is_reported() {
    let mut agent = Agent::new(facts(), AgentId(Uuid::from_u128(7)), START, vec![report(2), report(1)]);
    agent.handle(Input::LinkUp);
    assert_eq!(agent.handle(welcome(3)), [send(report(1)), send(report(2)), ask()]);
}

#[test]
fn a_refused_report_is_told_to_the_owner_once() {
    let mut agent = joined();
    agent.handle(granted(3));
    agent.handle(Input::Executed(record()));
    let complaint = Action::Complain { lease: LeaseEpoch(3), reason: "unknown".to_owned() };
    assert_eq!(agent.handle(refused(3)), [Action::Forget(LeaseEpoch(3)), complaint]);
    assert_eq!(agent.handle(refused(3)), []);
}

#[test]
fn one_grant_at_a_time_is_executed_and_each_once() {
    let mut agent = joined();
    assert_eq!(agent.handle(granted(3)), begins(3));
    assert_eq!(agent.handle(granted(4)), [], "one is under way");
    assert_eq!(agent.handle(Input::Quiet), [], "and it does not ask meanwhile");
    agent.handle(Input::Executed(record()));
    assert_eq!(agent.handle(granted(3)), [], "it was executed");
    assert_eq!(agent.handle(granted(2)), [], "it is older than what was executed");
    assert_eq!(agent.handle(granted(4)), begins(4));
}

#[test]
fn a_grant_to_another_start_or_outside_a_session_is_not_executed() {
    let mut agent = joined();
    let other = Grant { agent_epoch: AgentEpoch(4), ..*grant(3) };
    assert_eq!(agent.handle(Input::Heard(CoordinatorMessage::Grant(Box::new(other)))), []);
    agent.handle(Input::LinkDown);
    assert_eq!(agent.handle(granted(3)), []);
    agent.handle(Input::LinkUp);
    assert_eq!(agent.handle(granted(3)), [], "it was not welcomed in this session");
    agent.handle(welcome(3));
    assert_eq!(agent.handle(granted(3)), begins(3));
}

#[test]
fn who_retires_ends_what_it_does_and_takes_nothing_more() {
    let mut agent = joined();
    agent.handle(granted(3));
    assert_eq!(agent.handle(Input::Retire), []);
    let kept = Action::Keep(Box::new(report(3)));
    assert_eq!(agent.handle(Input::Executed(record())), [kept, send(report(3))]);
    assert_eq!(agent.handle(granted(4)), []);
    assert_eq!(agent.handle(Input::Quiet), [send(report(3))], "it does not ask");
}

#[test]
fn leases_count_anew_with_a_new_journal_and_with_no_other_welcome() {
    let mut agent = joined();
    agent.handle(granted(3));
    agent.handle(Input::Executed(record()));
    agent.handle(welcome(0));
    assert_eq!(agent.handle(granted(1)), [], "the second Welcome of a session says nothing about leases");
    for (next, lease, is_taken) in [(4, 3, false), (3, 2, false), (3, 3, true), (4, 4, true), (0, 0, true)] {
        agent.handle(Input::LinkDown);
        agent.handle(Input::LinkUp);
        agent.handle(welcome(next));
        assert_eq!(
            !agent.handle(granted(lease)).is_empty(),
            is_taken,
            "lease {lease} after next lease {next}"
        );
        agent.handle(Input::Executed(record()));
    }
}

#[test]
fn a_start_that_is_behind_is_raised_unless_work_is_under_way() {
    for (known, raised) in [(Some(4), None), (Some(5), Some(6)), (Some(9), Some(10)), (None, None)] {
        let mut agent = agent();
        agent.handle(Input::LinkUp);
        let remembered = raised.map(|epoch| Action::Remember(AgentEpoch(epoch)));
        let expected: Vec<Action> = remembered.into_iter().chain([withdraw()]).collect();
        assert_eq!(agent.handle(turned_away(known, false)), expected, "{known:?}");
        let epoch = raised.map_or(START, AgentEpoch);
        assert_eq!(agent.handle(Input::LinkUp), [join(epoch)]);
    }
    let mut agent = joined();
    agent.handle(granted(3));
    assert_eq!(agent.handle(turned_away(Some(9), false)), [withdraw()]);
    assert_eq!(agent.handle(turned_away(Some(9), true)), [Action::GiveUp { reason: "no".to_owned() }]);
}

#[test]
fn a_host_boots_where_it_can_between_two_runs_of_a_session() {
    let may = vec![Action::Reboot { reason: "rebooted".to_owned() }];
    let mut agent = agent();
    assert_eq!(agent.handle(reboot()), []);
    agent.handle(Input::LinkUp);
    assert_eq!(agent.handle(reboot()), []);
    agent.handle(welcome(0));
    assert_eq!(agent.handle(reboot()), may);
    agent.handle(Input::Probed(HostFacts { can_reboot: false, ..facts() }));
    assert_eq!(agent.handle(reboot()), []);
    agent.handle(Input::Probed(facts()));
    agent.handle(granted(3));
    assert_eq!(agent.handle(reboot()), []);
}

#[test]
fn a_host_that_did_not_boot_joins_as_a_later_start() {
    let mut agent = joined();
    assert_eq!(agent.handle(Input::NotRebooted), [Action::Remember(AgentEpoch(6))]);
    assert_eq!(agent.handle(Input::LinkUp), [join(AgentEpoch(6))]);
}

fn dismissed() -> Input {
    Input::Heard(CoordinatorMessage::dismissed())
}

fn leave() -> Action {
    let CoordinatorMessage::Dismissed { reason } = CoordinatorMessage::dismissed() else { unreachable!() };
    Action::Leave { reason }
}

#[test]
fn an_agent_that_is_given_back_ends_when_all_it_did_is_acknowledged() {
    let mut idle = joined();
    assert_eq!(idle.handle(dismissed()), [leave()]);
    let mut agent = joined();
    agent.handle(granted(3));
    assert_eq!(agent.handle(dismissed()), [], "a run is under way");
    agent.handle(Input::Executed(Record::bare(Outcome::Measured)));
    assert_eq!(agent.handle(dismissed()), [], "its report is not acknowledged");
    assert_eq!(agent.handle(granted(4)), [], "it takes nothing more");
    agent.handle(Input::LinkDown);
    agent.handle(Input::LinkUp);
    let said = agent.handle(welcome(4));
    assert!(matches!(&said[..], [Action::Send(AgentMessage::Report(_))]), "it asks for nothing: {said:?}");
    let acknowledged = agent.handle(Input::Heard(CoordinatorMessage::Acknowledged { lease: LeaseEpoch(3) }));
    assert_eq!(acknowledged, [Action::Forget(LeaseEpoch(3)), leave()]);
}

fn together(lease: u64) -> Box<Grant> {
    let mut grant = grant(lease);
    grant.order.seat = Some(WorkSeat { number: 1, size: 2, hostfile: String::new(), hosts: Vec::new() });
    grant
}

/// An agent that is prepared for its part under a lease.
fn prepared(lease: u64) -> Agent {
    let mut agent = joined();
    let heard = Input::Heard(CoordinatorMessage::Grant(together(lease)));
    assert_eq!(agent.handle(heard), [Action::Prepare(together(lease))]);
    assert_eq!(agent.handle(Input::Prepared), [ready(lease)]);
    agent
}

fn ready(lease: u64) -> Action {
    Action::Send(AgentMessage::Ready { lease: LeaseEpoch(lease) })
}

fn begin(lease: u64) -> Input {
    Input::Heard(CoordinatorMessage::Begin { lease: LeaseEpoch(lease) })
}

fn end(lease: u64) -> Input {
    Input::Heard(CoordinatorMessage::End { lease: LeaseEpoch(lease) })
}

#[test]
fn what_several_serve_is_prepared_and_begins_when_all_are() {
    let mut agent = prepared(3);
    assert_eq!(agent.handle(begin(2)), [], "of another lease");
    assert_eq!(agent.handle(Input::Quiet), [ready(3)], "what it said may be lost");
    assert_eq!(agent.handle(begin(3)), [Action::Begin]);
    assert_eq!(agent.handle(begin(3)), [], "once");
    assert_eq!(agent.handle(end(3)), [], "and it cannot be told to end any more");
    let kept = Action::Keep(Box::new(report(3)));
    assert_eq!(agent.handle(Input::Executed(record())), [kept, send(report(3)), ask()]);
}

#[test]
fn a_part_ends_when_it_is_told_to_and_when_its_agent_is_stopped() {
    let ends = |mut agent: Agent, input| match &agent.handle(input)[..] {
        [Action::End { .. }] => agent,
        other => panic!("it ends: {other:?}"),
    };
    let mut agent = ends(prepared(3), end(3));
    let kept = Action::Keep(Box::new(report(3)));
    assert_eq!(agent.handle(Input::Executed(record())), [kept.clone(), send(report(3)), ask()]);
    let mut agent = ends(prepared(3), Input::Retire);
    assert_eq!(agent.handle(Input::Executed(record())), [kept, send(report(3))]);
}

#[test]
fn a_part_waits_over_the_end_of_a_session() {
    let mut agent = prepared(3);
    assert_eq!(agent.handle(Input::LinkDown), []);
    assert_eq!(agent.handle(Input::LinkUp), [join(START)]);
    assert_eq!(agent.handle(welcome(4)), [ready(3)]);
}
