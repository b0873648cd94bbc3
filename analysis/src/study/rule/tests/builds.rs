//! Rules of versions that are built several times: a visit is an observation where it has a build of its own.

use super::laws::to_the_end;
use super::virtual_experiment::{At, Virtual, normal};
use crate::conclusion::Verdict;
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::Seed;

const LOOKS: &str = "looks = 2\nmaximum = 40\n";
const PILOT: &str = "pilot = 5\nprecision = \"2%\"\nmaximum = 40\n";
const REPLICATES: u64 = 100;

/// Experiments in which a rule called versions different whose builds are of one law, and differ by far more than runs do.
fn false_alarms(experiment: impl Fn() -> Virtual, builds: u32) -> usize {
    let alarm = |seed: &u64| {
        let law = |At { version, visit, .. }: At, random: &mut ChaCha8Rng| {
            let build = normal(&mut Seed(*seed).child(&format!("build {version} {}", visit % builds)));
            Some(100e6 + 2e6 * build + 0.1e6 * normal(random))
        };
        let (_, reports) = to_the_end(experiment(), *seed, &law);
        matches!(reports[reports.len() - 1].rows[0].verdict, Verdict::Faster | Verdict::Slower)
    };
    (0..REPLICATES).filter(alarm).count()
}

#[test]
fn a_build_for_each_visit_keeps_the_rules_risk() {
    for rule in [LOOKS, PILOT] {
        let built = false_alarms(|| Virtual::new(1, 2, rule, "").built(40), 40);
        // Of 100 at 5 %, 5 are to be expected; 13 and more with a probability of 0.002.
        assert!(built < 13, "{built} of {REPLICATES}: {rule}");
        let shared = false_alarms(|| Virtual::new(1, 2, rule, ""), 3);
        assert!(shared > 20, "{shared} of {REPLICATES}, or nothing is tested here: {rule}");
    }
}

#[test]
fn every_observation_is_another_build() {
    let law =
        |at: At, random: &mut ChaCha8Rng| Some(100e6 - f64::from(at.version) * 10e6 + 1e6 * normal(random));
    let (experiment, reports) = to_the_end(Virtual::new(1, 2, PILOT, "").built(40), 1, &law);
    let last = &reports[reports.len() - 1].rows[0];
    assert_eq!(last.verdict, Verdict::Faster);
    for (version, observations) in (0..).zip(last.observations) {
        let mut used = experiment.builds_used(version);
        assert_eq!(used.len() as u64, observations);
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len() as u64, observations, "no build twice");
    }
}
