//! The launcher with real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use speedup_agent::launch::{Command, End, Execution, LaunchError, Launcher, Sink};

const CAPTURE: Sink = Sink::Capture { limit: 1 << 20, keep: 4096 };
/// Waits in a script until something stands in its output.
const WRITTEN: &str = "while ! [ -s /dev/stdout ]; do :; done";
/// For what must end by itself.
const LONG: Duration = Duration::from_secs(120);
/// For what must not.
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn the_exit_code_is_reported() {
    assert_eq!(sh("exit 7").end, End::Exited(7));
    assert_eq!(sh("exit 0").end, End::Exited(0));
}

#[test]
fn death_by_signal_is_told_from_an_exit_code() {
    assert!(matches!(sh("kill -USR1 $$").end, End::Signaled { signal: 10, core_dumped: false }));
    assert_eq!(sh("exit 138").end, End::Exited(138));
}

#[test]
fn the_program_has_default_signals() {
    // Rust ignores SIGPIPE, and the launcher blocks everything: neither may reach the program.
    let status = text(&run(&command(&["cat", "/proc/self/status"])));
    for set in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000\n")), "{status}");
    }
}

#[test]
fn the_time_is_never_shorter_than_the_truth() {
    for _ in 0..5 {
        let execution = run(&command(&["sleep", "0.01"]));
        assert_eq!(execution.end, End::Exited(0));
        assert!(execution.wall_ns >= 10_000_000, "{} ns", execution.wall_ns);
    }
}

#[test]
fn the_usage_is_that_of_the_program() {
    let usage = sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").usage;
    assert!(usage.user_ns + usage.system_ns > 1_000_000, "{usage:?}");
    assert!(usage.minor_faults > 0 && usage.max_rss_bytes > 0, "{usage:?}");
}

#[test]
fn a_missing_program_is_not_found() {
    let error = fail(&command(&["speedup-no-such-program"]));
    assert!(
        matches!(&error, LaunchError::NotFound { program } if program == Path::new("speedup-no-such-program"))
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("PATH")));
    assert!(matches!(fail(&command(&["/no/such/program"])), LaunchError::NotFound { .. }));
    assert!(matches!(fail(&command(&["./program"])), LaunchError::NotFound { .. }));
}

#[test]
fn a_file_without_permission_is_not_executable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let by_path = Command { argv: vec![file.into()], ..command(&[]) };
    assert!(matches!(fail(&by_path), LaunchError::NotExecutable { .. }));
    let by_name = Command { env: vec![("PATH".into(), folder.path().into())], ..command(&["program"]) };
    assert!(matches!(fail(&by_name), LaunchError::NotExecutable { .. }));
}

#[test]
fn a_missing_interpreter_and_a_foreign_format_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = |text: &str| {
        let file = folder.path().join("program");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        fail(&Command { argv: vec![file.into()], ..command(&[]) })
    };
    assert!(matches!(script("#!/no/such/interpreter\n"), LaunchError::Interpreter { .. }));
    assert!(matches!(script("echo no first line\n"), LaunchError::Format { .. }));
}

#[test]
fn a_missing_directory_is_named() {
    let error = fail(&Command { directory: "/no/such/directory".into(), ..command(&["true"]) });
    assert!(
        matches!(error, LaunchError::Directory { directory, .. } if directory == Path::new("/no/such/directory"))
    );
}

#[test]
fn what_the_kernel_cannot_take_is_refused() {
    assert!(matches!(fail(&command(&[])), LaunchError::Empty));
    assert!(matches!(fail(&command(&["true", "a\0b"])), LaunchError::Unpassable { .. }));
    let env = vec![("A=B".into(), "C".into())];
    assert!(matches!(fail(&Command { env, ..command(&["true"]) }), LaunchError::Unpassable { .. }));
    let long = "x".repeat(200_000);
    assert!(matches!(fail(&command(&["true", &long])), LaunchError::Step { .. }));
}

#[test]
fn a_failed_launch_leaves_no_zombie() {
    let mut launcher = Launcher::new().unwrap();
    for _ in 0..3 {
        let error = launcher.execute(&command(&["/no/such/program"]), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, LaunchError::NotFound { .. }));
    }
    assert_eq!(launcher.execute(&command(&["true"]), &AtomicBool::new(false)).unwrap().end, End::Exited(0));
    let own = std::process::id().to_string();
    let children = processes().into_iter().filter(|stat| stat.parent == own && stat.name == "(launch)");
    assert_eq!(children.count(), 0);
}

#[test]
fn arguments_arrive_byte_by_byte() {
    let odd = OsString::from_vec(vec![0xff, b' ', b'"', b'\n', 0x80]);
    let argv = vec!["printf".into(), "[%s]".into(), "two words".into(), "".into(), "$HOME *".into(), odd];
    let execution = run(&Command { argv, ..command(&[]) });
    assert_eq!(stdout(&execution), b"[two words][][$HOME *][\xff \"\n\x80]");
}

#[test]
fn the_environment_is_exactly_as_given() {
    let odd = OsString::from_vec(vec![b'x', 0xfe]);
    let env = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("B".into(), "with = and space".into()),
        ("A".into(), odd),
        ("EMPTY".into(), "".into()),
    ];
    let execution = run(&Command { env, ..command(&["env", "-0"]) });
    assert_eq!(stdout(&execution), b"PATH=/usr/bin:/bin\0B=with = and space\0A=x\xfe\0EMPTY=\0");
}

#[test]
fn the_path_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/echo", folder.path().join("bin/speedup-echo")).unwrap();
    let env = vec![("PATH".into(), "/no/such:bin".into())];
    let directory = folder.path().to_owned();
    let execution = run(&Command { env, directory: directory.clone(), ..command(&["speedup-echo", "hi"]) });
    assert_eq!(stdout(&execution), b"hi\n");
    let execution = run(&Command { env: vec![], directory, ..command(&["bin/speedup-echo", "hi"]) });
    assert_eq!(stdout(&execution), b"hi\n");
    assert_eq!(run(&Command { env: vec![], ..command(&["true"]) }).end, End::Exited(0));
}

#[test]
fn it_runs_in_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let execution = run(&Command { directory: place.clone(), ..command(&["/bin/pwd", "-P"]) });
    assert_eq!(text(&execution).trim_end(), place.to_str().unwrap());
}

#[test]
fn it_inherits_nothing_else() {
    let _held = std::fs::File::open("/dev/zero").unwrap();
    // Standard streams, and the folder that ls itself reads.
    assert_eq!(text(&run(&command(&["ls", "/proc/self/fd"]))), "0\n1\n2\n3\n");
    let status = text(&run(&command(&["cat", "/proc/self/status", "/proc/self/stat"])));
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert_eq!(text(&run(&command(&["readlink", "/proc/self/fd/0"]))), "/dev/null\n");
    // Its own process group.
    assert_eq!(sh("set -- $(cat /proc/$$/stat); [ $1 = $5 ]").end, End::Exited(0));
}

#[test]
fn binary_output_is_hashed_whole_and_kept_in_part() {
    let whole: Vec<u8> = (0..300_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), &whole).unwrap();
    let sink = Sink::Capture { limit: 10 << 20, keep: 1000 };
    let directory = folder.path().to_owned();
    let execution = run(&Command { directory, stdout: sink, ..command(&["cat", "data"]) });
    let output = execution.stdout.unwrap();
    assert_eq!((output.bytes, output.over_limit), (1_200_000, false));
    assert_eq!(output.blake3, blake3::hash(&whole));
    assert_eq!(output.head, &whole[..1000]);
    assert_eq!(execution.stderr.unwrap().blake3, blake3::hash(b""));
}

#[test]
fn the_streams_are_kept_apart() {
    let execution = sh("echo out; echo err >&2");
    assert_eq!(stdout(&execution), b"out\n");
    assert_eq!(stderr(&execution), b"err\n");
    let nowhere =
        run(&Command { stdout: Sink::Null, stderr: Sink::Null, ..command(&["ls", "/", "/nowhere"]) });
    assert_eq!((nowhere.stdout, nowhere.stderr, nowhere.end), (None, None, End::Exited(2)));
}

#[test]
fn the_streams_can_be_opened_anew() {
    assert_eq!(stdout(&sh("echo all > /dev/stdout")), b"all\n");
    assert_eq!(stdout(&sh("echo a; echo bcd >> /dev/stdout; echo e")), b"a\nbcd\ne\n");
    assert_eq!(
        stdout(&sh("echo in; cat /etc/hostname > /dev/null; echo out > /proc/self/fd/1; echo on")),
        b"out\non\n"
    );
    let tee = sh("echo both | tee /dev/stderr");
    assert_eq!((stdout(&tee), stderr(&tee)), (&b"both\n"[..], &b"both\n"[..]));
    assert_eq!(stdout(&sh("echo 1 | dd of=/dev/stdout 2>/dev/null")), b"1\n");
    assert_eq!(stdout(&sh("(echo from a child > /dev/stdout) & wait")), b"from a child\n");
    assert_eq!(stderr(&sh("echo all > /dev/stderr; echo more >&2")), b"all\nmore\n");
}

#[test]
fn a_flood_of_output_is_stopped() {
    for program in [&["yes"][..], &["sh", "-c", "yes > /dev/stdout"], &["sh", "-c", "yes >> /dev/stdout"]] {
        let execution = run(&command(program));
        assert_ne!(execution.end, End::Exited(0));
        let output = execution.stdout.unwrap();
        assert!(output.over_limit);
        assert_eq!(output.bytes, 1 << 20);
        assert_eq!(output.blake3, blake3::hash(&b"y\n".repeat(1 << 19)));
    }
}

#[test]
fn output_of_just_the_limit_is_not_over_it() {
    let sink = Sink::Capture { limit: 100_000, keep: 0 };
    let of = |bytes| {
        let execution = run(&Command { stdout: sink, ..command(&["head", "-c", bytes, "/dev/zero"]) });
        execution.stdout.unwrap()
    };
    let full = of("100000");
    assert_eq!((full.bytes, full.over_limit), (100_000, false));
    let over = of("100001");
    assert_eq!((over.bytes, over.over_limit), (100_000, true));
    assert_eq!(full.blake3, over.blake3);
    assert_eq!((of("0").bytes, of("0").over_limit), (0, false));
}

#[test]
fn a_program_may_close_its_streams() {
    assert_eq!(sh("exec <&- >&- 2>&-; exit 3").end, End::Exited(3));
}

#[test]
fn a_program_may_execute_another() {
    let execution = sh("exec sh -c 'exec sh -c \"sleep 0.01; exit 4\"'");
    assert_eq!(execution.end, End::Exited(4));
    assert!(execution.wall_ns >= 10_000_000);
}

#[test]
fn a_background_process_of_its_group_does_not_survive() {
    survivors_of("sleep 1000 & echo $!", 1);
}

#[test]
fn a_process_in_a_session_of_its_own_does_not_survive() {
    survivors_of(&format!("setsid sh -c 'echo $$; exec sleep 1000' & {WRITTEN}"), 1);
}

#[test]
fn a_twice_forked_daemon_with_its_children_does_not_survive() {
    // The daemon tells the ids of itself and of its children.
    let daemon = "echo $$; exec env -i setsid sh -c 'sleep 1000 & echo $!; sleep 1000 & echo $!; \
                  exec sleep 1000' < /dev/null 2> /dev/null";
    let wait = "while [ \"$(wc -l < /dev/fd/3)\" -lt 3 ]; do :; done";
    survivors_of(&format!("exec 3>&1; (setsid sh -c \"{}\" &) ; {wait}", daemon.replace('$', "\\$")), 3);
}

#[test]
fn what_a_launcher_within_a_run_marks_is_still_of_the_run() {
    let lower = "prlimit --pid $$ --locks=$(($(prlimit --pid $$ --locks -o HARD --noheadings --raw) - 1))";
    survivors_of(&format!("{lower}; setsid sh -c 'echo $$; exec sleep 1000' & {WRITTEN}"), 1);
}

#[test]
fn an_orphan_that_ended_by_itself_is_no_survivor() {
    assert_eq!(sh("(sh -c 'exit 3' &); exit 0").survivors_left, 0);
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let script = "sleep 1000 & echo $!; sleep 1000 & echo $!; wait";
    let execution = run(&Command { timeout: SHORT, ..shell(script) });
    let End::TimedOut { at_ns, killed: false } = execution.end else { panic!("{execution:?}") };
    assert!(at_ns >= 200_000_000 && execution.wall_ns >= at_ns);
    gone(&text(&execution), 2);
}

#[test]
fn who_ignores_the_request_is_killed() {
    let script = "trap '' TERM; echo $$; while :; do sleep 1; done";
    let execution = run(&Command { timeout: SHORT, kill_grace: SHORT, ..shell(script) });
    let End::TimedOut { at_ns, killed: true } = execution.end else { panic!("{execution:?}") };
    assert!(at_ns >= 200_000_000 && execution.wall_ns >= 400_000_000);
    gone(&text(&execution), 1);
}

#[test]
fn the_grace_lets_it_end_its_own_way() {
    let execution = run(&Command {
        timeout: SHORT,
        ..shell("trap 'echo bye; exit 5' TERM; while :; do sleep 0.01; done")
    });
    assert!(matches!(execution.end, End::TimedOut { killed: false, .. }));
    assert_eq!(stdout(&execution), b"bye\n");
}

#[test]
fn who_stops_itself_runs_out_of_time() {
    let execution = run(&Command { timeout: SHORT, ..shell("kill -STOP $$") });
    assert!(matches!(execution.end, End::TimedOut { killed: false, .. }), "{execution:?}");
}

#[test]
fn who_leaves_the_group_runs_out_of_time() {
    let execution = run(&Command { timeout: SHORT, ..command(&["setsid", "--wait", "sleep", "1000"]) });
    assert!(matches!(execution.end, End::TimedOut { .. }));
    let perl = ["perl", "-e", "setpgrp(0, getppid()) or 1; use POSIX; POSIX::setpgid(0, 0); sleep 1000"];
    assert!(matches!(run(&Command { timeout: SHORT, ..command(&perl) }).end, End::TimedOut { .. }));
}

#[test]
fn a_stop_that_is_already_wanted_kills_at_once() {
    let mut launcher = Launcher::new().unwrap();
    let execution = launcher.execute(&shell("sleep 1000"), &AtomicBool::new(true)).unwrap();
    assert!(matches!(execution.end, End::Interrupted { .. }), "{execution:?}");
}

mod interrupt {
    #![expect(unsafe_code, reason = "a signal handler has no safe interface")]

    use std::os::unix::thread::JoinHandleExt;
    use std::sync::atomic::Ordering;

    use super::*;

    static STOP: AtomicBool = AtomicBool::new(false);

    extern "C" fn stop(_: libc::c_int) {
        STOP.store(true, Ordering::Release);
    }

    #[test]
    fn a_signal_and_the_flag_end_the_wait() {
        let handler: extern "C" fn(libc::c_int) = stop;
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().to_owned();
        let running = std::thread::spawn(move || {
            let command = Command { directory, ..shell("trap '' TERM; echo > here; sleep 1000") };
            Launcher::new().unwrap().execute(&command, &STOP).unwrap()
        });
        while !folder.path().join("here").exists() {
            std::thread::yield_now();
        }
        // SAFETY: the thread is not joined yet.
        unsafe { libc::pthread_kill(running.as_pthread_t(), libc::SIGUSR2) };
        let execution = running.join().unwrap();
        assert!(matches!(execution.end, End::Interrupted { .. }), "{execution:?}");
        assert_eq!(execution.survivors_left, 0);
    }
}

/// Runs a script that prints the ids of so many processes that outlive it, and sees that they do not.
fn survivors_of(script: &str, count: u32) {
    let execution = sh(script);
    assert_eq!(execution.end, End::Exited(0), "{execution:?}");
    assert_eq!((execution.survivors_killed, execution.survivors_left), (count, 0), "{execution:?}");
    gone(&text(&execution), count as usize);
}

/// None of the printed processes is there any more, not as a zombie either.
fn gone(ids: &str, count: usize) {
    assert_eq!(ids.lines().count(), count, "{ids}");
    for id in ids.lines() {
        assert!(!Path::new("/proc").join(id).exists(), "{id} is still there");
    }
}

struct Stat {
    name: String,
    parent: String,
}

fn processes() -> Vec<Stat> {
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    stats
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| {
            let mut words = stat.split_whitespace().skip(1);
            let name = words.next()?.to_owned();
            Some(Stat { name, parent: words.nth(1)?.to_owned() })
        })
        .collect()
}

fn command(argv: &[&str]) -> Command {
    Command {
        argv: argv.iter().map(OsString::from).collect(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        directory: "/".into(),
        timeout: LONG,
        kill_grace: LONG,
        stdout: CAPTURE,
        stderr: CAPTURE,
    }
}

fn shell(script: &str) -> Command {
    command(&["sh", "-c", script])
}

fn run(command: &Command) -> Execution {
    Launcher::new().unwrap().execute(command, &AtomicBool::new(false)).unwrap()
}

fn sh(script: &str) -> Execution {
    run(&shell(script))
}

fn fail(command: &Command) -> LaunchError {
    Launcher::new().unwrap().execute(command, &AtomicBool::new(false)).unwrap_err()
}

fn stdout(execution: &Execution) -> &[u8] {
    &execution.stdout.as_ref().unwrap().head
}

fn stderr(execution: &Execution) -> &[u8] {
    &execution.stderr.as_ref().unwrap().head
}

fn text(execution: &Execution) -> String {
    String::from_utf8(stdout(execution).to_owned()).unwrap()
}
