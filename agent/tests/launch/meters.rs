//! What the host can tell of a run beside its time: of the whole tree of processes, or why not.
//!
//! Hosts differ in what they have and allow. Each test asks for values where there must be some, and else for the reason;
//! `SPEEDUP_TEST_METERS=all` says that this host has control groups that may be written, so that a reason will not do.

use std::{collections::BTreeSet, path::Path, path::PathBuf, process::Stdio, sync::atomic::AtomicBool};

use speedup_agent::launch::{End, Execution, LaunchCommand, Launcher, Preparation, Usage, User, forget_peak};
use speedup_agent::selftest::MemoryProgram;
use speedup_core::experiment::metric::{Absence, Metric};

use super::{command, run, sh, shell, skip, text};

/// A bound on processes that bounds none: a program with one starts from the agent's memory.
const NO_BOUND: Option<u64> = Some(1 << 20);
/// Keeps a CPU busy for some tens of milliseconds.
const WORK: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";

fn measured(metrics: &[Metric], script: &str) -> Execution {
    let execution = run(&LaunchCommand { metrics: metrics.to_vec(), ..shell(script) });
    assert_eq!(execution.end, End::Exited(0), "{execution:?}");
    execution
}

/// The value; or nothing on a host that may lack it.
fn value(execution: &Execution, metric: Metric) -> Option<u64> {
    let value = execution.readings.values.get(&metric).copied();
    if value.is_none() {
        assert!(std::env::var_os("SPEEDUP_TEST_METERS").is_none(), "{metric:?}: {:?}", execution.readings);
        assert!(execution.readings.absent.contains_key(&metric), "{metric:?}: {:?}", execution.readings);
    }
    value
}

#[test]
fn every_metric_has_a_value_or_a_reason() {
    let readings = measured(&Metric::ALL, WORK).readings;
    for metric in Metric::ALL {
        let told =
            u8::from(readings.values.contains_key(&metric)) + u8::from(readings.absent.contains_key(&metric));
        // Of the clock and of `wait4` the execution tells by itself.
        let is_known_anyway = matches!(
            metric,
            Metric::Wall
                | Metric::User
                | Metric::System
                | Metric::MaxRss
                | Metric::MinorFaults
                | Metric::MajorFaults
                | Metric::VoluntarySwitches
                | Metric::InvoluntarySwitches
                | Metric::BlockReads
                | Metric::BlockWrites
        );
        assert_eq!(told, u8::from(!is_known_anyway), "{metric:?}: {readings:?}");
    }
    for metric in [Metric::Instructions, Metric::Cycles, Metric::Branches] {
        assert!(
            readings.values.get(&metric).is_none_or(|count| *count > 100_000),
            "{metric:?}: {readings:?}"
        );
    }
    assert!(readings.user_only.iter().all(|metric| readings.values.contains_key(metric)));
}

#[test]
fn nothing_is_read_that_nobody_asked_for() {
    let execution = run(&command(&["cat", "/proc/self/cgroup"]));
    assert_eq!(execution.readings, Default::default());
    assert_eq!(text(&execution), std::fs::read_to_string("/proc/self/cgroup").unwrap());
}

#[test]
fn work_of_a_process_that_nobody_waits_for_counts() {
    // The work is done by an orphan in a session of its own, and the program ends when that is through.
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("mkfifo done; (setsid sh -c '{WORK}; echo > done' < /dev/null > /dev/null 2>&1 &); cat done");
    let metrics = vec![Metric::TaskClock, Metric::TreeCpu, Metric::TreeUser, Metric::TreeSystem];
    let execution = run(&LaunchCommand { directory: folder.path().into(), metrics, ..shell(&script) });
    assert_eq!(execution.end, End::Exited(0), "{execution:?}");
    let waited_for = execution.usage.user_ns + execution.usage.system_ns;
    for metric in [Metric::TaskClock, Metric::TreeCpu] {
        if let Some(all) = value(&execution, metric) {
            assert!(all > 2 * waited_for, "{metric:?}: {all} of {waited_for} waited for");
        }
    }
    // How the time is divided goes by the clock's ticks on some kernels.
    if let (Some(user), Some(system)) =
        (value(&execution, Metric::TreeUser), value(&execution, Metric::TreeSystem))
    {
        assert!(user + system > 0, "{execution:?}");
    }
}

#[test]
fn counters_count_the_program_and_not_the_agent() {
    let of = |script: &str| measured(&[Metric::TaskClock], script);
    let waste: u64 = (0..30_000_000).fold(1, |product: u64, factor| product.wrapping_mul(factor | 1));
    assert_ne!(std::hint::black_box(waste), 0);
    // Where the clock of the scheduler is coarse nothing was counted of so short a program.
    let nothing = of(":").readings.values.get(&Metric::TaskClock).copied().unwrap_or(0);
    let execution = of(&format!("{WORK}; {WORK}; {WORK}; {WORK}"));
    if let Some(work) = value(&execution, Metric::TaskClock) {
        assert!(work > 2 * nothing, "{work} against {nothing}");
    }
}

#[test]
fn the_memory_of_all_processes_at_once_is_told() {
    let folder = tempfile::tempdir().unwrap();
    // Three processes hold 20 MB each, and go on when all do.
    let script = "mkfifo up hold; exec 3<>up 4<>hold
        for i in 1 2 3; do (x=$(head -c 20000000 /dev/zero | tr '\\0' x); echo $i >&3; read y <&4) & done
        for i in 1 2 3; do read z <&3; done
        for i in 1 2 3; do echo go >&4; done
        wait";
    let directory = folder.path().into();
    let execution = run(&LaunchCommand { directory, metrics: vec![Metric::MemoryPeak], ..shell(script) });
    assert_eq!(execution.end, End::Exited(0), "{execution:?}");
    if let Some(peak) = value(&execution, Metric::MemoryPeak) {
        assert!(peak > 60_000_000, "{peak}");
        // Below the agent's own memory that of the largest process is not known.
        let Usage { max_rss_bytes, max_rss_floor_bytes, .. } = execution.usage;
        assert!(peak > max_rss_bytes || max_rss_bytes <= max_rss_floor_bytes, "{execution:?}");
    }
    let small = measured(&[Metric::MemoryPeak], ":");
    assert!(value(&small, Metric::MemoryPeak).is_none_or(|peak| peak > 0 && peak < 60_000_000), "{small:?}");
}

/// The directories of the control groups that stand in a text as of `/proc/self/cgroup` and that were made for a run.
fn groups_of_run(text: &str) -> BTreeSet<PathBuf> {
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let own = format!("speedup-{}-", std::process::id());
    let made = lines.filter(|(_, path)| path.contains(&own));
    made.map(|(controllers, path)| {
        Path::new("/sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/'))
    })
    .collect()
}

#[test]
fn a_run_has_groups_of_its_own_that_go_with_all_that_is_in_them() {
    let script =
        "cat /proc/self/cgroup; setsid sleep 1000 > /dev/null & while ! [ -s /dev/stdout ]; do :; done";
    let execution = measured(&[Metric::MemoryPeak, Metric::TreeCpu], script);
    if value(&execution, Metric::TreeCpu).is_none() {
        return skip("no control group can be made here");
    }
    let groups = groups_of_run(&text(&execution));
    assert!(!groups.is_empty(), "{}", text(&execution));
    for group in groups {
        assert!(group.parent().unwrap().exists(), "{}", group.display());
        assert!(!group.exists(), "{} is still there", group.display());
    }
    assert_eq!((execution.survivors_killed, execution.survivors_left), (1, 0));
}

#[test]
fn groups_within_the_group_of_a_run_go_too() {
    let first = measured(&[Metric::TreeCpu], "cat /proc/self/cgroup");
    let Some(_) = value(&first, Metric::TreeCpu) else { return };
    let group = groups_of_run(&text(&first)).pop_first().unwrap();
    let parent = group.parent().unwrap().display().to_string();
    // The newest group of this process is the run's own, which the script finds by being in it.
    let script = format!(
        "for group in {parent}/speedup-{}-*; do
            if grep -qx $$ $group/cgroup.procs; then
                mkdir $group/inner $group/inner/most
                sh -c \"echo \\$\\$ > $group/inner/most/cgroup.procs; exec setsid sleep 1000\" > /dev/null &
                until grep -q . $group/inner/most/cgroup.procs; do :; done
                echo $group/inner/most
            fi
        done",
        std::process::id()
    );
    let execution = measured(&[Metric::TreeCpu], &script);
    let inner = text(&execution);
    assert_eq!(inner.lines().count(), 1, "{inner}");
    assert!(!Path::new(inner.trim()).parent().unwrap().parent().unwrap().exists(), "{inner}");
    assert_eq!(execution.survivors_left, 0);
}

#[test]
fn what_a_crashed_agent_left_is_ended_and_removed() {
    let first = measured(&[Metric::TreeCpu], "cat /proc/self/cgroup");
    let Some(_) = value(&first, Metric::TreeCpu) else { return };
    let parent = groups_of_run(&text(&first)).pop_first().unwrap().parent().unwrap().to_owned();
    // A process id that nobody has: that of a process which has just been reaped.
    let gone =
        std::process::Command::new("true").spawn().and_then(|mut child| child.wait().map(|_| child.id()));
    let orphan = parent.join(format!("speedup-{}-0", gone.unwrap()));
    let mut left = std::process::Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap();
    // The launchers of other tests remove orphans too, and while this one is empty, so that it has to be made again.
    let enter = || {
        let _ = std::fs::create_dir(&orphan);
        std::fs::write(orphan.join("cgroup.procs"), left.id().to_string()).is_ok()
    };
    eventually("nobody can be put into an orphaned group", enter);
    // An agent that lives keeps its groups.
    let living = parent.join(format!("speedup-{}-kept", std::process::id()));
    std::fs::create_dir(&living).unwrap();
    // It may be the launcher of another test that is just about to remove it.
    let is_over = || {
        drop(Launcher::new().unwrap());
        !orphan.exists() && left.try_wait().unwrap().is_some()
    };
    eventually("an orphaned group stays", is_over);
    let is_kept = living.exists();
    std::fs::remove_dir(&living).unwrap();
    assert!(is_kept);
}

/// The peak of `dd` with a buffer of so many MiB, which it fills once.
fn peak_of_a_buffer(launcher: &mut Launcher, mebibytes: usize) -> Usage {
    let words = ["dd", "if=/dev/zero", "of=/dev/null", "count=1", &format!("bs={mebibytes}M")];
    let execution = launcher.execute(&command(&words), &AtomicBool::new(false)).unwrap();
    assert_eq!(execution.end, End::Exited(0), "{execution:?}");
    execution.usage
}

/// Whether programs start from a trampoline here.
fn has_a_trampoline(usage: Usage) -> bool {
    let has = usage.max_rss_floor_bytes < 1 << 20;
    assert!(has || !cfg!(target_arch = "x86_64"), "{usage:?}");
    has
}

#[test]
fn a_program_smaller_than_the_agent_has_a_peak_of_its_own() {
    // The kernel counts pages in steps of some dozens a CPU and kind of memory.
    const STEPS: u64 = 1 << 20;
    let ballast = std::hint::black_box(vec![1_u8; 100 << 20]);
    let mut launcher = Launcher::new().unwrap();
    let least = peak_of_a_buffer(&mut launcher, 1);
    if !has_a_trampoline(least) {
        return skip("there is no trampoline for this architecture");
    }
    assert!(least.max_rss_bytes > least.max_rss_floor_bytes, "{least:?}");
    for mebibytes in [4, 16, 64] {
        let usage = peak_of_a_buffer(&mut launcher, mebibytes);
        let more = usage.max_rss_bytes - least.max_rss_bytes;
        assert!(
            more.abs_diff((mebibytes as u64 - 1) << 20) <= STEPS,
            "{mebibytes} MiB: {usage:?}, {least:?}"
        );
    }
    drop(ballast);
}

#[test]
fn a_program_from_a_trampoline_is_the_agents_own_child_in_a_group_of_its_own() {
    // Process, parent, group and the number of siblings that are there beside it.
    let told = text(&sh(
        "cut -d' ' -f1,4,5 /proc/$$/stat; grep VmHWM /proc/self/status | wc -l; ls /proc/self/fd | wc -l",
    ));
    let words: Vec<&str> = told.split_whitespace().collect();
    let own = std::process::id().to_string();
    assert_eq!((words[0], words[1]), (words[2], own.as_str()), "{told}");
    assert_eq!(words[3..], ["1", "4"], "0 to 2, and the directory that is listed: {told}");
    // Its wait to be let go is not its own: it has as many as from the agent's memory, unless something held it up.
    let Some(no_op) = MemoryProgram::no_op().unwrap() else { return };
    let mut exits = command(&[no_op.path().to_str().unwrap()]);
    let fewest = |exits: &LaunchCommand| (0..10).map(|_| run(exits).usage.switches.voluntary).min();
    let from_trampoline = fewest(&exits);
    exits.preparation.limits.processes = NO_BOUND;
    assert_eq!(from_trampoline, fewest(&exits));
}

#[test]
fn a_trampoline_that_is_killed_leaves_the_agents_floor_and_the_next_run_has_another() {
    let mut launcher = Launcher::new().unwrap();
    // Kills the sibling that sleeps in memory of one page of instructions.
    let script = "for status in /proc/[0-9]*/stat; do
            read line <$status || continue
            case $line in *\"(5)\"*|*speedup-t*) set -- $line; test $4 = $PPID && kill -9 $1 && echo $1 &&
                while grep -q VmHWM /proc/$1/status; do :; done;; esac
        done 2>&-";
    let killed = launcher.execute(&shell(script), &AtomicBool::new(false)).unwrap();
    if !has_a_trampoline(peak_of_a_buffer(&mut launcher, 1)) {
        return skip("there is no trampoline for this architecture");
    }
    assert_eq!((killed.end, text(&killed).lines().count()), (End::Exited(0), 1), "{killed:?}");
    assert!(killed.usage.max_rss_floor_bytes > 1 << 20, "its peak is not known: {killed:?}");
    assert_eq!(killed.survivors_killed, 0, "{killed:?}");
}

#[test]
fn memory_that_the_agent_has_given_back_is_no_floor_of_later_runs() {
    const BALLAST: usize = 200 << 20;
    drop(std::hint::black_box(vec![1_u8; BALLAST]));
    // A bound on processes does without a trampoline.
    let mut bounded = command(&["true"]);
    bounded.preparation.limits.processes = NO_BOUND;
    let floor = || run(&bounded).usage.max_rss_floor_bytes;
    assert!(floor() >= BALLAST as u64);
    if forget_peak().is_ok() {
        assert!(floor() < BALLAST as u64);
    }
}

#[test]
fn energy_is_that_of_the_time_of_the_run() {
    let root = tempfile::tempdir().unwrap();
    let package = root.path().join("sys/class/powercap/intel-rapl:0");
    std::fs::create_dir_all(&package).unwrap();
    for (file, text) in
        [("name", "package-0\n"), ("energy_uj", "262000000000\n"), ("max_energy_range_uj", "262143328850\n")]
    {
        std::fs::write(package.join(file), text).unwrap();
    }
    let script = format!("echo 1000 > {}", package.join("energy_uj").display());
    let metrics = vec![Metric::EnergyPackage, Metric::EnergyDram];
    let wanted = LaunchCommand { metrics, ..shell(&script) };
    let readings =
        Launcher::rooted(root.path()).unwrap().execute(&wanted, &AtomicBool::new(false)).unwrap().readings;
    assert_eq!(readings.values[&Metric::EnergyPackage], 143_328_850 + 1_000);
    assert_eq!(readings.absent[&Metric::EnergyDram], Absence::Unsupported);
}

#[test]
fn a_launch_that_fails_leaves_no_group() {
    let mut launcher = Launcher::new().unwrap();
    let wanted = LaunchCommand {
        metrics: vec![Metric::MemoryPeak, Metric::TreeCpu],
        ..command(&["/no/such/program"])
    };
    assert!(launcher.execute(&wanted, &AtomicBool::new(false)).is_err());
    let first = measured(&[Metric::TreeCpu], "cat /proc/self/cgroup");
    let Some(_) = value(&first, Metric::TreeCpu) else { return };
    let group = groups_of_run(&text(&first)).pop_first().unwrap();
    // Other tests of this process have groups of their own at the same time, and theirs have programs.
    let abandoned = || {
        std::fs::read_dir(group.parent().unwrap()).unwrap().flatten().any(|entry| {
            let is_ours =
                entry.file_name().to_string_lossy().starts_with(&format!("speedup-{}-", std::process::id()));
            is_ours && !entry.file_name().to_string_lossy().ends_with("kept")
        })
    };
    eventually("a group is left", || !abandoned());
}

/// Waits, with a deadline, for what other tests of this process delay.
fn eventually(complaint: &str, mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + super::LONG;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "{complaint}");
        std::thread::yield_now();
    }
}

/// Executed by [`an_agent_without_permission_measures_what_it_may`] as another user.
#[test]
#[ignore = "is executed by another test, as a user without rights"]
fn as_a_user_without_rights() {
    assert!(!rustix::process::geteuid().is_root());
    let readings = measured(&Metric::ALL, WORK).readings;
    for metric in [Metric::MemoryPeak, Metric::TreeCpu, Metric::TreeUser, Metric::TreeSystem] {
        let why = &readings.absent[&metric];
        assert!(matches!(why, Absence::NotPermitted | Absence::Unsupported), "{metric:?}: {why:?}");
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if let Ok(2..) = paranoid.trim().parse::<i32>() {
        // It happens in the kernel: in user mode alone it would be read as zero.
        assert!(!readings.values.contains_key(&Metric::CpuMigrations), "{readings:?}");
        assert!(!readings.user_only.contains(&Metric::TaskClock), "{readings:?}");
        let counted = [Metric::Instructions, Metric::Cycles].into_iter();
        let counted: BTreeSet<Metric> =
            counted.filter(|metric| readings.values.contains_key(metric)).collect();
        assert!(counted.is_subset(&readings.user_only), "{readings:?}");
    }
}

#[test]
fn an_agent_without_permission_measures_what_it_may() {
    use std::{os::unix::fs::PermissionsExt, os::unix::process::CommandExt as _};
    if !rustix::process::geteuid().is_root() {
        return skip("it is not root, and all the other tests here were such an agent");
    }
    // Where that user may execute it.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("launch");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    for path in [folder.path(), &copy] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut nobody = std::process::Command::new(&copy);
    nobody.args(["--exact", "meters::as_a_user_without_rights", "--include-ignored"]);
    let output = nobody.uid(65_534).gid(65_534).current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn another_users_program_is_metered_like_the_agents_own() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root executes programs as another user");
    }
    let metrics = vec![Metric::TaskClock, Metric::MemoryPeak, Metric::TreeCpu, Metric::TreeUser];
    let told = |user: Option<User>| {
        let preparation = Preparation { user, ..Preparation::default() };
        let execution =
            run(&LaunchCommand { metrics: metrics.clone(), preparation, ..shell(&format!("id -u; {WORK}")) });
        assert_eq!(execution.end, End::Exited(0), "{execution:?}");
        let told: Vec<Metric> = execution.readings.values.keys().copied().collect();
        (text(&execution).trim().to_owned(), told)
    };
    let (own, other) = (told(None), told(Some(User::named("65534").unwrap())));
    assert_eq!((own.0.as_str(), other.0.as_str()), ("0", "65534"));
    // It joined its groups while it could, and the counters went with it.
    assert_eq!(own.1, other.1);
}
