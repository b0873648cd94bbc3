//! How a choice changes the world.

use std::collections::BTreeMap;

use speedup_core::experiment::build::Product;
use speedup_core::experiment::files::{Content, ContentHash};
use speedup_core::{
    agent::Action, agent::Agent, agent::Input, agent::message::AgentMessage,
    agent::message::CoordinatorMessage, agent::message::Grant, host::HostFacts, machine::Active,
    machine::BuildResult, machine::Command, machine::Decision, machine::Effect, machine::HandleOutcome,
    machine::HostRequest, machine::Notice, machine::Refusal, machine::Request, machine::Speaker,
    machine::event::Change, machine::provision::PROVISIONER, run::LossReason, run::Obstacle,
    run::record::Failure, run::record::Outcome, run::record::Record, run::work::WorkOrder,
    value::id::AgentEpoch, value::id::AgentId, value::id::ExperimentId, value::id::HostId,
    value::id::LeaseEpoch, value::id::RunIndex, value::id::VersionIndex, value::time::Span,
    value::time::Timestamp,
};
use uuid::Uuid;

use super::{
    Choice, Coordinator, Ending, Execution, Message, Packet, Rebirth, SimAgent, Wish, World, sim_agent,
    sim_fingerprint, sim_hardware, sim_host, verdict,
};

impl World {
    /// Lets one thing happen, then checks the machine if that changed it.
    pub fn apply(&mut self, choice: Choice) {
        match choice {
            Choice::Deliver(at) | Choice::Double(at)
                if self.stands() && self.bag[at].is_for_the_coordinator() => {}
            Choice::Deliver(at) => {
                let packet = self.bag.remove(at);
                self.deliver(packet);
            }
            Choice::Double(at) => self.deliver(self.bag[at].clone()),
            Choice::Lose(at) => {
                self.cuts.extend(self.missed(at));
                // The end of a session is noticed some day, whatever is lost.
                if !matches!(self.bag[at].message, Message::Over) {
                    self.bag.remove(at);
                }
            }
            Choice::Connect(at) => self.connect(at),
            Choice::Break(at) => {
                self.cuts.extend(self.cut_off(at));
                self.disconnect(at);
            }
            Choice::Quiet(at) => self.tell_agent(at, Input::Quiet),
            Choice::CrashAgent(at, after) => self.agents[at].doomed = Some(after),
            Choice::StartAgent(at) => self.start_agent(at),
            Choice::Prepared(at) => self.prepared(at),
            Choice::Finish(at, ending) => self.finish(at, ending),
            Choice::Sync => self.sync(),
            Choice::CrashCoordinator(kept) => self.crash_coordinator(kept),
            Choice::StartCoordinator => self.start_coordinator(),
            Choice::Stand => self.coordinator.iter_mut().for_each(|coordinator| coordinator.stands = true),
            Choice::Wake => self.wake(),
            Choice::Pass(span) => {
                self.now = self.now + span;
                self.passed = self.passed + span;
                if !self.stands() {
                    self.tell_coordinator(Notice::Tick);
                }
            }
            Choice::StepForward(span) if self.coordinator.is_none() => {
                self.now = self.now + span;
                self.stepped = true;
            }
            Choice::StepForward(_) => {}
            Choice::StepBack(span) => self.now = Timestamp(self.now.0.saturating_sub(span.0).max(1)),
            Choice::User(_) if self.stands() => {}
            Choice::User(wish) => self.grant_wish(&wish),
            Choice::AddHost => {
                let number = self.agents.len();
                self.add_agent(sim_host(number), sim_agent(number));
            }
            Choice::Reborn(at, how) => self.reborn(at, how),
            Choice::RefuseReboot(at) => {
                self.agents[at].is_to_reboot = false;
                self.disconnect(at);
                self.tell_agent(at, Input::NotRebooted);
            }
            Choice::JobEnded(at) => {
                let facts = &self.agents[at].facts;
                if let Some(job) = facts.job.clone() {
                    let host = facts.host.clone();
                    // Some are preempted, others end by themselves.
                    let is_excused = at.is_multiple_of(2);
                    let words = if is_excused { "PREEMPTED" } else { "NODE_FAIL" }.to_owned();
                    self.tell_coordinator(Notice::JobEnded { host, job, words, is_excused });
                }
            }
            Choice::Clone(at) => self.clone_host(at),
            Choice::Twin(at) => self.twin_host(at),
        }
        self.bury_the_doomed();
        if let Some(coordinator) = self.coordinator.as_mut().filter(|coordinator| coordinator.is_unchecked) {
            coordinator.machine.check();
            coordinator.is_unchecked = false;
        }
    }

    fn add_agent(&mut self, facts: HostFacts, id: AgentId) {
        let number = self.agents.len();
        self.agents.push(SimAgent {
            facts,
            id,
            epoch_on_disk: 0,
            outbox_on_disk: BTreeMap::new(),
            process: None,
            session: None,
            executing: None,
            preparing: None,
            held: None,
            doomed: None,
            is_to_reboot: false,
            old_boots: Vec::new(),
            twin_of: None,
            is_gone: false,
        });
        self.start_agent(number);
    }

    /// The image of a host, with all its agent remembers, starts on another machine.
    fn clone_host(&mut self, at: usize) {
        let (original, number) = (&self.agents[at], self.agents.len());
        let mut facts = original.facts.clone();
        facts.hardware = sim_hardware(number);
        facts.machine = facts.machine.and(facts.hardware);
        facts.boot = format!("boot-{number}").parse().expect("a boot id");
        let id = if number.is_multiple_of(2) { original.id } else { sim_agent(number) };
        self.add_agent(facts, id);
    }

    /// A second agent on a host, which finds another id there, as in a container.
    fn twin_host(&mut self, at: usize) {
        let number = self.agents.len();
        let host = format!("host-{number}").parse().expect("a host id");
        let facts = HostFacts { host, ..self.agents[at].facts.clone() };
        self.add_agent(facts, sim_agent(number));
        self.agents[number].twin_of = Some(at);
    }

    fn reborn(&mut self, at: usize, how: Rebirth) {
        self.named += 1;
        let named = self.named;
        self.bury(at);
        let agent = &mut self.agents[at];
        let latest = agent.facts.boot.clone();
        match how {
            Rebirth::Boot => {
                if !agent.old_boots.contains(&latest) {
                    agent.old_boots.push(latest);
                }
                agent.facts.boot = format!("boot-again-{named}").parse().expect("a boot id");
                agent.is_to_reboot = false;
                self.end_twins(at);
            }
            Rebirth::OldBoot => {
                let old = agent.old_boots.first().cloned().unwrap_or_else(|| latest.clone());
                if !agent.old_boots.contains(&latest) {
                    agent.old_boots.push(latest);
                }
                agent.facts.boot = old;
                self.end_twins(at);
            }
            Rebirth::Fact => {
                agent.facts.fingerprint = sim_fingerprint(["small", "large"][named as usize % 2]);
            }
            Rebirth::Allocation => {
                let job = format!("job-again-{named}");
                agent.facts.allocation = Some(job.parse().expect("an allocation id"));
                agent.facts.job = Some(job.parse().expect("a job id"));
            }
        }
    }

    /// The first agent of the machine that an agent is on.
    fn machine_of(&self, at: usize) -> usize {
        self.agents[at].twin_of.map_or(at, |original| self.machine_of(original))
    }

    /// What runs on a host ends with its boot; what it did not report is lost with it.
    fn end_twins(&mut self, host: usize) {
        let machine = self.machine_of(host);
        for at in 0..self.agents.len() {
            if self.machine_of(at) == machine && at != host && !self.agents[at].is_gone {
                self.bury(at);
                self.agents[at].is_gone = true;
                for lease in self.agents[at].outbox_on_disk.keys() {
                    self.reported.remove(lease);
                }
            }
        }
    }

    fn start_agent(&mut self, at: usize) {
        let agent = &mut self.agents[at];
        agent.epoch_on_disk += 1;
        let outbox = agent.outbox_on_disk.values().cloned().collect();
        agent.process =
            Some(Agent::new(agent.facts.clone(), agent.id, AgentEpoch(agent.epoch_on_disk), outbox));
    }

    /// A doomed process dies where it stands: between two actions, or at the end of a step. What it had still to do is not
    /// done.
    fn bury_the_doomed(&mut self) {
        for at in 0..self.agents.len() {
            if self.agents[at].doomed == Some(0) {
                self.bury(at);
            }
        }
    }

    fn bury(&mut self, at: usize) {
        self.agents[at].doomed = Some(0);
        self.disconnect(at);
        let agent = &mut self.agents[at];
        agent.doomed = None;
        agent.process = None;
        (agent.executing, agent.preparing, agent.held) = (None, None, None);
        agent.is_to_reboot = false;
    }

    fn connect(&mut self, at: usize) {
        let agent = &self.agents[at];
        if self.coordinator.is_none() || agent.session.is_some() || agent.process.is_none() {
            return;
        }
        self.agents[at].session = Some(self.next_session);
        self.next_session += 1;
        self.tell_agent(at, Input::LinkUp);
    }

    fn disconnect(&mut self, at: usize) {
        if let Some(session) = self.agents[at].session.take() {
            self.bag.push(Packet { session, message: Message::Over });
            self.tell_agent(at, Input::LinkDown);
        }
    }

    fn finish(&mut self, at: usize, ending: Ending) {
        let agent = &mut self.agents[at];
        self.parts.extend(agent.preparing.as_ref().map(|execution| execution.lease));
        let Some(execution) = agent.executing.take().or_else(|| agent.preparing.take()) else { return };
        let outcome = match ending {
            Ending::Measured | Ending::Lacking => Outcome::Measured,
            Ending::Failed => Outcome::Failed(Failure::Exit { code: 1, expected: 0 }),
            Ending::NotExecuted => {
                Outcome::NotExecuted { reason: "no such program".to_owned(), obstacle: Obstacle::Host }
            }
        };
        // The record carries the lease, so that the verdict can tell whose record it is.
        let lacking = usize::from(ending == Ending::Lacking);
        let products =
            execution.collect.iter().skip(lacking).map(|name| product(name, execution.lease)).collect();
        let record = Record { products, ..record(outcome, execution.lease.0) };
        self.tell_agent(at, Input::Executed(record));
        if self.agents[at].doomed != Some(0) {
            self.reported.insert(execution.lease);
        }
    }

    /// An agent is prepared for its part of a run.
    fn prepared(&mut self, at: usize) {
        let agent = &mut self.agents[at];
        if let Some(execution) = agent.preparing.take() {
            agent.held = Some(execution);
            self.tell_agent(at, Input::Prepared);
        }
    }

    fn tell_agent(&mut self, at: usize, input: Input) {
        let Some(process) = &mut self.agents[at].process else { return };
        for action in process.handle(input) {
            match &mut self.agents[at].doomed {
                Some(0) => return,
                Some(left) => *left -= 1,
                None => {}
            }
            self.act(at, action);
        }
    }

    fn act(&mut self, at: usize, action: Action) {
        let agent = &mut self.agents[at];
        match action {
            Action::Send(message) => {
                if let Some(session) = agent.session {
                    self.bag.push(Packet { session, message: Message::Up(message) });
                }
            }
            Action::Keep(report) => {
                agent.outbox_on_disk.insert(report.lease, *report);
            }
            Action::Forget(lease) => {
                agent.outbox_on_disk.remove(&lease);
                self.acknowledged.insert(lease);
            }
            Action::Remember(epoch) => agent.epoch_on_disk = epoch.0,
            Action::Execute(grant) => {
                let Grant { lease, experiment, run, order, .. } = *grant;
                let collect = order.collect.into_keys().collect();
                let execution = Execution { lease, host: at, experiment, run, collect };
                agent.executing = Some(execution.clone());
                self.executions.push(execution);
            }
            Action::Prepare(grant) => {
                let Grant { lease, experiment, run, .. } = *grant;
                agent.preparing = Some(Execution { lease, host: at, experiment, run, collect: Vec::new() });
            }
            Action::Begin => {
                agent.executing = agent.held.take();
                self.executions.extend(agent.executing.clone());
            }
            Action::End { .. } => {
                if let Some(Execution { lease, .. }) = agent.held.take() {
                    self.parts.insert(lease);
                    self.tell_agent(at, Input::Executed(record(Outcome::Measured, lease.0)));
                }
            }
            Action::Complain { lease, reason } => {
                panic!("a true report of lease {lease} was refused: {reason}")
            }
            Action::Reboot { .. } => agent.is_to_reboot = true,
            Action::Leave { .. } => {
                assert!(agent.outbox_on_disk.is_empty(), "an agent that leaves has delivered everything");
                self.bury(at);
            }
            Action::Withdraw { .. } | Action::GiveUp { .. } => self.disconnect(at),
        }
    }

    fn deliver(&mut self, packet: Packet) {
        match packet.message {
            Message::Down(message) => {
                if let Some(at) = self.agents.iter().position(|agent| agent.session == Some(packet.session)) {
                    self.tell_agent(at, Input::Heard(message));
                }
            }
            Message::Up(message) => self.hear(packet.session, message),
            Message::Over => self.session_over(packet.session),
        }
    }

    /// The coordinator goes on after a standstill. What has waited is heard first, each connection in its order: an attempt
    /// whose report was there in time is not lost because the coordinator was late to hear it.
    fn wake(&mut self) {
        let Some(coordinator) = self.coordinator.as_mut().filter(|coordinator| coordinator.stands) else {
            return;
        };
        coordinator.stands = false;
        let before = coordinator.unsynced.len();
        let (waiting, others) =
            std::mem::take(&mut self.bag).into_iter().partition(Packet::is_for_the_coordinator);
        self.bag = others;
        let reported = self.reported_in(&waiting);
        self.heard_late |= reported.values().any(|deadline| *deadline <= self.now);
        waiting.into_iter().for_each(|packet| self.deliver(packet));
        self.tell_coordinator(Notice::Tick);
        let events = self.coordinator.iter().flat_map(|coordinator| &coordinator.unsynced[before..]);
        for event in events {
            if let Change::AttemptLost { lease, reason: LossReason::Expired | LossReason::HostLost, .. } =
                &event.change
            {
                assert!(!reported.contains_key(lease), "the report of lease {lease} was waiting");
            }
        }
    }

    /// Live leases that these messages report, each in a session of its host, with their deadlines. That a gang's program has
    /// failed is no report yet: it counts when the other hosts have ended their parts, of which nobody has been asked.
    fn reported_in(&self, waiting: &[Packet]) -> BTreeMap<LeaseEpoch, Timestamp> {
        let Some(coordinator) = &self.coordinator else { return BTreeMap::new() };
        let reported = waiting.iter().filter_map(|packet| match &packet.message {
            Message::Up(AgentMessage::Report(report)) => {
                let (host, epoch) = coordinator.speakers.get(&packet.session)?;
                let held = coordinator.machine.host(host)?;
                let is_its_own = held.is_here() && held.epoch == *epoch;
                let lease = held.lease.as_ref().filter(|lease| is_its_own && lease.epoch == report.lease)?;
                let has_failed = matches!(report.record.outcome, Outcome::Failed(_));
                let is_heard_out = !(has_failed && lease.is_of_gang() && !lease.is_of_member());
                is_heard_out.then_some((lease.epoch, held.lease_deadline()?))
            }
            Message::Up(_) | Message::Down(_) | Message::Over => None,
        });
        reported.collect()
    }

    fn session_over(&mut self, session: u64) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let Some((host, epoch)) = coordinator.speakers.remove(&session) else { return };
        if coordinator.current.get(&host) == Some(&session) {
            coordinator.current.remove(&host);
            self.tell_coordinator(Notice::Leave(Speaker { host, epoch }));
        }
    }

    fn hear(&mut self, session: u64, message: AgentMessage) {
        if self.coordinator.is_none() {
            return;
        }
        if let AgentMessage::Join { facts, agent, epoch } = message {
            self.join(session, Command::Join { facts: *facts, agent, epoch });
            return;
        }
        let Some((host, epoch)) = self.coordinator.as_ref().and_then(|c| c.speakers.get(&session).cloned())
        else {
            return;
        };
        let speaker = Speaker { host, epoch };
        let command = match message {
            AgentMessage::Ask => Command::Ask(speaker),
            AgentMessage::Ready { lease } => Command::Ready { speaker, lease },
            AgentMessage::Started { lease } => Command::Started { speaker, lease },
            AgentMessage::Report(report) => Command::Report { speaker, report },
            AgentMessage::Join { .. } => return,
        };
        match self.ask_coordinator(command) {
            None => {}
            Some(Refusal::NotJoined(_)) => self.end_session(session),
            Some(Refusal::NotYourLease { lease, .. }) => {
                let reason = "not your lease".to_owned();
                self.send_down(session, CoordinatorMessage::Refused { lease, reason });
            }
            Some(other) => panic!("an agent that obeys was refused: {other}"),
        }
    }

    fn join(&mut self, session: u64, command: Command) {
        let Command::Join { facts, epoch, .. } = &command else { return };
        let (host, epoch) = (facts.host.clone(), *epoch);
        // A session that has ended on the agent's side may still deliver its Join; its end is delivered as well.
        let refusal = self.ask_coordinator(command);
        let answer = match refusal {
            None => {
                let Some(coordinator) = &mut self.coordinator else { return };
                coordinator.speakers.insert(session, (host.clone(), epoch));
                coordinator.current.insert(host, session);
                if !self.agents.iter().any(|agent| agent.session == Some(session)) {
                    self.bag.push(Packet { session, message: Message::Over });
                }
                CoordinatorMessage::Welcome { next_lease: coordinator.machine.next_lease() }
            }
            Some(Refusal::StaleAgent { known, .. }) => CoordinatorMessage::TurnedAway {
                reason: "stale".to_owned(),
                known_epoch: Some(known),
                is_lasting: false,
            },
            Some(refusal) => {
                self.turned_away.extend(match &refusal {
                    Refusal::AnotherMachine { .. } => Some("another machine of the same id"),
                    Refusal::SameMachine { .. } => Some("the same machine twice"),
                    Refusal::OldBoot { .. } => Some("a boot that was left behind"),
                    _ => None,
                });
                // An agent that ends is started again, by whoever cares for the host.
                CoordinatorMessage::TurnedAway {
                    reason: refusal.to_string(),
                    known_epoch: None,
                    is_lasting: false,
                }
            }
        };
        self.send_down(session, answer);
    }

    /// Whoever speaks without having joined has to connect again.
    fn end_session(&mut self, session: u64) {
        let reason = "not joined".to_owned();
        self.send_down(
            session,
            CoordinatorMessage::TurnedAway { reason, known_epoch: None, is_lasting: false },
        );
    }

    fn send_down(&mut self, session: u64, message: CoordinatorMessage) {
        self.bag.push(Packet { session, message: Message::Down(message) });
    }

    fn grant_wish(&mut self, wish: &Wish) {
        let request = |experiment: &ExperimentId| Request { experiment: *experiment, by: "user".to_owned() };
        let command = match wish {
            Wish::Submit(plan) => {
                let experiment = ExperimentId(Uuid::from_u128(0xE000 + *plan as u128));
                if self.coordinator.is_none() || self.submitted.contains_key(&experiment) {
                    return;
                }
                // Each plan is another user's: a host is quarantined only for what two of them see on it.
                let (by, plan) = (format!("user {plan}"), self.plans[*plan].clone());
                Command::Submit { experiment, plan, by, wait_for_hosts: true, request: None }
            }
            Wish::Pause(id) => Command::Pause(request(id)),
            Wish::Resume(id) => Command::Resume(request(id)),
            Wish::Cancel(id) => Command::Cancel(request(id)),
            Wish::Extend(id) => Command::Extend { request: request(id), more: 1 },
            Wish::Enough(id) => self.decision(request(id), false),
            Wish::Further(id) => self.decision(request(id), true),
            Wish::Approve(id, at) => Command::Approve { request: request(id), host: self.host_id(*at) },
            Wish::Drain(at) => Command::Drain(self.host_request(*at)),
            Wish::GiveBack(at) => {
                Command::Drain(HostRequest { by: PROVISIONER.to_owned(), ..self.host_request(*at) })
            }
            Wish::ResumeHost(at) => Command::ResumeHost(self.host_request(*at)),
            Wish::ResetHost(at) => {
                self.reset.insert(self.host_id(*at));
                Command::ResetHost(self.host_request(*at))
            }
            Wish::Quarantine(at) => {
                Command::Quarantine { request: self.host_request(*at), reason: "it is odd".to_owned() }
            }
        };
        match self.ask_coordinator(command) {
            None
            | Some(
                Refusal::NotActive(_)
                | Refusal::Cancelled(_)
                | Refusal::NotDeciding(_)
                | Refusal::Building(_)
                | Refusal::Bisecting(_)
                | Refusal::BeyondRule { .. }
                | Refusal::AnyClass(_)
                | Refusal::UnknownHost(_),
            ) => {}
            Some(other) => panic!("the wish {wish:?} was refused: {other}"),
        }
        if let Wish::Submit(plan) = wish {
            // A user waits until the submission is durable.
            self.sync();
            self.submitted.insert(ExperimentId(Uuid::from_u128(0xE000 + *plan as u128)), *plan);
        }
    }

    fn host_id(&self, at: usize) -> HostId {
        self.agents[at].facts.host.clone()
    }

    fn host_request(&self, at: usize) -> HostRequest {
        HostRequest { host: self.host_id(at), by: "user".to_owned() }
    }

    /// What a rule says of an experiment: that it has enough, or that it wants one more visit of each cell.
    fn decision(&self, request: Request, goes_on: bool) -> Command {
        let machine = self.coordinator.as_ref().map(|coordinator| &coordinator.machine);
        let active = machine.and_then(|machine| machine.experiment(request.experiment));
        let plan = active.map(Active::plan);
        let decision = match plan.filter(|_| goes_on) {
            Some(plan) if plan.experiment.bisection().is_some() => active.map_or(Decision::Enough, probes),
            Some(plan) => Decision::Extend(plan.draw_extension(&plan.singly(1), plan.visit())),
            None => Decision::Enough,
        };
        let from = plan.map_or(0, |plan| plan.runs());
        Command::Decide { request, from, decision, words: "as it was drawn".to_owned() }
    }

    /// Gives the coordinator a command; its events wait for the next sync, its effects for the same.
    fn ask_coordinator(&mut self, command: Command) -> Option<Refusal> {
        let now = self.now;
        let coordinator = self.coordinator.as_mut()?;
        match coordinator.machine.handle(now, command) {
            Ok(handled) => {
                self.note(handled);
                None
            }
            Err(refusal) => Some(refusal),
        }
    }

    fn tell_coordinator(&mut self, notice: Notice) {
        let now = self.now;
        let Some(coordinator) = &mut self.coordinator else { return };
        let handled = coordinator.machine.notice(now, notice);
        self.note(handled);
    }

    /// Keeps what came of it until the next sync.
    fn note(&mut self, handled: HandleOutcome) {
        let Some(coordinator) = &mut self.coordinator else { return };
        coordinator.is_unchecked |= !handled.events.is_empty();
        for event in &handled.events {
            note_use(&mut self.held, &mut self.gangs, self.passed, &event.change);
        }
        coordinator.unsynced.extend(handled.events.into_iter().filter(|event| event.change.is_kept()));
        coordinator.waiting_effects.extend(handled.effects);
    }

    fn sync(&mut self) {
        let Some(coordinator) = self.coordinator.as_mut().filter(|coordinator| !coordinator.stands) else {
            return;
        };
        self.durable.append(&mut coordinator.unsynced);
        let effects = std::mem::take(&mut coordinator.waiting_effects);
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        let Some(coordinator) = &self.coordinator else { return };
        let (host, message) = match effect {
            Effect::Grant { lease, plan } => {
                let order = WorkOrder::of(&plan, &lease);
                if let Some(cell) = WorkOrder::cell_of(&plan, &lease) {
                    let known = self.orders.entry((lease.experiment, cell)).or_insert_with(|| order.clone());
                    assert_eq!(*known, order, "the runs of a cell have one order");
                }
                (lease.host.clone(), CoordinatorMessage::Grant(Box::new(Grant::new(&lease, order))))
            }
            Effect::Dismiss { host } => (host, CoordinatorMessage::dismissed()),
            Effect::Acknowledge { host, lease } => (host, CoordinatorMessage::Acknowledged { lease }),
            Effect::Remind { host } => {
                let next_lease = coordinator.machine.next_lease();
                (host, CoordinatorMessage::Welcome { next_lease })
            }
            Effect::Begin { host, lease } => (host, CoordinatorMessage::Begin { lease }),
            Effect::End { host, lease } => (host, CoordinatorMessage::End { lease }),
            Effect::Reboot { host, reason } => (host, CoordinatorMessage::Reboot { reason }),
        };
        if let Some(session) = coordinator.current.get(&host).copied() {
            self.send_down(session, message);
        }
    }

    fn crash_coordinator(&mut self, kept: usize) {
        let Some(mut coordinator) = self.coordinator.take() else { return };
        coordinator.unsynced.truncate(kept);
        self.durable.append(&mut coordinator.unsynced);
        for at in 0..self.agents.len() {
            if self.agents[at].session.take().is_some() {
                self.tell_agent(at, Input::LinkDown);
            }
        }
        self.bag.clear();
    }

    fn start_coordinator(&mut self) {
        if self.coordinator.is_some() {
            return;
        }
        // By a checkpoint of some prefix, another one for each length.
        let cut = 2_654_435_761 % (self.durable.len() + 1);
        let machine = verdict::recovered(self.settings, &self.durable, cut);
        self.coordinator = Some(Coordinator {
            machine,
            is_unchecked: true,
            unsynced: Vec::new(),
            waiting_effects: Vec::new(),
            speakers: BTreeMap::new(),
            current: BTreeMap::new(),
            stands: false,
        });
        self.tell_coordinator(Notice::Start);
    }
}

/// Notes when an attempt began and ended, by the world's own clock.
fn note_use(
    held: &mut BTreeMap<LeaseEpoch, (Span, Option<Span>)>,
    gangs: &mut BTreeMap<LeaseEpoch, Vec<LeaseEpoch>>,
    now: Span,
    change: &Change,
) {
    let leases = change.granted();
    held.extend(leases.iter().map(|lease| (lease.epoch, (now, None))));
    if leases.len() > 1 {
        let gang: Vec<LeaseEpoch> = leases.iter().map(|lease| lease.epoch).collect();
        gangs.extend(gang.iter().map(|lease| (*lease, gang.clone())));
    }
    let ended = match change {
        // Together with all that are still live of its gang.
        Change::AttemptLost { lease, .. } => {
            gangs.get(lease).map_or(std::slice::from_ref(lease), Vec::as_slice)
        }
        Change::RunReported { lease, .. } | Change::PartEnded { lease, .. } => std::slice::from_ref(lease),
        _ => &[],
    };
    for lease in ended {
        held.entry(*lease).and_modify(|(_, ended)| _ = ended.get_or_insert(now));
    }
}

/// What a bisection wants: the builds of two more versions, and then a block of those that could be built, by turns.
fn probes(active: &Active) -> Decision {
    let plan = active.plan();
    let last = plan.experiment.versions.len() as u32 - 1;
    let between = (1..last).map(VersionIndex);
    let unknown: Vec<_> =
        between.clone().filter(|version| plan.builds_of(*version).is_empty()).take(2).collect();
    if !plan.is_building() && !unknown.is_empty() {
        return Decision::Extend(plan.builds_for(&unknown));
    }
    let is_made = |version: &VersionIndex| {
        let build = plan.builds_of(*version).first().map(|build| RunIndex(*build));
        build.is_some_and(|build| matches!(active.built().get(&build), Some(BuildResult::Made(_))))
    };
    let of_block = plan.experiment.bisection().map_or(0, |bisection| bisection.block as usize);
    let ends = [VersionIndex(0), VersionIndex(last)];
    let block: Vec<_> = ends.into_iter().chain(between.filter(is_made)).take(of_block).collect();
    match ends.iter().all(is_made) {
        true => Decision::Extend(plan.draw_blocks(&[block])),
        false => Decision::Enough,
    }
}

fn record(outcome: Outcome, marker: u64) -> Record {
    Record { started_unix_ns: marker, ..Record::bare(outcome) }
}

/// What an attempt made: another content for each, as a compiler may.
fn product(name: &str, lease: LeaseEpoch) -> Product {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&lease.0.to_le_bytes());
    let content = Content { blake3: ContentHash(hash), bytes: name.len() as u64, executable: true };
    Product { name: name.to_owned(), content }
}
