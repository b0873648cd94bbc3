//! That no plan takes a host from others, and that no host takes a plan's attempts.

use super::*;
use crate::machine::event::Change;
use crate::machine::trial::{End, Trial};
use crate::machine::{ABANDONED_IN_A_ROW, Explanation, WaitingFor};
use crate::run::Obstacle;
use crate::value::id::RunIndex;
use crate::value::time::Span;

/// Runs of two hosts each: the line ends the benchmark's table.
const GANGS: &str = "hosts = 2\n[repetitions]\nruns = 30\n[independence]\npolicy = \"any\"\n";
const RUNS: &str = "[repetitions]\nruns = 30\n[independence]\npolicy = \"any\"\n";

fn not(obstacle: Obstacle) -> impl FnMut(usize, &Lease) -> End {
    move |_, _| End::Not(obstacle)
}

#[test]
fn a_plan_that_no_host_can_execute_is_paused_after_one_attempt_a_host() {
    for obstacle in [Obstacle::Plan, Obstacle::Owner] {
        let mut trial = Trial::new(9, false);
        let experiment = trial.submit("ada", RUNS);
        trial.go_on(not(obstacle));
        let reason = trial.paused(experiment).expect("it is paused");
        for part in ["9 attempts in a row", "on 9 hosts", "words"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
        let tally = trial.active(experiment).expect("active").tally();
        assert_eq!((tally.lost_attempts, tally.abandoned, tally.waiting), (9, 0, 60), "no run is spent");
        assert_eq!(trial.serving(), 9, "all hosts serve others");
        // Mended, it goes on where it was.
        trial.resume(experiment);
        trial.go_on(|_, _| End::Measured);
        assert_eq!(trial.active(experiment), None, "it is finished");
    }
}

/// Three hosts: two gangs of two have one in common, so that no other gang is left after the first has turned it down.
#[test]
fn a_plan_that_no_gang_can_execute_is_paused_as_one_that_no_host_can_execute() {
    for hosts in [6, 4, 3, 2] {
        let mut trial = Trial::new(hosts, false);
        let experiment = trial.submit("ada", GANGS);
        trial.go_on(not(Obstacle::Plan));
        assert!(trial.paused(experiment).is_some(), "{hosts} hosts");
        let tally = trial.active(experiment).expect("active").tally();
        assert!((3..=4).contains(&tally.lost_attempts), "{hosts} hosts: {tally:?}");
        // As with one host alone: where no other gang can take it, all three attempts are those of one run.
        assert_eq!(tally.abandoned > 0, hosts < 4, "{hosts} hosts: {tally:?}");
        assert_eq!(trial.serving(), hosts as usize, "all hosts serve others");
    }
}

/// Runs of one host and of four: what one size notes is no fraction of the other.
#[test]
fn attempts_of_gangs_of_different_sizes_count_alike() {
    let mut trial = Trial::new(4, false);
    let experiment =
        trial.submit("ada", "hosts = [1, 4]\n[repetitions]\nruns = 30\n[independence]\npolicy = \"any\"\n");
    trial.go_on(not(Obstacle::Plan));
    let reason = trial.paused(experiment).expect("it is paused");
    let tally = trial.active(experiment).expect("active").tally();
    assert!(tally.lost_attempts >= LOST_IN_A_ROW, "{tally:?}");
    assert!(reason.contains(&format!("{} attempts in a row", tally.lost_attempts)), "{reason}: {tally:?}");
}

/// The second host never starts a program itself.
#[test]
fn an_executed_run_clears_each_host_of_its_gang() {
    let mut trial = Trial::new(2, false);
    let experiment = trial.submit("ada", GANGS);
    for _ in 0..2 * LOST_IN_A_ROW {
        trial.end(1, End::Not(Obstacle::Host));
        let lost = trial.active(experiment).expect("active").kept.troubles[&HostNumber(1)].lost;
        assert_eq!(lost, 1, "one was executed in between");
        trial.end(0, End::Measured);
        trial.end(1, End::Measured);
        assert_eq!(trial.active(experiment).expect("active").kept.troubles.get(&HostNumber(1)), None);
    }
    assert_eq!(trial.serving(), 2);
}

#[test]
fn one_host_alone_has_three_attempts() {
    let mut trial = Trial::new(1, false);
    let experiment = trial.submit("ada", RUNS);
    trial.go_on(not(Obstacle::Plan));
    let reason = trial.paused(experiment).expect("it is paused");
    assert!(reason.contains("3 attempts in a row") && reason.contains("on 1 host,"), "{reason}");
}

#[test]
fn a_host_that_turns_a_plan_down_waits_for_the_others_and_is_then_given_up() {
    let mut trial = Trial::new(3, false);
    let experiment = trial.submit("ada", RUNS);
    trial.end(0, End::Not(Obstacle::Plan));
    assert_eq!(trial.lease(0), None, "it waits while two others have its runs");
    let waits = |trial: &Trial| match trial.machine.explain(experiment, RunIndex(0)) {
        Some(Explanation::Waiting { waiting_for: WaitingFor::Hosts(counts), .. }) => {
            (counts.held_back, counts.given_up)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(waits(&trial), (1, 0));
    for lost in 2..=3 {
        trial.end(1, End::Measured);
        assert!(trial.lease(0).is_some(), "another host has executed it");
        trial.end(0, End::Not(Obstacle::Plan));
        assert_eq!(trial.active(experiment).expect("active").kept.troubles[&HostNumber(0)].lost, lost);
    }
    trial.end(2, End::Measured);
    assert_eq!(trial.lease(0), None, "and is given up");
    trial.go_on(|host, _| if host == 0 { End::Not(Obstacle::Plan) } else { End::Measured });
    assert_eq!(trial.active(experiment), None, "the others have measured all");
    assert_eq!(trial.serving(), 3);
    assert_eq!(trial.ended.iter().filter(|(_, end)| *end != End::Measured).count(), 3);
}

#[test]
fn no_user_takes_a_host_from_the_pool_by_himself() {
    for end in [End::Not(Obstacle::Host), End::Restart] {
        let mut trial = Trial::new(4, false);
        for _ in 0..3 {
            let experiment = trial.submit("mallory", RUNS);
            trial.go_on(|_, _| end);
            let tally = trial.active(experiment).expect("paused").tally();
            assert!(trial.paused(experiment).is_some(), "{tally:?}");
            // Three attempts on each host but the last, which has it to itself until enough runs are abandoned.
            let most = 3 * LOST_IN_A_ROW + 3 * ABANDONED_IN_A_ROW + 3;
            assert!(tally.lost_attempts <= most, "{tally:?}");
        }
        assert_eq!(trial.serving(), 4, "whatever three plans of one user did");
    }
}

#[test]
fn a_host_that_two_users_give_up_is_quarantined_and_one_that_executes_is_not() {
    let broken = |host, _: &Lease| if host == 0 { End::Not(Obstacle::Host) } else { End::Measured };
    let mut trial = Trial::new(3, false);
    let first = trial.submit("ada", RUNS);
    trial.go_on(broken);
    assert_eq!((trial.active(first), trial.serving()), (None, 3), "the others have measured all");
    // A plan of a third user that it executes clears it.
    let between = trial.submit("cleo", RUNS);
    trial.go_on(|_, _| End::Measured);
    assert_eq!(trial.active(between), None);
    let second = trial.submit("bob", RUNS);
    trial.go_on(broken);
    assert_eq!((trial.active(second), trial.serving()), (None, 3));
    let third = trial.submit("ada", RUNS);
    let mut quarantined = Vec::new();
    for _ in 0..200 {
        for host in 0..3 {
            let end = broken(
                host,
                &match trial.lease(host) {
                    Some(lease) => lease,
                    None => continue,
                },
            );
            for change in trial.end(host, end) {
                if let Change::HostQuarantined { host, reason, .. } = change {
                    quarantined.push((host, reason));
                }
            }
        }
    }
    assert_eq!((trial.active(third), trial.serving()), (None, 2));
    let [(host, reason)] = quarantined.as_slice() else { panic!("{quarantined:?}") };
    assert_eq!(host.as_str(), "host-0");
    assert!(reason.contains("two users") && reason.contains("3 attempts in a row"), "{reason}");
}

#[test]
fn a_host_is_had_back_by_whoever_resumes_it_or_the_experiment() {
    let mut trial = Trial::new(2, false);
    let experiment = trial.submit("ada", RUNS);
    for _ in 0..3 {
        trial.end(0, End::Not(Obstacle::Host));
    }
    assert_eq!(trial.lease(0), None, "given up");
    assert_eq!(trial.resume_host(0).events.len(), 2, "it is resumed, and is given a run");
    assert!(trial.lease(0).is_some());
    assert!(trial.resume_host(1).events.is_empty(), "nothing was wrong with that one");
    for _ in 0..3 {
        trial.end(0, End::Not(Obstacle::Host));
    }
    assert_eq!(trial.lease(0), None);
    let request = crate::machine::Request { experiment, by: "ada".to_owned() };
    trial.handle(crate::machine::Command::Pause(request));
    trial.resume(experiment);
    assert!(trial.lease(0).is_some());
}

#[test]
fn a_second_user_counts_once_both_have_given_the_host_up() {
    let pause = |trial: &mut Trial, experiment| {
        let request = crate::machine::Request { experiment, by: "user".to_owned() };
        trial.handle(crate::machine::Command::Pause(request));
    };
    for (firsts, seconds, serving) in [(1, 3, 3), (2, 3, 3), (3, 1, 3), (3, 2, 3), (3, 3, 2)] {
        let mut trial = Trial::new(3, false);
        let first = trial.submit("ada", RUNS);
        (0..firsts).for_each(|_| drop(trial.end(0, End::Not(Obstacle::Host))));
        pause(&mut trial, first);
        trial.submit("bob", RUNS);
        (0..seconds).for_each(|_| drop(trial.end(0, End::Not(Obstacle::Host))));
        assert_eq!(trial.serving(), serving, "{firsts} attempts lost by one, {seconds} by the other");
    }
}

#[test]
fn a_plan_is_paused_once_no_live_attempt_can_speak_for_it() {
    let mut trial = Trial::new(3, false);
    let experiment = trial.submit("ada", RUNS);
    let others = [1, 2].map(|host| trial.lease(host).expect("a run"));
    for lost in 1..=4 {
        trial.end(0, End::Not(Obstacle::Plan));
        assert_eq!(trial.paused(experiment), None, "{lost} are lost, and {} live", others.len());
    }
    trial.end(1, End::Not(Obstacle::Plan));
    assert_eq!(trial.paused(experiment), None, "one lives");
    trial.end(2, End::Not(Obstacle::Plan));
    let reason = trial.paused(experiment).expect("it is paused");
    assert!(reason.contains("3 attempts in a row") && reason.contains("on 3 hosts,"), "{reason}");
}

#[test]
fn what_the_hosts_did_says_nothing_of_the_plan() {
    let mut trial = Trial::new(3, false);
    let experiment = trial.submit("ada", RUNS);
    trial.end(1, End::Not(Obstacle::Host));
    trial.end(2, End::Not(Obstacle::Host));
    (0..2).for_each(|_| drop(trial.end(0, End::Not(Obstacle::Plan))));
    assert_eq!(trial.paused(experiment), None, "one host turned it down, and two could execute it");
    assert!(trial.lease(1).is_some(), "one lost attempt of its own holds no host back");
}

#[test]
fn a_lone_host_is_not_quarantined() {
    let mut trial = Trial::new(1, false);
    for user in ["ada", "bob", "cleo"] {
        trial.submit(user, RUNS);
        trial.go_on(not(Obstacle::Host));
        assert_eq!(trial.serving(), 1, "{user} has nothing else");
    }
}

#[test]
fn hosts_that_turned_a_plan_down_do_not_wait_for_each_other() {
    let mut trial = Trial::new(2, false);
    trial.submit("ada", RUNS);
    trial.end(0, End::Not(Obstacle::Plan));
    assert_eq!(trial.lease(0), None, "the other may execute it");
    trial.end(1, End::Not(Obstacle::Plan));
    assert!(trial.lease(0).is_some() && trial.lease(1).is_some(), "nobody else could");
}

#[test]
fn a_host_that_was_given_up_for_a_plans_sake_is_had_back_as_well() {
    let mut trial = Trial::new(2, false);
    trial.submit("ada", RUNS);
    for _ in 0..3 {
        trial.end(0, End::Not(Obstacle::Plan));
        trial.end(1, End::Measured);
    }
    assert_eq!(trial.lease(0), None, "given up");
    trial.resume_host(0);
    assert!(trial.lease(0).is_some());
}

#[test]
fn who_is_blamed_and_who_is_held_back_is_counted_by_host() {
    let mut trial = Trial::new(3, false);
    let experiment = trial.submit("ada", RUNS);
    let mut active = trial.active(experiment).expect("active").clone();
    let lost = |obstacle| LossReason::NotExecuted { reason: "words".to_owned(), obstacle };
    let [first, second] = [HostNumber(0), HostNumber(1)];
    let at = Timestamp(5);
    assert!(!active.executed_on(first), "nobody was in trouble");
    let blamed = [(); 3].map(|()| active.lost_on(at, first, &lost(Obstacle::Host)));
    assert_eq!(blamed, [false, false, true]);
    assert_eq!(active.turned_down_by().count(), 0, "the host is to blame, and holds nobody back");
    assert!(!active.executed_on(second), "that is nothing to a host that was not in trouble");
    assert!(!active.lost_on(at, second, &lost(Obstacle::Plan)));
    assert_eq!(active.turned_down_by().collect::<Vec<_>>(), [second]);
    assert!(active.executed_on(first), "it was in trouble, and the other was held back");
    assert_eq!(active.turned_down_by().count(), 0);
    (active.tally.leased, active.tally.running) = (2, 1);
    assert_eq!(active.live(), 3);
}

#[test]
fn a_host_that_is_drained_may_still_speak_for_a_plan() {
    let mut trial = Trial::new(4, false);
    let experiment = trial.submit("ada", RUNS);
    let host = trial.lease(3).expect("a run").host;
    let request = crate::machine::HostRequest { host, by: "admin".to_owned() };
    trial.handle(crate::machine::Command::Drain(request));
    for host in 0..3 {
        trial.end(host, End::Not(Obstacle::Plan));
        assert_eq!(trial.paused(experiment), None, "the drained host has not turned it down");
    }
    trial.end(3, End::Not(Obstacle::Plan));
    let reason = trial.paused(experiment).expect("it is paused");
    assert!(reason.contains("4 attempts in a row") && reason.contains("on 4 hosts,"), "{reason}");
}

#[test]
fn a_host_that_lost_an_attempt_of_its_own_may_still_execute_the_plan() {
    let mut trial = Trial::new(2, false);
    let experiment = trial.submit("ada", RUNS);
    let other = trial.submit("bob", RUNS);
    trial.end(1, End::Not(Obstacle::Host));
    assert_eq!(trial.lease(1).map(|lease| lease.experiment), Some(other), "it is busy with another plan");
    for lost in 1..=LOST_IN_A_ROW {
        assert_eq!(trial.lease(0).map(|lease| lease.experiment), Some(experiment));
        trial.end(0, End::Not(Obstacle::Plan));
        assert_eq!(trial.paused(experiment), None, "{lost} are lost, and one host has not turned it down");
    }
    trial.end(1, End::Measured);
    assert_eq!(trial.lease(1).map(|lease| lease.experiment), Some(experiment));
    trial.end(1, End::Not(Obstacle::Plan));
    let reason = trial.paused(experiment).expect("it is paused");
    assert!(reason.contains("4 attempts in a row") && reason.contains("on 2 hosts,"), "{reason}");
}

#[test]
fn a_host_that_is_given_up_is_tried_again_after_a_time_that_doubles() {
    let mut trial = Trial::new(2, false);
    let experiment = trial.submit("ada", "[repetitions]\nruns = 300\n[independence]\npolicy = \"any\"\n");
    (0..3).for_each(|_| drop(trial.end(0, End::Not(Obstacle::Host))));
    let id = trial.machine.hosts()[0].facts.host.clone();
    for minutes in [10, 20, 40] {
        assert_eq!(trial.lease(0), None, "{minutes}");
        let left_out = trial.machine.left_out(trial.now, &id);
        assert_eq!(left_out[0].0, experiment);
        assert!(left_out[0].1.words.ends_with("words"), "{left_out:?}");
        trial.wait(Span::from_secs(minutes * 60 - 1));
        assert_eq!(trial.lease(0), None, "{minutes}");
        trial.wait(Span::from_secs(1));
        assert!(trial.lease(0).is_some(), "{minutes}: it is tried once");
        trial.end(0, End::Not(Obstacle::Host));
    }
    trial.wait(Span::from_secs(80 * 60));
    trial.end(0, End::Measured);
    assert!(
        trial.lease(0).is_some() && trial.machine.left_out(trial.now, &id).is_empty(),
        "it is well again"
    );
}
