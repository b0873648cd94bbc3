//! The checker is fed good exports and doctored ones: it has to be content with the first and to name the broken rule of
//! the second.

use serde_json::{Value, json};

use super::{Rule, check};

/// Two benchmarks in two versions, twice: eight runs.
fn plan(policy: &str, scope: &str) -> String {
    format!(
        "[experiment]\nname = \"checked\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.b1]\ncommand = [\"true\"]\n[benchmarks.b2]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n\
         [independence]\npolicy = \"{policy}\"\nscope = \"{scope}\"\n\
         rest = {{ idle = \"3000ns\" }}\n[limits]\nattempts = 3\n"
    )
}

/// The row of an attempt that measured its run.
fn measured(run: u64, host: u64, lease: u64) -> Value {
    let benchmark = ["b1", "b2"][usize::from(run >= 4)];
    let version = ["old", "new"][(run % 2) as usize];
    json!({
        "experiment": "e", "benchmark": benchmark, "version": version, "run": run, "repetition": 1 + run % 4 / 2,
        "run_state": "measured", "counts": true, "why_not": null, "attempt": 1, "outcome": "measured", "loss": null,
        "after": null, "host": format!("h{host}"), "boot": format!("h{host}-boot-{lease}"),
        "allocation": format!("job-{lease}"), "agent_epoch": 100 + lease, "lease_epoch": lease,
        "granted_ns": 1000 * lease, "started_ns": 1000 * lease + 1, "ended_ns": 1000 * lease + 900,
        "served_in_scope": 0, "served_in_all": lease,
        "idle_ns": null, "boot_before": null, "allocation_before": null, "previous_experiment": "e", "previous_run": null,
    })
}

fn set(row: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    row.as_object_mut().expect("a row is an object").extend(fields);
}

/// An export in which nothing is wrong: run 0 was lost by host 0, measured by host 1, and reported late by host 0 after all.
/// Each host serves each benchmark once at most.
fn good() -> Vec<Value> {
    let [mut lost, mut late] = [measured(0, 0, 0), measured(0, 0, 0)];
    set(
        &mut lost,
        json!({
            "run_state": null, "counts": false, "why_not": "lost", "outcome": "lost", "loss": "host_lost",
            "after": "again", "previous_experiment": null,
        }),
    );
    set(
        &mut late,
        json!({"run_state": null, "counts": false, "why_not": "superseded", "previous_experiment": null}),
    );
    let mut rows = vec![lost, late];
    for run in 0..8 {
        let mut row = measured(run, 1 + run % 4, 1 + run);
        let before = (run >= 4).then(|| run - 4);
        set(&mut row, json!({"previous_run": before, "previous_experiment": before.map(|_| "e")}));
        set(&mut row, json!({"idle_ns": before.map(|_| 3_100)}));
        rows.push(row);
    }
    set(&mut rows[2], json!({"attempt": 2}));
    rows
}

/// The place of a run's measured row in [`good`].
const fn at(run: usize) -> usize {
    2 + run
}

fn broken(policy: &str, scope: &str, rows: &[Value]) -> Vec<Rule> {
    let export: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let mut rules: Vec<Rule> =
        check(&plan(policy, scope), &export).complaints.into_iter().map(|complaint| complaint.rule).collect();
    rules.dedup();
    rules
}

/// The rules that a doctored export breaks under policy `distinct`.
fn doctored(doctor: impl FnOnce(&mut Vec<Value>)) -> Vec<Rule> {
    let mut rows = good();
    doctor(&mut rows);
    broken("distinct", "benchmark", &rows)
}

#[test]
fn a_good_export_is_good_under_each_policy_that_it_keeps() {
    for policy in ["distinct", "rebooted", "reallocated", "rested", "any"] {
        assert_eq!(broken(policy, "benchmark", &good()), [], "{policy}");
        assert_eq!(broken(policy, "cell", &good()), [], "{policy}");
    }
    assert_eq!(broken("distinct", "experiment", &good()), [Rule::Freshness], "a host serves both benchmarks");
    let verdict =
        check(&plan("any", "cell"), &good().iter().map(|row| format!("{row}\n")).collect::<String>());
    assert_eq!((verdict.counting(), verdict.lost().count(), verdict.late().count()), (8, 1, 1));
}

#[test]
fn hosts_that_serve_together_twice_are_seen() {
    let of_sets = |change: fn(u64, &mut Value)| {
        let mut rows = good();
        for row in &mut rows {
            let run = row["run"].as_u64().expect("a run");
            let other = 10 + run;
            set(
                row,
                json!({"set_served": false, "gang": format!("{} h{other}", row["host"].as_str().expect("a host"))}),
            );
            change(run, row);
        }
        broken("distinct_sets", "benchmark", &rows)
    };
    assert_eq!(of_sets(|_, _| {}), []);
    let again = |run, row: &mut Value| {
        // Runs 2 and 3 are of one benchmark.
        if run == 3 {
            set(row, json!({"gang": "h12 h3"}));
        }
    };
    assert_eq!(of_sets(again), [Rule::Freshness]);
    let said = |run, row: &mut Value| set(row, json!({"set_served": run == 5}));
    assert_eq!(of_sets(said), [Rule::Freshness]);
}

#[test]
fn a_run_that_is_missing_open_or_settled_twice_is_seen() {
    assert_eq!(doctored(|rows| drop(rows.remove(at(5)))), [Rule::Settled]);
    let again = |rows: &mut Vec<Value>| {
        let mut twin = measured(5, 9, 20);
        set(&mut twin, json!({"attempt": 2}));
        rows.push(twin);
    };
    assert_eq!(doctored(again), [Rule::Settled, Rule::Attempts]);
    let open = |rows: &mut Vec<Value>| {
        set(
            &mut rows[at(5)],
            json!({"run_state": "open", "counts": false, "why_not": "not_executed_yet", "attempt": null}),
        );
    };
    assert_eq!(doctored(open), [Rule::Settled]);
    assert_eq!(doctored(Vec::clear), [Rule::Settled], "an export without rows");
}

#[test]
fn a_row_that_counts_wrongly_is_seen() {
    assert_eq!(doctored(|rows| set(&mut rows[0], json!({"counts": true}))), [Rule::Counts]);
    assert_eq!(doctored(|rows| set(&mut rows[1], json!({"counts": true}))), [Rule::Counts], "a late report");
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"counts": false}))), [Rule::Counts]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"run_state": "failed"}))), [Rule::Counts]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"why_not": "failed"}))), [Rule::Counts]);
}

#[test]
fn attempts_that_do_not_follow_from_each_other_are_seen() {
    assert_eq!(doctored(|rows| set(&mut rows[at(0)], json!({"attempt": 3}))), [Rule::Attempts], "a gap");
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"attempt": 2}))), [Rule::Attempts], "no first");
    assert_eq!(
        doctored(|rows| drop(rows.remove(0))),
        [Rule::Attempts, Rule::Leases],
        "the first is not told"
    );
    assert_eq!(doctored(|rows| set(&mut rows[0], json!({"after": "abandoned"}))), [Rule::Attempts]);
    let unfinished = |rows: &mut Vec<Value>| {
        set(&mut rows[at(3)], json!({"run_state": null, "counts": false, "why_not": "lost"}));
    };
    assert_eq!(doctored(unfinished), [Rule::Settled, Rule::Attempts]);
    let many = |rows: &mut Vec<Value>| {
        for (attempt, host) in [(2, 11), (3, 12)] {
            let mut lost = rows[0].clone();
            set(&mut lost, measured(0, host, 20 + attempt));
            let as_lost = json!({
                "attempt": attempt, "run_state": null, "counts": false, "why_not": "lost", "outcome": "lost",
                "loss": "host_lost", "after": "again",
            });
            set(&mut lost, as_lost);
            rows.push(lost);
        }
        set(
            &mut rows[at(0)],
            json!({"attempt": 4, "lease_epoch": 30, "granted_ns": 90_000, "started_ns": 90_001}),
        );
        set(&mut rows[at(0)], json!({"ended_ns": 90_002, "host": "h13"}));
        set(&mut rows[at(4)], json!({"previous_experiment": null}));
    };
    assert_eq!(doctored(many), [Rule::Attempts], "more than the plan allows");
}

#[test]
fn a_lease_that_is_given_twice_or_late_without_a_loss_is_seen() {
    let twice = |rows: &mut Vec<Value>| set(&mut rows[at(1)], json!({"lease_epoch": 3}));
    assert_eq!(doctored(twice), [Rule::Leases]);
    assert_eq!(doctored(|rows| set(&mut rows[at(1)], json!({"lease_epoch": null}))), [Rule::Leases]);
    assert_eq!(
        doctored(|rows| set(&mut rows[1], json!({"lease_epoch": 77}))),
        [Rule::Leases],
        "late for none"
    );
    assert_eq!(doctored(|rows| set(&mut rows[1], json!({"host": "h9"}))), [Rule::Leases], "late by another");
    let again = |rows: &mut Vec<Value>| rows.push(rows[1].clone());
    assert_eq!(doctored(again), [Rule::Leases], "late twice");
    let of_measured = |rows: &mut Vec<Value>| {
        let mut late = rows[at(3)].clone();
        set(&mut late, json!({"run_state": null, "counts": false, "why_not": "superseded"}));
        rows.push(late);
    };
    assert_eq!(doctored(of_measured), [Rule::Leases], "late, though it settled its run");
}

#[test]
fn time_that_goes_back_is_seen() {
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"started_ns": 1}))), [Rule::Time]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"ended_ns": 4000}))), [Rule::Time]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"ended_ns": null}))), [Rule::Time]);
    let overlap = |rows: &mut Vec<Value>| set(&mut rows[0], json!({"ended_ns": 1_001}));
    assert_eq!(doctored(overlap), [Rule::Time], "the second attempt begins before the first was given up");
}

#[test]
fn a_host_that_serves_two_runs_at_once_or_goes_back_is_seen() {
    let overlap = |rows: &mut Vec<Value>| set(&mut rows[at(1)], json!({"ended_ns": 6_500}));
    assert_eq!(doctored(overlap), [Rule::Host]);
    let older = |rows: &mut Vec<Value>| set(&mut rows[at(5)], json!({"agent_epoch": 1}));
    assert_eq!(doctored(older), [Rule::Host]);
    let same_start = |rows: &mut Vec<Value>| set(&mut rows[at(5)], json!({"agent_epoch": 102}));
    assert_eq!(doctored(same_start), [Rule::Host], "another boot, and the same start of the agent");
}

#[test]
fn evidence_that_is_not_what_happened_is_seen() {
    assert_eq!(doctored(|rows| set(&mut rows[at(5)], json!({"previous_run": 0}))), [Rule::Evidence]);
    assert_eq!(doctored(|rows| set(&mut rows[at(5)], json!({"previous_run": null}))), [Rule::Evidence]);
    assert_eq!(doctored(|rows| set(&mut rows[at(5)], json!({"served_in_all": 2}))), [Rule::Evidence]);
    assert_eq!(doctored(|rows| set(&mut rows[at(5)], json!({"boot": null}))), [Rule::Evidence]);
}

#[test]
fn each_policy_is_broken_by_what_it_forbids() {
    let used = |rows: &mut Vec<Value>| set(&mut rows[at(5)], json!({"served_in_scope": 1}));
    assert_eq!(doctored(used), [Rule::Freshness], "the evidence itself says that the host was used");
    // Run 1 moves to the host that serves run 2 of the same benchmark after it.
    let mut rows = good();
    set(&mut rows[at(1)], json!({"host": "h3"}));
    set(&mut rows[at(2)], json!({"previous_experiment": "e", "previous_run": 1}));
    set(&mut rows[at(5)], json!({"previous_experiment": null, "previous_run": null}));
    let [boot, allocation] = ["boot", "allocation"].map(|column| rows[at(1)][column].clone());
    set(&mut rows[at(2)], json!({"boot_before": boot, "allocation_before": allocation}));
    assert_eq!(broken("distinct", "benchmark", &rows), [Rule::Freshness]);
    assert_eq!(broken("distinct", "cell", &rows), [], "the two are of different versions");
    for policy in ["any", "rebooted", "reallocated"] {
        assert_eq!(broken(policy, "benchmark", &rows), [], "{policy}: a new boot and a new allocation");
    }
    assert_eq!(broken("rested", "benchmark", &rows), [Rule::Freshness], "one run follows the other at once");
    for (policy, column) in [("rebooted", "boot_before"), ("reallocated", "allocation_before")] {
        let mut rows = rows.clone();
        set(&mut rows[at(2)], json!({column: "another"}));
        assert_eq!(
            broken(policy, "benchmark", &rows),
            [Rule::Freshness],
            "the evidence is not what was before"
        );
    }
    let mut tired = good();
    set(&mut tired[at(5)], json!({"idle_ns": 2_999}));
    assert_eq!(broken("rested", "benchmark", &tired), [Rule::Freshness], "the evidence itself says so");
    set(&mut rows[at(2)], json!({"boot": boot}));
    assert_eq!(broken("rebooted", "benchmark", &rows), [Rule::Freshness]);
    set(&mut rows[at(2)], json!({"allocation": allocation}));
    assert_eq!(broken("reallocated", "benchmark", &rows), [Rule::Freshness]);
    assert_eq!(broken("any", "benchmark", &rows), []);
    set(&mut rows[at(2)], json!({"allocation": null}));
    assert_eq!(broken("reallocated", "benchmark", &rows), [Rule::Freshness], "no allocation is no evidence");
}

#[test]
fn what_is_not_of_the_plan_or_cannot_be_read_is_seen() {
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"benchmark": "b3"}))), [Rule::Form]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"repetition": 3}))), [Rule::Form]);
    assert_eq!(doctored(|rows| set(&mut rows[at(3)], json!({"repetition": 1}))), [Rule::Form], "a twin");
    assert_eq!(doctored(|rows| set(&mut rows[1], json!({"version": "new"}))), [Rule::Form]);
    let stranger = |rows: &mut Vec<Value>| set(&mut rows[at(7)], json!({"run": 8}));
    assert_eq!(doctored(stranger), [Rule::Form, Rule::Settled]);
    assert_eq!(doctored(|rows| rows[at(7)] = json!({"run": 7})), [Rule::Form, Rule::Settled]);
    assert_eq!(broken("unheard-of", "benchmark", &good()), [Rule::Form]);
    assert_eq!(broken("distinct", "unheard-of", &good()), [Rule::Form]);
    assert_eq!(check("[versions", "").complaints[0].rule, Rule::Form);
}

#[test]
#[should_panic(expected = "Settled: run 5 is settled by []")]
fn a_verdict_with_complaints_fails_a_test() {
    let mut rows = good();
    rows.remove(at(5));
    let export: String = rows.iter().map(|row| format!("{row}\n")).collect();
    check(&plan("distinct", "benchmark"), &export).assert_ok();
}
