//! Several experiments on one pool, and a pool that changes under them: whose turn it is, what the pool has, and what waits
//! when hosts are gone for good.

use std::collections::BTreeMap;

use serde_json::Value;
use speedup_proto::{v1, v1::hosts_client::HostsClient};
use speedup_tests::{checker, checker::Row, checker::Verdict, pool::Pool, pool::eventually, pool::host_id};

use crate::SPEEDUP;

/// A plan of two versions whose runs end once the file `go` is there.
fn plan(pool: &Pool, name: &str, keys: &str, runs: u32, policy: &str) -> String {
    let gate = pool.path().join("go").display().to_string();
    format!(
        "[experiment]\nname = \"{name}\"\nseed = 5\n{keys}[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.gate]\nshell = \"until [ -e {gate} ]; do sleep 0.02; done\"\n[repetitions]\nruns = {runs}\n\
         [independence]\npolicy = \"{policy}\"\nhosts = \"any\"\n[limits]\nattempts = 10\n"
    )
}

fn open_gate(pool: &Pool) {
    std::fs::write(pool.path().join("go"), "").expect("a file");
}

/// The export of an experiment that has finished, which is as its plan says.
fn finish(pool: &Pool, plan: &str, experiment: &str) -> Verdict {
    pool.wait_for(experiment);
    let verdict = checker::check(plan, &pool.export_as("jsonl", experiment));
    verdict.assert_ok();
    verdict
}

/// The numbers of its leases, ascending: the order in which they were given.
fn leases(verdict: &Verdict) -> Vec<u64> {
    let mut leases: Vec<u64> = verdict.rows.iter().filter_map(|row| row.lease_epoch).collect();
    leases.sort_unstable();
    leases
}

/// How many live leases each experiment has.
fn live(pool: &Pool) -> BTreeMap<String, usize> {
    let mut live = BTreeMap::new();
    for host in pool.json(&["hosts", "list"]).expect("a list").as_array().expect("hosts") {
        if let Some(experiment) = host["lease"]["experiment"].as_str() {
            *live.entry(experiment.to_owned()).or_default() += 1;
        }
    }
    live
}

#[test]
fn equals_take_turns_and_a_higher_priority_goes_before_both() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let [one, two] = ["one", "two"].map(|name| plan(&pool, name, "", 4, "any"));
    let [first, second] = [&one, &two].map(|text| pool.submit(text, &["--wait-for-hosts"]));
    for _ in 0..4 {
        pool.add_agent();
    }
    eventually("every host has a run", || (live(&pool).values().sum::<usize>() == 4).then_some(()));
    assert_eq!(live(&pool), BTreeMap::from([(first.clone(), 2), (second.clone(), 2)]));

    let urgent = plan(&pool, "urgent", "priority = 7\n", 4, "any");
    let third = pool.submit(&urgent, &[]);
    open_gate(&pool);
    let urgent = leases(&finish(&pool, &urgent, &third));
    let [first, second] =
        [(&one, &first), (&two, &second)].map(|(text, experiment)| leases(&finish(&pool, text, experiment)));
    assert_eq!((first.len(), second.len(), urgent.len()), (8, 8, 8));
    // The older of two equals is first, and they alternate: nothing had ended before the gate was opened.
    assert_eq!((&first[..2], &second[..2]), (&[0, 2][..], &[1, 3][..]), "{first:?} {second:?}");
    let (others, last) = (first[2].min(second[2]), urgent[7]);
    assert!(last < others, "all that is urgent goes before the rest: {urgent:?} {first:?} {second:?}");
}

async fn summary(pool: &Pool) -> Vec<v1::HostClassSummary> {
    let mut client = HostsClient::new(pool.channel(None).await);
    client.summary(v1::HostsSummaryRequest {}).await.expect("an answer").into_inner().classes
}

fn class(pool: &Pool, host: usize) -> String {
    let shown = pool.json(&["hosts", "show", &host_id(host)]).expect("a host");
    shown["class"].as_str().expect("a class").to_owned()
}

#[tokio::test]
async fn the_summary_counts_what_each_class_has() {
    let mut pool = Pool::without_agents(SPEEDUP);
    assert_eq!(summary(&pool).await, []);
    let text = plan(&pool, "summary", "", 1, "any");
    pool.add_agent();
    pool.add_agent_with(&["--reboot-command", "true"]);
    pool.add_agent_with(&["--allocation-id", "job-1"]);
    let other = pool.path().join("other");
    std::fs::create_dir_all(other.join("sys")).expect("a directory");
    pool.add_agent_on(&other);
    pool.wait_for_hosts(4);
    assert!(pool.speedup(&["hosts", "drain", &host_id(3)]).status.success());
    // Both runs are under way on two of the three that serve.
    let experiment = pool.submit(&text, &[]);
    eventually("two hosts have a run", || (live(&pool).values().sum::<usize>() == 2).then_some(()));
    let classes = summary(&pool).await;
    let [usual, drained] = match &classes[..] {
        [one, two] if one.available == 3 => [one, two],
        [one, two] => [two, one],
        other => panic!("two classes: {other:?}"),
    };
    let counted = |name: String| v1::HostClassSummary { class: name, ..Default::default() };
    let expected = v1::HostClassSummary {
        available: 3,
        can_reboot: 1,
        allocated: 1,
        busy: 2,
        used: 2,
        ..counted(class(&pool, 0))
    };
    assert_eq!(*usual, expected);
    assert_eq!(*drained, v1::HostClassSummary { out_of_service: 1, ..counted(class(&pool, 3)) });
    open_gate(&pool);
    finish(&pool, &text, &experiment);
    pool.stop_agent(1);
    eventually("the host is gone", || {
        let listed = pool.json(&["hosts", "list"])?;
        let gone = |host: &Value| host["host"] == host_id(1) && host["connected"] == false;
        listed.as_array()?.iter().any(gone).then_some(())
    });
    let without =
        summary(&pool).await.into_iter().find(|one| one.class == class(&pool, 0)).expect("the class");
    assert_eq!((without.available, without.can_reboot, without.busy), (2, 0, 0));
}

#[test]
fn a_plan_whose_hosts_are_gone_for_good_waits_says_why_and_goes_on_with_others() {
    let mut pool = Pool::start(SPEEDUP, 4);
    let text = plan(&pool, "shrinking", "", 2, "distinct");
    let experiment = pool.submit(&text, &[]);
    eventually("every host has a run", || (live(&pool).values().sum::<usize>() == 4).then_some(()));
    pool.kill_agent(0);
    pool.kill_agent(1);
    open_gate(&pool);
    // Every host that is left has served, and those that are gone are given up.
    let explained = |run: u32| pool.ok(&["explain", &experiment, &run.to_string()]);
    let waiting = eventually("two runs wait for hosts", || {
        let said: Vec<String> = (0..4).map(explained).collect();
        let waiting: Vec<String> =
            said.into_iter().filter(|words| words.contains("is waiting for a host")).collect();
        let stuck = |words: &String| words.contains("No host of the pool");
        (waiting.len() == 2 && waiting.iter().all(stuck)).then_some(waiting)
    });
    for words in &waiting {
        assert!(words.contains("lost an attempt"), "{words}");
        assert!(words.contains("2  not fresh") && words.contains("2  not connected"), "{words}");
        assert!(words.contains("`speedup agent start`"), "what to do is told: {words}");
    }
    assert!(!pool.is_finished(&experiment));
    for _ in 0..2 {
        pool.add_agent();
    }
    let verdict = finish(&pool, &text, &experiment);
    assert_eq!(verdict.counting(), 4);
    let lost: Vec<&str> = verdict.lost().map(Row::host).collect();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost.iter().all(|host| [host_id(0), host_id(1)].contains(&(*host).to_owned())), "{lost:?}");
}
