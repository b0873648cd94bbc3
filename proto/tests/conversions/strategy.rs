//! Any value of the heart's types, within the limits that the wire keeps.
//!
//! The large ones are boxed: a value tree of everything in everything does not fit a test thread's stack.

mod conditions;
mod environment;
mod experiment;
mod record;

use std::{collections::BTreeMap, sync::Arc};

use proptest::{collection::btree_map, collection::vec, option, prelude::*};
use speedup_core::{
    agent::message::AgentMessage, agent::message::AttemptReport, agent::message::CoordinatorMessage,
    agent::message::Grant, experiment::build::Product, experiment::build::UsedBuild,
    experiment::files::Content, experiment::files::ContentHash, host::Exclusion, host::ExclusionCause,
    host::HostFacts, host::Sharing, host::fingerprint::ClassId, host::fingerprint::Fact,
    host::fingerprint::Fingerprint, host::fingerprint::HardwareId, machine::Explanation, machine::Hindrance,
    machine::Hindrances, machine::KeptHosts, machine::NamedHost, machine::Outlook, machine::WaitingFor,
    machine::Waits, machine::event::AttemptEnd, machine::event::Change, machine::event::EndedAttempt,
    machine::event::Event, machine::event::RequestKey, machine::event::Superseded, machine::event::Tally,
    machine::provision::EngineNote, machine::provision::EngineNoteKind, plan::Extension, plan::Shape,
    run::AfterLoss, run::LossReason, run::Obstacle, run::Settlement, run::lease::Evidence, run::lease::Lease,
    run::lease::LeaseSeat, run::lease::Member, run::timer::TimerError, run::timer::TimerTest,
    run::work::WorkOrder, run::work::WorkSeat, value::id::*, value::time::Span, value::time::Timestamp,
};
use speedup_proto::convert::{ExperimentStatus, ExportPart, OutboxEntry, Proposal, StatusPhase, Submission};
use uuid::Uuid;

use environment::environment;
use experiment::{command, expectation, files, measured, output_choice, rest, setup};
pub(crate) use experiment::{experiment, plan};
pub(crate) use record::record;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-zé \u{0}\u{1F600}]{0,12}", any::<String>()]
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..4)
}

fn id<I: std::str::FromStr<Err = IdError> + std::fmt::Debug>() -> impl Strategy<Value = I> {
    "[a-zA-Z0-9._:-]{1,40}".prop_map(|text| text.parse().unwrap())
}

fn experiment_id() -> impl Strategy<Value = ExperimentId> {
    any::<[u8; 16]>().prop_map(|bytes| ExperimentId(Uuid::from_bytes(bytes)))
}

fn agent_id() -> impl Strategy<Value = AgentId> {
    any::<[u8; 16]>().prop_map(|bytes| AgentId(Uuid::from_bytes(bytes)))
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp)
}

fn lease_epoch() -> impl Strategy<Value = LeaseEpoch> {
    any::<u64>().prop_map(LeaseEpoch)
}

fn agent_epoch() -> impl Strategy<Value = AgentEpoch> {
    any::<u64>().prop_map(AgentEpoch)
}

fn run() -> impl Strategy<Value = (RunIndex, Attempt)> {
    any::<(u32, u32)>().prop_map(|(run, attempt)| (RunIndex(run), Attempt(attempt)))
}

fn facts() -> BoxedStrategy<HostFacts> {
    let names = (id(), id(), option::of(id()), any::<bool>());
    let hardware = option::of(text().prop_map(|serial| HardwareId::of([("serial", serial.as_str())])));
    let engine = (option::of(time()), option::of(id()), option::of(id()), option::of(id()), option::of(id()));
    let parts = (names, fingerprint(), option::of(timer_test()), hardware, any::<bool>(), engine);
    parts
        .prop_map(|(names, fingerprint, timer, hardware, can_reboot, engine)| {
            let (allocation_ends, node, job, hostname, switches) = engine;
            let (host, boot, allocation, named_by_owner) = names;
            let hardware = hardware.flatten();
            let bare = HostFacts::bare(host, boot);
            let facts = HostFacts { allocation, fingerprint, timer, hardware, named_by_owner, ..bare };
            let sharing = [Sharing::Unsaid, Sharing::Alone, Sharing::Shared]
                [usize::from(can_reboot) + usize::from(named_by_owner)];
            let machine = hardware.filter(|_| can_reboot);
            HostFacts {
                can_reboot,
                allocation_ends,
                node,
                job,
                sharing,
                machine,
                hostname,
                switches,
                ..facts
            }
        })
        .boxed()
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    let fact =
        prop_oneof![text().prop_map(Fact::Value), Just(Fact::Absent), text().prop_map(Fact::Unreadable),];
    btree_map(text(), fact, 0..4).prop_map(|facts| Fingerprint::new(facts).expect("few and short facts"))
}

fn class() -> impl Strategy<Value = ClassId> {
    fingerprint().prop_map(|fingerprint| fingerprint.class())
}

fn products() -> impl Strategy<Value = Vec<Product>> {
    let content = any::<([u8; 32], u64, bool)>();
    let content = content.prop_map(|(hash, bytes, executable)| Content {
        blake3: ContentHash(hash),
        bytes,
        executable,
    });
    vec((text(), content).prop_map(|(name, content)| Product { name, content }), 0..4)
}

fn used_build() -> impl Strategy<Value = UsedBuild> {
    (any::<u32>(), products()).prop_map(|(run, products)| UsedBuild { run: RunIndex(run), products })
}

fn timer_error() -> impl Strategy<Value = TimerError> {
    any::<(i64, u64)>().prop_map(|(bias_ns, spread_ns)| TimerError { bias_ns, spread_ns })
}

fn timer_test() -> impl Strategy<Value = TimerTest> {
    (any::<(u64, u64, u64)>(), timer_error()).prop_map(|((tested_unix_ns, floor_ns, step_ns), error)| {
        TimerTest { tested_unix_ns, error, floor_ns, step_ns }
    })
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let previous = option::of((experiment_id(), any::<u32>().prop_map(RunIndex)));
    let before = (
        any::<Option<u64>>(),
        option::of(id()),
        option::of(id()),
        (
            option::of(class()),
            option::of(used_build()),
            option::of(text()),
            option::of(id()),
            option::of(id()),
        ),
        option::of(any::<bool>()),
    );
    let parts = (id(), option::of(id()), any::<(u32, u64)>(), previous, before);
    parts.prop_map(|(boot, allocation, (served_in_scope, served_in_all), previous, before)| Evidence {
        boot,
        allocation,
        served_in_scope,
        served_in_all,
        previous,
        idle: before.0.map(Span),
        boot_before: before.1,
        allocation_before: before.2,
        set_served: before.4,
        class: before.3.0,
        build: before.3.1.map(Box::new),
        machine: before.3.2.and_then(|serial| HardwareId::of([("serial", serial.as_str())])),
        host_name: before.3.3,
        switches: before.3.4,
    })
}

pub(crate) fn lease() -> BoxedStrategy<Lease> {
    let times = (time(), time(), option::of(time()));
    let member = (id(), option::of(id())).prop_map(|(host, name)| Member { host, name });
    let seat = (any::<u32>(), proptest::collection::vec(member, 0..3), any::<Option<u32>>())
        .prop_map(|(number, members, leaf_switches)| Box::new(LeaseSeat { number, members, leaf_switches }));
    let parts =
        (lease_epoch(), experiment_id(), run(), id(), agent_epoch(), times, (evidence(), option::of(seat)));
    parts
        .prop_map(|(epoch, experiment, (run, attempt), host, agent_epoch, times, (evidence, seat))| {
            let (granted, deadline, started) = times;
            Lease {
                epoch,
                experiment,
                run,
                attempt,
                host,
                agent_epoch,
                granted,
                deadline,
                started,
                evidence,
                seat,
            }
        })
        .boxed()
}

/// Leases as those of a gang: the first knows the hosts of all.
fn gang(mut leases: Vec<Lease>) -> Vec<Lease> {
    for (number, lease) in (0..).zip(&mut leases) {
        lease.seat = Some(Box::new(LeaseSeat::numbered(number)));
    }
    LeaseSeat::introduce(&mut leases);
    leases
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    prop_oneof![Just(Obstacle::Host), Just(Obstacle::Owner), Just(Obstacle::Plan)]
}

fn loss() -> impl Strategy<Value = (LossReason, AfterLoss)> {
    let reason = prop_oneof![
        Just(LossReason::Expired),
        Just(LossReason::HostLost),
        Just(LossReason::AgentRestarted),
        text().prop_map(|words| LossReason::JobEnded { words }),
        (text(), obstacle()).prop_map(|(reason, obstacle)| LossReason::NotExecuted { reason, obstacle }),
    ];
    let after = prop_oneof![
        any::<u32>().prop_map(|attempt| AfterLoss::Again(Attempt(attempt))),
        Just(AfterLoss::Abandoned),
        Just(AfterLoss::Cancelled),
    ];
    (reason, after)
}

pub(crate) fn ended_attempt() -> BoxedStrategy<EndedAttempt> {
    let end = prop_oneof![
        record().prop_map(AttemptEnd::reported),
        (loss(), option::of(record().prop_map(Arc::new)))
            .prop_map(|((reason, after), late)| AttemptEnd::Lost { reason, after, late }),
    ];
    let parts = (lease(), any::<u32>(), time(), end);
    parts.prop_map(|(lease, cell, ended, end)| EndedAttempt { lease, cell, ended, end }).boxed()
}

fn work_order() -> BoxedStrategy<WorkOrder> {
    let numbers = (any::<(u64, u32, Option<u32>, Option<u32>)>(), option::of(text()));
    let program = (command(), texts(), texts());
    let outside = (option::of(setup()), option::of(setup()), option::of(setup()), option::of(setup()));
    let collect = btree_map(text(), text(), 0..4);
    let seat = (any::<(u32, u32)>(), text(), proptest::collection::vec(text(), 0..3))
        .prop_map(|((number, size), hostfile, hosts)| WorkSeat { number, size, hostfile, hosts });
    let made = (products(), collect, option::of(seat));
    let choices = (measured(), output_choice(), option::of(rest()), files(), made);
    let environments = (environment(), option::of(environment()));
    let parts = (program, expectation(), numbers, outside, environments, choices);
    parts
        .prop_map(|((command, env, vars), expect, numbers, outside, environments, choices)| {
            let (environment, other) = environments;
            let ((timeout, warmup, env_padding, directory_padding), directory) = numbers;
            let (setup, prepare, cleanup, canary) = outside;
            let (measured, output, rest, files, (built, collect, seat)) = choices;
            WorkOrder {
                command,
                env,
                vars,
                expect,
                timeout: Span(timeout),
                warmup,
                directory,
                setup,
                prepare,
                cleanup,
                canary,
                environment,
                common_software: other.map(|environment| environment.software),
                env_padding,
                directory_padding,
                metrics: measured.0,
                own_metrics: measured.1,
                output,
                rest,
                files,
                built,
                collect,
                seat,
            }
        })
        .boxed()
}

pub(crate) fn report() -> BoxedStrategy<AttemptReport> {
    let parts = (lease_epoch(), agent_epoch(), record());
    parts.prop_map(|(lease, executed_by, record)| AttemptReport { lease, executed_by, record }).boxed()
}

pub(crate) fn agent_message() -> BoxedStrategy<AgentMessage> {
    prop_oneof![
        (facts(), agent_id(), agent_epoch()).prop_map(|(facts, agent, epoch)| AgentMessage::Join {
            facts: Box::new(facts),
            agent,
            epoch
        }),
        Just(AgentMessage::Ask),
        lease_epoch().prop_map(|lease| AgentMessage::Ready { lease }),
        lease_epoch().prop_map(|lease| AgentMessage::Started { lease }),
        report().prop_map(|report| AgentMessage::Report(Box::new(report))),
    ]
    .boxed()
}

fn grant() -> impl Strategy<Value = Grant> {
    (lease(), work_order()).prop_map(|(lease, order)| Grant::new(&lease, order))
}

pub(crate) fn coordinator_message() -> BoxedStrategy<CoordinatorMessage> {
    prop_oneof![
        any::<u64>().prop_map(|next| CoordinatorMessage::Welcome { next_lease: LeaseEpoch(next) }),
        (text(), option::of(agent_epoch())).prop_map(|(reason, known_epoch)| {
            CoordinatorMessage::TurnedAway { reason, known_epoch, is_lasting: known_epoch.is_none() }
        }),
        grant().prop_map(|grant| CoordinatorMessage::Grant(Box::new(grant))),
        lease_epoch().prop_map(|lease| CoordinatorMessage::Acknowledged { lease }),
        lease_epoch().prop_map(|lease| CoordinatorMessage::Begin { lease }),
        lease_epoch().prop_map(|lease| CoordinatorMessage::End { lease }),
        text().prop_map(|reason| CoordinatorMessage::Reboot { reason }),
        (lease_epoch(), text()).prop_map(|(lease, reason)| CoordinatorMessage::Refused { lease, reason }),
    ]
    .boxed()
}

pub(crate) fn tally() -> impl Strategy<Value = Tally> {
    (proptest::array::uniform7(0..700_000_u32), any::<u32>()).prop_map(|(states, lost_attempts)| {
        let [waiting, leased, running, measured, failed, abandoned, cancelled] = states;
        Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts }
    })
}

fn extension() -> impl Strategy<Value = Extension> {
    (vec(any::<u32>(), 0..9), any::<(u32, u32)>())
        .prop_map(|(order, (boots, runs))| Extension { order, shape: Shape { boots, runs } })
}

/// A plan that is submitted, in each of its forms.
pub(crate) fn submission() -> impl Strategy<Value = Submission> {
    let plan = prop_oneof![
        experiment::experiment().prop_map(|experiment| Proposal::Experiment(Box::new(experiment))),
        text().prop_map(Proposal::Toml),
        text().prop_map(Proposal::Json),
    ];
    let request = option::of(any::<u128>().prop_map(Uuid::from_u128));
    (plan, any::<bool>(), text(), request).prop_map(|(plan, wait_for_hosts, by, request)| Submission {
        plan,
        wait_for_hosts,
        by,
        request,
    })
}

fn request_key() -> impl Strategy<Value = RequestKey> {
    any::<(u128, [u8; 32])>().prop_map(|(id, content)| RequestKey { id: Uuid::from_u128(id), content })
}

fn of_experiment() -> BoxedStrategy<Change> {
    let asked = || (experiment_id(), text());
    prop_oneof![
        (asked(), plan(), option::of(request_key())).prop_map(|((experiment, by), plan, request)| {
            Change::Submitted { experiment, plan: Arc::new(plan), by, request }
        }),
        (asked(), text()).prop_map(|((experiment, by), reason)| Change::Paused { experiment, by, reason }),
        asked().prop_map(|(experiment, by)| Change::Resumed { experiment, by }),
        (asked(), text()).prop_map(|((experiment, by), reason)| Change::Cancelled { experiment, by, reason }),
        experiment_id().prop_map(|experiment| Change::AwaitingDecision { experiment }),
        (asked(), any::<bool>(), text()).prop_map(|((experiment, by), enough, words)| Change::Decided {
            experiment,
            by,
            enough,
            words
        }),
        (experiment_id(), class()).prop_map(|(experiment, class)| Change::ClassPinned { experiment, class }),
        (asked(), id(), class()).prop_map(|((experiment, by), host, class)| Change::ClassApproved {
            experiment,
            host,
            class,
            by
        }),
        (asked(), any::<u32>(), extension()).prop_map(|((experiment, by), from, appended)| {
            Change::Extended { experiment, from, appended, by }
        }),
        (experiment_id(), tally(), any::<bool>())
            .prop_map(|(experiment, tally, cancelled)| Change::Finished { experiment, tally, cancelled }),
    ]
    .boxed()
}

fn of_host() -> BoxedStrategy<Change> {
    let held = || (id(), lease_epoch());
    prop_oneof![
        (facts(), agent_id(), agent_epoch()).prop_map(|(facts, agent, epoch)| Change::HostJoined {
            facts: Box::new(facts),
            agent,
            epoch
        }),
        (id(), time()).prop_map(|(host, give_up)| Change::HostLeft { host, give_up }),
        (id(), vec(text(), 0..4)).prop_map(|(host, facts)| Change::HostDrifted { host, facts }),
        (id(), text()).prop_map(|(host, by)| Change::HostDrained { host, by }),
        (id(), text()).prop_map(|(host, by)| Change::HostResumed { host, by }),
        (id(), text()).prop_map(|(host, by)| Change::HostReset { host, by }),
        (proptest::sample::select(EngineNoteKind::ALL.to_vec()), option::of(id()), text(), text())
            .prop_map(|(kind, host, by, words)| Change::EngineNoted(EngineNote { kind, host, by, words })),
        (id(), text(), text()).prop_map(|(host, by, reason)| Change::HostQuarantined { host, by, reason }),
        (id(), experiment_id(), time()).prop_map(|(host, experiment, give_up)| Change::RebootAsked {
            host,
            experiment,
            give_up
        }),
        (id(), experiment_id()).prop_map(|(host, experiment)| Change::VisitBroken { host, experiment }),
        lease().prop_map(|lease| Change::LeaseGranted(Box::new(lease))),
        proptest::collection::vec(lease(), 0..4).prop_map(|leases| Change::GangGranted(gang(leases))),
        (held(), record().prop_map(Arc::new)).prop_map(|((host, lease), record)| Change::PartEnded {
            host,
            lease,
            record
        }),
        held().prop_map(|(host, lease)| Change::RunStarted { host, lease }),
        (held(), record().prop_map(Arc::new)).prop_map(|((host, lease), record)| Change::RunReported {
            host,
            lease,
            record
        }),
        (held(), loss()).prop_map(|((host, lease), (reason, after))| Change::AttemptLost {
            host,
            lease,
            reason,
            after
        }),
        (lease(), record().prop_map(Arc::new))
            .prop_map(|(lease, record)| Change::LateReport { superseded: Superseded::from(&lease), record }),
    ]
    .boxed()
}

pub(crate) fn event() -> BoxedStrategy<Event> {
    let change = prop_oneof![1 => Just(Change::CoordinatorStarted), 6 => of_experiment(), 7 => of_host()];
    (time(), change).prop_map(|(at, change)| Event { at, change }).boxed()
}

pub(crate) fn outbox_entry() -> BoxedStrategy<OutboxEntry> {
    prop_oneof![
        report().prop_map(|report| OutboxEntry::Report(Box::new(report))),
        lease_epoch().prop_map(OutboxEntry::Acknowledged),
        agent_epoch().prop_map(OutboxEntry::Epoch),
    ]
    .boxed()
}

pub(crate) fn status() -> BoxedStrategy<ExperimentStatus> {
    let phase = prop_oneof![
        Just(StatusPhase::Running),
        Just(StatusPhase::WaitingForHosts),
        text().prop_map(|reason| StatusPhase::Paused { reason }),
        Just(StatusPhase::Cancelling),
        Just(StatusPhase::Deciding),
        (time(), any::<bool>()).prop_map(|(at, cancelled)| StatusPhase::Finished { at, cancelled }),
    ];
    let names = ((text(), vec(text(), 0..4)), text(), text());
    let parts = (experiment_id(), names, time(), phase, tally(), any::<(u32, u32, bool)>());
    parts
        .prop_map(
            |(
                experiment,
                ((name, tags), submitted_by, words),
                submitted,
                phase,
                tally,
                (cells, hosts_here, bisects),
            )| {
                ExperimentStatus {
                    experiment,
                    name,
                    tags,
                    bisects,
                    submitted,
                    submitted_by,
                    phase,
                    tally,
                    cells,
                    hosts_here,
                    words,
                }
            },
        )
        .boxed()
}

fn hindrances(counts: [u32; 15], differing: Vec<String>) -> Hindrances {
    let [rebooting, away, out_of_service, other_class, not_fresh, no_allocation, ..] = counts;
    let [.., given_up, held_back, visited, cannot_reboot, tried, busy, ending, resting, able] = counts;
    Hindrances {
        rebooting,
        away,
        out_of_service,
        other_class,
        not_fresh,
        no_allocation,
        given_up,
        held_back,
        visited,
        cannot_reboot,
        tried,
        busy,
        resting,
        ending,
        able,
        differing,
        together: able % 3,
        in_one_job: away % 2 == 1,
        sets_spent: busy % 2 == 1,
    }
}

pub(crate) fn explanation() -> BoxedStrategy<Explanation> {
    let settled = [Settlement::Measured, Settlement::Failed, Settlement::Abandoned, Settlement::Cancelled];
    let waiting_for = prop_oneof![
        text().prop_map(|reason| WaitingFor::Resume { reason }),
        any::<(u32, u32)>().prop_map(|(made, builds)| WaitingFor::Builds { made, builds }),
        (any::<[u32; 15]>(), vec(text(), 0..4))
            .prop_map(|(counts, differing)| WaitingFor::Hosts(hindrances(counts, differing))),
    ];
    prop_oneof![
        (any::<u32>(), waiting_for).prop_map(|(attempt, waiting_for)| Explanation::Waiting {
            attempt: Attempt(attempt),
            waiting_for
        }),
        (id(), option::of(id()), lease_epoch(), any::<(bool, bool)>(), time()).prop_map(
            |(host, host_name, lease, (begun, connected), deadline)| Explanation::Held {
                host,
                host_name,
                lease,
                begun,
                connected,
                deadline
            }
        ),
        proptest::sample::select(settled.to_vec()).prop_map(Explanation::Settled),
    ]
    .boxed()
}

pub(crate) fn outlook() -> BoxedStrategy<Outlook> {
    let named = (id(), option::of(id())).prop_map(|(host, host_name)| NamedHost { host, host_name });
    let kept = (proptest::sample::select(Hindrance::ALL.to_vec()), any::<u32>(), vec(named, 0..4))
        .prop_map(|(hindrance, hosts, first)| KeptHosts { hindrance, hosts, first });
    let waits = (vec(text(), 0..4), any::<u32>(), vec(kept, 0..4), vec(text(), 0..4))
        .prop_map(|(of, runs, hosts, differing)| Waits { of, runs, hosts, differing });
    (vec(waits, 0..4), any::<u32>()).prop_map(|(waits, left_out)| Outlook { waits, left_out }).boxed()
}

fn exclusion() -> BoxedStrategy<Exclusion> {
    let cause = prop_oneof![
        "[a-z]{0,9}".prop_map(|by| ExclusionCause::Drained { by }),
        ("[a-z]{0,9}", ".{0,20}").prop_map(|(by, reason)| ExclusionCause::Quarantined { by, reason }),
    ];
    ("[a-z][a-z0-9]{0,9}", any::<u64>(), cause, option::of(any::<u64>()))
        .prop_map(|(host, at, cause, resumed)| Exclusion {
            host: host.parse().unwrap(),
            at: Timestamp(at),
            cause,
            resumed: resumed.map(Timestamp),
        })
        .boxed()
}

pub(crate) fn export_part() -> BoxedStrategy<ExportPart> {
    let head =
        (status(), plan(), vec(exclusion(), 0..3)).prop_map(|(status, plan, exclusions)| ExportPart::Head {
            status: Box::new(status),
            exclusions,
            stages: plan.stages().to_vec(),
            experiment: Box::new(plan.experiment),
            benchmarks: plan.benchmarks,
        });
    prop_oneof![
        head,
        vec(any::<u32>(), 0..9).prop_map(ExportPart::Order),
        vec(ended_attempt(), 0..3).prop_map(|attempts| ExportPart::Attempts(attempts.iter().collect())),
    ]
    .boxed()
}
