//! What was started is ended, and what was copied is removed.

use serde_json::Value;
use speedup_tests::cluster::{Cut, Gate, Host, Plan, SshSite};
use speedup_tests::pool::eventually;

use crate::site;

/// What `speedup hosts ssh remove` says became of each host.
fn removed(on: &SshSite, words: &[&str]) -> (Option<i32>, Value) {
    let output = on.site.pool.speedup(&[&["hosts", "ssh", "remove", "--format", "json"], words].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), answer)
}

/// Agents end, and nothing is left of them, neither process nor file. A host that is not reached stays until it is, or is forgotten.
#[test]
fn nothing_is_left_on_a_host() {
    let on = site("any", 3);
    on.add(&[]);
    let [first, second, third] = &on.site.hosts[..] else { panic!("three hosts") };
    assert!(on.is_anything_left(first), "an agent is there");
    let plan = Plan { benchmarks: 1, runs: 3, timeout: "1m", gate: Gate::Open };
    on.site.finish(&on.site.submit(plan));
    let (code, answer) = removed(&on, &[&first.address()]);
    assert_eq!((code, &answer[0]["outcome"]), (Some(0), &"removed".into()), "{answer}");
    assert!(!on.is_anything_left(first));
    on.wait_until_serving(second, 1);

    second.cut(Cut::Both);
    let (code, answer) = removed(&on, &["--all"]);
    assert_eq!((code, &answer[0]["outcome"]), (Some(4), &"failed".into()), "{answer}");
    assert_eq!(answer[1]["outcome"], "removed", "{answer}");
    assert!(!on.is_anything_left(third));
    let (code, answer) = removed(&on, &["--forget", &second.address()]);
    assert_eq!((code, &answer[0]["outcome"]), (Some(0), &"forgotten".into()), "{answer}");
    assert_eq!(on.site.pool.json(&["hosts", "ssh", "show"]), Some(serde_json::json!([])));
    let events = on.site.pool.json(&["events", "--limit", "0"]).expect("events");
    let gone = events.as_array().into_iter().flatten().filter(|event| event["what"] == "host removed by ssh");
    let gone: Vec<[&Value; 2]> = gone.map(|event| [&event["host"], &event["words"]]).collect();
    let ended = Value::from("its agent ended, and nothing is left");
    let forgotten = Value::from("it was not reached, and is forgotten");
    let [first, second, third] = [first, second, third].map(|host| Value::from(host.address()));
    assert_eq!(gone, [[&second, &forgotten], [&third, &ended], [&first, &ended]], "the newest first");
    assert!(events.as_array().into_iter().flatten().all(|event| event["by"] != ""), "{events}");
}

/// An agent has a report that the coordinator does not have: its state stays when its host is removed, and the report is delivered when
/// it is added again.
#[test]
fn state_with_reports_that_were_not_delivered_is_kept() {
    let on = site("distinct", 3);
    on.add(&[]);
    let experiment = on.site.submit(Plan { benchmarks: 1, runs: 1, timeout: "1m", gate: Gate::Closed });
    let host = eventually("a run begins", || on.site.hosts.iter().find(|host| on.site.has_begun(host)));
    // The coordinator is not reached any more, while the host is.
    let port = on.site.pool.url().rsplit(':').next().expect("a port").to_owned();
    host.enter(&format!(
        "nft 'add table inet test; add chain inet test out {{ type filter hook output priority 0; }}; \
         add rule inet test out tcp dport {port} drop'"
    ));
    on.site.open_gate_for(host);
    on.site.wait_for_end(host);
    let outbox = format!("{}/ssh/speedup-*/{}/state", Host::disk().display(), host.address());
    eventually("its attempt is given up", || (on.site.lost() > 0).then_some(()));
    let (code, answer) = removed(&on, &[&host.address()]);
    assert_eq!((code, &answer[0]["outcome"]), (Some(0), &"state_kept".into()), "{answer}");
    assert!(
        answer[0]["words"].as_str().is_some_and(|words| words.contains("not acknowledged: 1")),
        "{answer}"
    );
    assert!(host.succeeds(&format!("[ -d {outbox} ]")), "its state is there");
    assert!(
        !host.succeeds("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'agent [s]tart'"),
        "its agent has ended"
    );

    host.enter("nft delete table inet test");
    on.site.open_gate();
    on.add(&[]);
    let verdict = on.site.finish(&experiment);
    assert_eq!(verdict.lost().count(), 1, "{verdict:?}");
    assert_eq!(verdict.late().count(), 1, "its report came late: {verdict:?}");
}
