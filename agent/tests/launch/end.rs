//! Nothing outlives a run, and every run ends.

use std::{path::Path, sync::atomic::AtomicBool, time::Duration};

use speedup_agent::launch::{End, LaunchCommand, Launcher};

use super::{command, run, sh, shell, stdout, text};

/// Waits in a script until something stands in its output.
pub(super) const WRITTEN: &str = "while ! [ -s /dev/stdout ]; do :; done";
/// For what must not.
const SHORT: Duration = Duration::from_millis(200);

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
    // No group's leader when it calls setsid, so it need not fork for that. It tells the ids of its children
    // and its own.
    let daemon = "exec env -i setsid sh -c 'sleep 1000 & echo $!; sleep 1000 & echo $!; echo $$; \
                  exec sleep 1000' < /dev/null 2> /dev/null";
    let wait = "while [ \"$(wc -l < /dev/fd/3)\" -lt 3 ]; do :; done";
    survivors_of(&format!("exec 3>&1; (sh -c \"{}\" &); {wait}", daemon.replace('$', "\\$")), 3);
}

#[test]
fn what_a_launcher_within_a_run_marks_is_still_of_the_run() {
    let lower = "prlimit --pid $$ --locks=$(($(prlimit --pid $$ --locks -o HARD --noheadings --raw) - 1))";
    survivors_of(&format!("{lower}; setsid sh -c 'echo $$; exec sleep 1000' & {WRITTEN}"), 1);
}

#[test]
fn who_keeps_forking_is_caught() {
    let forker = "while :; do setsid sh -c 'sleep 1000 & sleep 1000' & done";
    let execution = sh(&format!("setsid sh -c \"{forker}\" & exec sleep 0.05"));
    assert!(execution.survivors_killed > 0 && execution.survivors_left == 0, "{execution:?}");
}

#[test]
fn an_orphan_that_ended_by_itself_is_no_survivor() {
    assert_eq!(sh("(sh -c 'exit 3' &); exit 0").survivors_left, 0);
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let script = "sleep 1000 & echo $!; sleep 1000 & echo $!; wait";
    let execution = run(&LaunchCommand { timeout: SHORT, ..shell(script) });
    let End::TimedOut { at_ns, killed: false } = execution.end else { panic!("{execution:?}") };
    assert!(at_ns >= 200_000_000 && execution.wall_ns >= at_ns);
    gone(&text(&execution), 2);
}

#[test]
fn who_ignores_the_request_is_killed() {
    let script = "trap '' TERM; echo $$; while :; do sleep 1; done";
    let execution = run(&LaunchCommand { timeout: SHORT, kill_grace: SHORT, ..shell(script) });
    let End::TimedOut { at_ns, killed: true } = execution.end else { panic!("{execution:?}") };
    assert!(at_ns >= 200_000_000 && execution.wall_ns >= 400_000_000);
    gone(&text(&execution), 1);
}

#[test]
fn the_grace_lets_it_end_its_own_way() {
    let execution = run(&LaunchCommand {
        timeout: SHORT,
        ..shell("trap 'echo bye; exit 5' TERM; while :; do sleep 0.01; done")
    });
    assert!(matches!(execution.end, End::TimedOut { killed: false, .. }));
    assert_eq!(stdout(&execution), b"bye\n");
}

#[test]
fn who_stops_itself_runs_out_of_time() {
    let execution = run(&LaunchCommand { timeout: SHORT, ..shell("kill -STOP $$") });
    assert!(matches!(execution.end, End::TimedOut { killed: false, .. }), "{execution:?}");
}

#[test]
fn who_leaves_the_group_runs_out_of_time() {
    let execution = run(&LaunchCommand { timeout: SHORT, ..command(&["setsid", "--wait", "sleep", "1000"]) });
    assert!(matches!(execution.end, End::TimedOut { .. }));
}

#[test]
fn a_stop_that_is_already_wanted_kills_at_once() {
    let mut launcher = Launcher::new().unwrap();
    let execution = launcher.execute(&shell("sleep 1000"), &AtomicBool::new(true)).unwrap();
    assert!(matches!(execution.end, End::Interrupted { .. }), "{execution:?}");
}

mod interrupt {
    #![expect(unsafe_code, reason = "a signal handler has no safe interface")]

    use std::{os::unix::thread::JoinHandleExt, sync::atomic::Ordering};

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
            let command = LaunchCommand { directory, ..shell("trap '' TERM; echo > here; sleep 1000") };
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
