//! Endpoints and the control from the plan to the report, the gate and the export.

use serde_json::Value;
use speedup_tests::{desk::Desk, output::json_lines, output::stderr};

use crate::SPEEDUP;

const PLAN: &str = r#"
[experiment]
name = "endpoints"
seed = 11
[controls]
baseline_again = true
[versions.old]
baseline = true
vars = { rate = "200" }
[versions.new]
vars = { rate = "100" }
[benchmarks.rate]
shell = '''echo "{version} rate {rate}"'''
[repetitions]
runs = 8
[metrics.output.rate]
regex = 'rate ([0-9]+)$'
better = "higher"
[analysis]
quantiles = [0.99]
[analysis.verdicts.rate]
[independence]
policy = "any"
[output]
keep_of = "all"
"#;

#[test]
fn a_plan_has_verdicts_beside_the_headline_and_a_control() {
    let desk = Desk::new(SPEEDUP);
    desk.write("plan.toml", PLAN);
    let run = ["run", "plan.toml", "--data", "data", "--format", "json", "--fail-on-regression"];
    let output = desk.speedup(&run);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("new on rate: rate worse, 0.50×"), "{errors}");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let [tail, rate] = &report["endpoints"].as_array().expect("endpoints")[..] else { panic!("{report}") };
    assert_eq!((&tail["quantile"], &tail["rows"][0]["verdict"]), (&0.99.into(), &"not_enough_data".into()));
    assert_eq!((&rate["rows"][0]["verdict"], &rate["rows"][0]["ratio"]), (&"worse".into(), &0.5.into()));
    let control = report["controls"]["baseline_again"].as_str().expect("a control");
    assert_eq!(report["head"]["versions"], serde_json::json!(["old", "new"]));
    assert!(report["controls"]["rows"][0]["ratio"].is_number(), "{report}");
    // Its runs are in the export, and its program was told the baseline's name.
    let id = report["head"]["experiment"].as_str().expect("an id");
    let text = desk.ok(&["export", id, "--data", "data", "--format", "jsonl"]);
    let rows = json_lines(&text);
    let printed = |version: &str| -> Vec<&str> {
        let of = rows.iter().filter(|row| row["version"] == version);
        of.map(|row| row["stdout_blake3"].as_str().expect("a hash")).collect()
    };
    assert_eq!(printed(control), printed("old"), "{text}");
    assert_eq!((printed("old").len(), printed("old") == printed("new")), (8, false));
}
