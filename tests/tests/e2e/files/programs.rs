//! What runs executed, from the file on the host to the export and the report.

use std::{collections::BTreeSet, os::unix::fs::PermissionsExt as _};

use speedup_tests::{blake3_hex, plan::plan, pool::Pool};

use crate::SPEEDUP;

#[test]
fn each_run_has_the_hash_of_the_program_that_it_executed() {
    let pool = Pool::start(SPEEDUP, 2);
    let script = pool.path().join("program");
    let text = "#!/bin/sh\nexit 0\n";
    std::fs::write(&script, text).expect("a program");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("an executable one");
    // Another program a run, as one that is made on the host may be.
    let made = "printf '#!/bin/sh\\nexit 0 # %s\\n' $$ >prog; chmod +x prog";
    let kept = script.display().to_string();
    let rest = format!(
        "[benchmarks.kept]\ncommand = [\"{kept}\"]\n[benchmarks.made]\ncommand = [\"./prog\"]\n\
         [prepare]\nshell = '''{made}'''\n"
    );
    let experiment = pool.finish(&plan("programs", 3, "any", &rest));
    let ledger = pool.ledger(&experiment);
    assert!(ledger.rows.iter().all(|row| row["outcome"] == "measured"), "{:?}", ledger.rows);
    let of = |benchmark: &str, column: &str| -> BTreeSet<String> {
        let rows = ledger.rows.iter().filter(|row| row["benchmark"] == benchmark);
        rows.map(|row| row[column].clone()).collect()
    };
    assert_eq!(of("kept", "program"), [kept].into());
    assert_eq!(of("kept", "program_blake3"), [blake3_hex(text.as_bytes())].into());
    assert!(of("made", "program_blake3").len() > 2, "{:?}", of("made", "program_blake3"));
    assert_eq!(of("made", "program_unknown"), [String::new()].into());
    let report = pool.json(&["report", &experiment]).expect("a report");
    let warnings = report["warnings"].as_array().expect("a list");
    let changed = warnings.iter().find(|warning| warning["code"] == "program_changed").expect("it is told");
    assert_eq!(changed["concerns"], serde_json::json!(["made"]), "{changed}");
}
