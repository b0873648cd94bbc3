//! Plans that tests carry out, of two versions: `old`, which is the baseline, and `new`.

use std::fmt::Display;

/// A plan with this number of runs for each cell. `rest` continues the table `[independence]`.
pub fn plan(name: &str, runs: impl Display, policy: &str, rest: &str) -> String {
    format!(
        "[experiment]\nname = \"{name}\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n{rest}"
    )
}

/// A plan of a program that does nothing, on any host.
pub fn trivial(name: &str, runs: impl Display) -> String {
    plan(name, runs, "any", "[benchmarks.true]\ncommand = [\"true\"]\n")
}

/// A plan whose versions sleep for so many seconds, the old one and the new.
pub fn naps(name: &str, seconds: [&str; 2], runs: impl Display, policy: &str, rest: &str) -> String {
    let [old, new] = seconds;
    format!(
        "[experiment]\nname = \"{name}\"\nseed = 3\n\
         [versions.old]\nbaseline = true\nvars = {{ time = \"{old}\" }}\n[versions.new]\nvars = {{ time = \"{new}\" }}\n\
         [benchmarks.nap]\ncommand = [\"sleep\", \"{{time}}\"]\n\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n{rest}"
    )
}
