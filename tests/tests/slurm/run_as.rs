//! Programs with a user of their own, where the coordinator is root.

use speedup_tests::cluster::{AfterNodeFailure, SlurmSite, Who};

use crate::SPEEDUP;

/// Programs are executed as the named user, who cannot read what lets the coordinator's user in.
#[test]
fn programs_are_not_the_coordinators_user() {
    let on = SlurmSite::start(SPEEDUP, "any", 1, Who::Root, AfterNodeFailure::Fail);
    let pool = &on.site.pool;
    on.ask(&["--run-as", "nobody"], &["--time=10"]);
    let access = pool.access_file().display().to_string();
    let program = format!("test \"$(id -un)\" = nobody && ! cat '{access}'");
    let plan = "[experiment]\nname = \"user\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
                [benchmarks.who]\nshell = '''PROGRAM'''\ntimeout = \"1m\"\n[repetitions]\nruns = 1\n\
                [independence]\npolicy = \"any\"\n";
    let plan = plan.replace("PROGRAM", &program.replace('\'', ""));
    pool.write("user.toml", plan);
    let plan = pool.path().join("user.toml").display().to_string();
    let submitted = pool.speedup(&["submit", &plan]);
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let waited = pool.speedup(&["wait", "last", "--timeout", "2m"]);
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    assert_eq!(pool.ledger("last").assert_exactly_once(2), 2, "{}", pool.export("last"));
    on.wait_until_given_back();
}
