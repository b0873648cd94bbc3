//! Variables of this shell that programs go by and that a plan does not pass on: whoever set one wonders why it does nothing.

use std::collections::BTreeSet;

use speedup_core::experiment::Experiment;

use crate::console::Console;

/// Variables that change what is computed, or how fast, and that are set for that purpose.
const MATTERING: [&str; 21] = [
    "GLIBC_TUNABLES",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "JAVA_TOOL_OPTIONS",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "RAYON_NUM_THREADS",
    "RUSTFLAGS",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "TOKIO_WORKER_THREADS",
    "CUDA_VISIBLE_DEVICES",
];
/// Beginnings of such variables' names.
const FAMILIES: [&str; 8] = ["GOMP_", "KMP_", "LC_", "MALLOC_", "MIMALLOC_", "MKL_", "OMP_", "OPENBLAS_"];
/// The locale that programs have without a variable.
const PLAIN_LOCALES: [&str; 2] = ["C", "POSIX"];

/// Tells of them in one line, if there are any.
pub(crate) fn tell(experiment: &Experiment, console: &Console) {
    let dropped = dropped(
        experiment,
        std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        }),
    );
    if !dropped.is_empty() {
        let names = dropped.join(", ");
        console.talk(format_args!("set in this shell but not in the plan's env, so no run sees it: {names}"));
    }
}

/// The names of those that no version and no benchmark of the experiment sets.
fn dropped(experiment: &Experiment, shell: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let versions = experiment.versions.iter().flat_map(|version| version.env.keys());
    let benchmarks = experiment.benchmarks.iter().flat_map(|benchmark| benchmark.env.keys());
    let set: BTreeSet<&str> = versions.chain(benchmarks).map(String::as_str).collect();
    let has_locale = set.contains("LC_ALL");
    let is_locale = |name: &str| name == "LANG" || name.starts_with("LC_");
    let matters = |(name, value): &(String, String)| {
        let is_named = MATTERING.contains(&name.as_str()) || FAMILIES.iter().any(|one| name.starts_with(one));
        let is_plain =
            value.is_empty() || is_locale(name) && (has_locale || PLAIN_LOCALES.contains(&value.as_str()));
        is_named && !is_plain && !set.contains(name.as_str())
    };
    let names: BTreeSet<String> = shell.filter(matters).map(|(name, _)| name).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use speedup_core::{plan, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    fn told(plan: &str, shell: &[(&str, &str)]) -> Vec<String> {
        let experiment = plan::file::parse(plan, Seed(1)).unwrap();
        dropped(&experiment, shell.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn what_is_set_here_for_programs_and_not_in_the_plan_is_told() {
        let shell = [
            ("OMP_NUM_THREADS", "1"),
            ("LANG", "en_US.UTF-8"),
            ("PYTHONPATH", ""),
            ("HOME", "/root"),
            ("RUSTUP_HOME", "/root"),
            ("LC_TIME", "C"),
        ];
        // A version there is of another locale, so the locale is what is studied.
        assert_eq!(told(PLAN, &shell), ["OMP_NUM_THREADS"]);
        assert_eq!(told(&PLAN.replace("LC_ALL", "OMP_NUM_THREADS"), &shell), ["LANG"]);
        assert_eq!(told(PLAN, &[("LANG", "C"), ("PATH", "/bin")]), [""; 0]);
    }
}
