//! Rules of repetition with real processes: the advisor beside the coordinator decides, the coordinator records.

use std::{process::Stdio, time::Duration};

use serde_json::Value;
use speedup_core::value::seed::{Seed, below};
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient};
use speedup_tests::{pool::Pool, process::Killed};

use tonic::{Code, transport::Channel};

use crate::SPEEDUP;

/// Naps of 10 to 80 ms, drawn by the system.
const NOISY: &str = "sleep 0.0$(( $(od -An -N1 -tu1 /dev/urandom) % 8 + 1 ))";
/// Most runs of a cell under the pilot's rule.
const MOST: u64 = 40;
/// Runs of the pilot, of both versions.
const PILOT_RUNS: u32 = 8;

fn plan(rule: &str, benchmarks: &str) -> String {
    format!(
        "[experiment]\nname = \"rules\"\nseed = 5\n[versions.old]\nbaseline = true\nvars = {{ time = \"0.2\" }}\n\
         [versions.new]\nvars = {{ time = \"0.02\" }}\n{benchmarks}[repetitions]\n{rule}\n\
         [independence]\npolicy = \"any\"\n[limits]\nattempts = 50\n"
    )
}

fn pilot() -> String {
    let rule = format!("pilot = 4\nprecision = \"20%\"\nmaximum = {MOST}");
    plan(&rule, &format!("[benchmarks.noisy]\nshell = \"{NOISY}\"\n"))
}

fn finish(pool: &Pool, experiment: &str) -> Value {
    pool.wait_for(experiment);
    pool.json(&["report", experiment]).expect("a report")
}

/// The plan has as many runs of each cell as the rule computes from the pilot.
fn assert_as_computed(report: &Value) -> u64 {
    let row = &report["rule"]["rows"][0];
    let required = row["required"].as_u64().expect("a number of runs");
    let runs = report["head"]["runs_per_cell"].as_u64().expect("runs");
    assert_eq!(runs, required.clamp(4, MOST), "{}", report["rule"]);
    // Short of runs, or unsteady, it says that the precision is not there.
    let state = if row["promise"] == "kept" { "enough" } else { "exhausted" };
    assert_eq!(report["rule"]["state"], state);
    assert!(row["interval_ns"].is_array() || row["speedup_interval"].is_array(), "{row}");
    runs
}

#[test]
fn a_noisy_pilot_is_extended_by_what_was_computed() {
    let pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(&pilot(), &[]);
    let report = finish(&pool, &experiment);
    let runs = assert_as_computed(&report);
    assert!(runs > 4, "naps of 10 to 80 ms are not known to within a fifth by 4 runs: {}", report["rule"]);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(2 * runs as usize), 2 * runs as usize);
}

#[test]
fn looks_stop_early_at_a_big_difference() {
    let pool = Pool::start(SPEEDUP, 2);
    let rule = "looks = 4\nmaximum = 40";
    let experiment = pool.submit(&plan(rule, "[benchmarks.nap]\ncommand = [\"sleep\", \"{time}\"]\n"), &[]);
    let report = finish(&pool, &experiment);
    let row = &report["rule"]["rows"][0];
    assert_eq!((&row["verdict"], &row["look"]["concluded"]), (&Value::from("faster"), &Value::from(true)));
    assert!(report["head"]["runs_per_cell"].as_u64().expect("runs") < 40, "{}", report["rule"]);
    let codes: Vec<&Value> =
        report["warnings"].as_array().expect("warnings").iter().map(|w| &w["code"]).collect();
    assert!(codes.contains(&&Value::from("looked_sequentially")), "{codes:?}");
}

/// A second advisor.
fn second_advisor(pool: &Pool) -> Killed {
    let mut command = pool.command();
    command.args(["analysis", "start", "--insecure", "--bind", "127.0.0.1:0", "--coordinator", &pool.url()]);
    Killed(command.stdout(Stdio::null()).spawn().expect("the analysis"))
}

#[test]
fn kills_and_a_second_advisor_extend_once() {
    let mut pool = Pool::start(SPEEDUP, 2);
    let experiment = pool.submit(&pilot(), &[]);
    let second = second_advisor(&pool);
    let random = &mut Seed(20_261_122).child("kills");
    for _ in 0..6 {
        std::thread::park_timeout(Duration::from_millis(below(400, random)));
        pool.restart_coordinator();
    }
    let report = finish(&pool, &experiment);
    drop(second);
    let runs = assert_as_computed(&report);
    pool.ledger(&experiment).assert_exactly_once(2 * runs as usize);
}

/// How a decision that was computed from the pilot is answered after the plan was extended: that it is stale, if the
/// experiment was seen while it awaits the next decision.
async fn decide_late(client: &mut ExperimentsClient<Channel>, pool: &Pool) -> Option<String> {
    let experiment = pool.submit(&pilot(), &[]);
    let enough = v1::decide_request::Decision::Enough(v1::decide_request::Enough {});
    let request = v1::DecideRequest {
        experiment: experiment.clone(),
        by: "a late advisor".to_owned(),
        words: "computed from the pilot".to_owned(),
        from: PILOT_RUNS,
        decision: Some(enough),
    };
    let is_over = |code: Code| code == Code::NotFound;
    loop {
        let status =
            client.get(v1::GetRequest { experiment: experiment.clone() }).await.expect("it is known");
        let tally = status.into_inner().tally.expect("a tally");
        let runs = tally.waiting + tally.leased + tally.running + tally.measured;
        if runs == PILOT_RUNS {
            if pool.is_finished(&experiment) {
                return None;
            }
            continue;
        }
        let refused = client.decide(request.clone()).await.expect_err("it was computed from fewer runs");
        if is_over(refused.code()) {
            return None;
        }
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        if refused.message().contains("computed from") {
            return Some(refused.message().to_owned());
        }
    }
}

#[tokio::test]
async fn a_decision_from_fewer_runs_is_refused() {
    let pool = Pool::start(SPEEDUP, 2);
    let mut client = ExperimentsClient::new(pool.channel(None).await);
    let words = loop {
        // A quick advisor may have decided before.
        if let Some(words) = decide_late(&mut client, &pool).await {
            break words;
        }
    };
    assert!(words.contains(&format!("computed from {PILOT_RUNS} runs")), "{words}");
}
