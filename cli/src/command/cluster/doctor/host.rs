//! An agent's host: what keeps it from measuring well. What it lacks is absent in records, with the reason; here it is told
//! before.

use std::path::Path;

use super::finding::Finding;
use crate::compose;

/// What the host's own files tell.
pub(super) fn findings(root: &Path) -> Vec<Finding> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned());
    [
        counters(read("proc/sys/kernel/perf_event_paranoid").as_deref()),
        namespaces(
            read("proc/sys/user/max_user_namespaces").as_deref(),
            read("proc/sys/kernel/unprivileged_userns_clone").as_deref(),
        ),
        governor(read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref()),
        turbo(
            read("sys/devices/system/cpu/intel_pstate/no_turbo").as_deref(),
            read("sys/devices/system/cpu/cpufreq/boost").as_deref(),
        ),
        threads(read("sys/devices/system/cpu/smt/active").as_deref()),
        addresses(read("proc/sys/kernel/randomize_va_space").as_deref()),
    ]
    .into_iter()
    .collect()
}

/// Whether this host's timer was tested in this boot.
pub(super) fn timer(state: &Path) -> Finding {
    let hint = "speedup agent selftest; an agent does so by itself when it starts";
    match compose::tested(state) {
        Some(true) => Finding::fine("timer", "tested in this boot"),
        Some(false) => Finding::warning("timer", "not tested in this boot by this release", hint),
        None => Finding::warning("timer", "the boot id is unknown", "name it with --boot-id"),
    }
}

/// Whether an agent that is started here can put runs into groups of their own.
pub(super) fn groups() -> Finding {
    let check = "control groups";
    let found = compose::control_groups();
    let refused = found.iter().find_map(|(path, may)| may.as_ref().err().map(|error| (path, error)));
    match (found.first(), refused) {
        (None, _) => Finding::warning(
            check,
            "this process is in none that can be seen",
            "mount cgroup2 at /sys/fs/cgroup; metrics of whole trees of processes are absent without",
        ),
        (Some(_), Some((path, error))) => Finding::warning(
            check,
            format!("{} cannot be written: {error}", path.display()),
            "start the agent in a group of its own: Delegate=yes of systemd, or `systemd-run --user --scope -p \
             Delegate=yes`; metrics of whole trees of processes are absent without",
        ),
        (Some((path, _)), None) => Finding::fine(check, format!("{} can be written", path.display())),
    }
}

fn counters(paranoid: Option<&str>) -> Finding {
    let check = "performance counters";
    match paranoid.map(str::parse::<i32>) {
        Some(Ok(level)) if level <= 2 => Finding::fine(check, format!("perf_event_paranoid is {level}")),
        Some(Ok(level)) => Finding::warning(
            check,
            format!("perf_event_paranoid is {level}: none without privilege"),
            "sysctl kernel.perf_event_paranoid=2, or start the agent as root",
        ),
        Some(Err(_)) | None => {
            Finding::warning(check, "the kernel has none", "metrics of counters will be absent")
        }
    }
}

fn namespaces(most: Option<&str>, cloning: Option<&str>) -> Finding {
    let check = "user namespaces";
    let none = most == Some("0") || cloning == Some("0");
    if none && !rustix::process::geteuid().is_root() {
        let hint = "sysctl kernel.unprivileged_userns_clone=1 (or user.max_user_namespaces), or start the agent as root";
        let words = "none without privilege: captured output is polled every 100 ms while a run is timed";
        return Finding::warning(check, words, hint);
    }
    Finding::fine(check, "output goes to bounded memory, without polling")
}

fn governor(governor: Option<&str>) -> Finding {
    let check = "frequency";
    match governor {
        Some("performance") => Finding::fine(check, "the governor is performance"),
        Some(other) => Finding::warning(
            check,
            format!("the governor is {other}: times depend on what ran before"),
            "[environment] of a plan sets it where the agent is root; else `cpupower frequency-set -g performance`",
        ),
        None => Finding::fine(check, "no governor that the host shows"),
    }
}

fn turbo(no_turbo: Option<&str>, boost: Option<&str>) -> Finding {
    match (no_turbo, boost) {
        (Some("0"), _) | (None, Some("1")) => Finding::warning(
            "turbo",
            "on: times depend on temperature and on what other cores do",
            "[environment] of a plan turns it off where the agent is root",
        ),
        (Some(_), _) | (None, Some(_)) => Finding::fine("turbo", "off"),
        (None, None) => Finding::fine("turbo", "none that the host shows"),
    }
}

fn threads(active: Option<&str>) -> Finding {
    match active {
        Some("1") => Finding::warning(
            "hardware threads",
            "two share a core: a neighbour slows timed runs",
            "leave the host to the agent, or turn them off (echo off > /sys/devices/system/cpu/smt/control)",
        ),
        Some(_) | None => Finding::fine("hardware threads", "one a core"),
    }
}

fn addresses(randomized: Option<&str>) -> Finding {
    let words = match randomized {
        Some("0") => "not randomised, unless a plan wants it",
        Some(_) => "randomised, unless a plan does not want it",
        None => "unknown whether they are randomised",
    };
    Finding::fine("addresses", words)
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    #[test]
    fn each_thing_that_is_set_badly_is_told_with_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let set = |path: &str, value: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value).unwrap();
        };
        let verdict = |check: &str| {
            let found = findings(root.path()).into_iter().find(|finding| finding.check == check).unwrap();
            assert_eq!(found.hint.is_some(), found.verdict != Verdict::Fine, "{found:?}");
            found.verdict
        };
        for (check, path, bad, good) in [
            ("performance counters", "proc/sys/kernel/perf_event_paranoid", "3\n", "2\n"),
            (
                "frequency",
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "powersave\n",
                "performance\n",
            ),
            ("turbo", "sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "1\n"),
            ("hardware threads", "sys/devices/system/cpu/smt/active", "1\n", "0\n"),
        ] {
            set(path, bad);
            assert_eq!(verdict(check), Verdict::Warning, "{check}");
            set(path, good);
            assert_eq!(verdict(check), Verdict::Fine, "{check}");
        }
    }
}
