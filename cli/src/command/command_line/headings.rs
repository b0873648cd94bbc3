//! The headings under which `--help` shows the options of verbs that have many; all others are under `Options`.

/// The heading of the options that say how to reach a coordinator.
pub(super) const REACHING: &str = "Coordinator options";
/// The heading of the options that say how input files are read.
const FILES: &str = "Input files";
/// The heading of the options that change a plan for this once.
const PLAN: (&str, &str) = ("Changes to the plan", "runs seed name patterns failed_of tags");

/// The heading of the options that bound a queue.
const QUEUE_LIMITS: (&str, &str) = ("Limits", "max_jobs max_queued node_hours patience");

/// The heading of the options that say what surrounds the agent in its job.
const IN_THE_JOB: (&str, &str) = ("Job script", "prologue epilogue wrap");

/// Headings of the options, by their ids with spaces between, that many verbs share.
const SHARED: [(&str, &str); 3] = [
    ("Gates", "fail_on_regression require_conclusive noise_threshold"),
    (FILES, "input_format column benchmark_column version_column run_column"),
    (REACHING, "coordinator access_file"),
];

/// Headings of the options of a verb.
type Headings = &'static [(&'static str, &'static str)];

/// Headings of the options of verbs, by the verbs' paths.
const OF_VERBS: [(&str, Headings); 15] = [
    (
        "bisect",
        &[
            ("Search", "first_parent metric margin confidence prior max_runs block blocks"),
            ("Changes to the plan", "patterns seed name tags"),
            ("On a pool", "submit wait_for_hosts"),
        ],
    ),
    (
        "track add",
        &[
            ("Points", "branch references from every blocks metric"),
            ("Alarms", "false_alarms points_a_year margin builds_alike confidence"),
            ("Changes to the plan", "patterns seed name"),
            ("On a pool", "submit"),
        ],
    ),
    (
        "bench",
        &[
            ("Number of runs", "runs min_runs max_runs min_benchmarking_time precision warmup"),
            (
                "Commands",
                "command_name reference reference_name git build parameter_list parameter_scan parameter_step_size",
            ),
            (
                "Execution",
                "shell no_shell setup prepare conclude cleanup input output show_output ignore_failure timeout env clean_env",
            ),
            ("Statistics", "confidence center trim margin quantile control seed"),
            (
                "Results",
                "format time_unit sort style export_json export_csv export_markdown export_asciidoc export_orgmode save_baseline data",
            ),
        ],
    ),
    (
        "compare",
        &[
            ("Method ratio (the default)", "center trim margin quantile control"),
            ("Method speedup-test", "mode adjust precision proportion_interval"),
            ("Method hpt", "speedup_under_test rank_sum half_ranks score_reference"),
            ("Method effect", "threshold bootstrap statistic"),
            ("Method mixture", "fit resamples resample_size delta"),
            ("Method distribution", "quantiles at_most clusters"),
            ("Method earlier", "normality"),
            ("Suite", "weights drawn population"),
            ("Versions", "metric baseline save_baseline"),
        ],
    ),
    (
        "agent start",
        &[
            ("Identity", "host_id share_machine boot_id allocation_id node_name job_id job_ends"),
            ("Reboots", "reboot_command reboot_patience"),
        ],
    ),
    (
        "coordinator start",
        &[("Network", "bind advertise insecure web metrics"), ("Hosts", "host_grace reboot_limit agents")],
    ),
    ("hosts batch add", &[QUEUE_LIMITS, IN_THE_JOB]),
    ("hosts local add", &[QUEUE_LIMITS]),
    ("hosts slurm add", &[QUEUE_LIMITS, IN_THE_JOB]),
    ("samples levels", &[("Pilot", "benchmark metric"), ("Instead of a pilot", "mean variances")]),
    ("samples repetitions", &[("Pilot", "benchmark metric"), ("Instead of a pilot", "mean sd")]),
    ("plan check", &[PLAN]),
    ("run", &[PLAN]),
    ("submit", &[PLAN]),
    ("study pool", &[("Pilot", "benchmark metric")]),
];

fn names(ids: &str, id: &str) -> bool {
    ids.split(' ').any(|one| one == id)
}

/// The heading of an option of a verb, if it is not the usual one.
pub(super) fn heading(verb: &str, id: &str) -> Option<&'static str> {
    let of_verb = OF_VERBS.iter().filter(|(path, _)| *path == verb).flat_map(|(_, headings)| headings.iter());
    of_verb.chain(&SHARED).find(|(_, ids)| names(ids, id)).map(|(heading, _)| *heading)
}

/// Options of `bench` that few need.
const SELDOM: &str = "precision max_runs reference reference_name parameter_scan parameter_step_size shell setup conclude cleanup \
    input output timeout env clean_env center trim margin quantile control seed time_unit sort style export_csv \
    export_asciidoc export_orgmode data noise_threshold";

/// Whether `-h` leaves an option of a verb out; `--help` has it.
pub(super) fn is_long_only(verb: &str, heading: &str, id: &str) -> bool {
    let is_of_other_method = heading.starts_with("Method ") && !heading.ends_with("(the default)");
    [REACHING, FILES, "Suite"].contains(&heading)
        || is_of_other_method
        || (verb == "bench" && names(SELDOM, id))
}

/// Every option that has a heading, with its verb; those of shared headings have none.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    OF_VERBS.iter().flat_map(|(verb, headings)| {
        headings.iter().flat_map(move |(_, ids)| ids.split(' ').map(move |id| (*verb, id)))
    })
}
