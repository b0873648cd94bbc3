//! Whether a command ended only because its agent is ended.
//!
//! An engine that ends a job (a cancellation, a time limit, a requeue, a pre-emption), a service manager that stops a
//! service, and a machine that goes down send a signal to every process: to the command as well as to its agent, in any
//! order. What the command makes of it says nothing of its benchmark: it dies, its shell ends with 143, it is short of
//! output, or it ends well before its work is done.
//!
//! So a command that failed may have been asked to end a moment before its agent is. Where something ends the agent
//! together with all it started, the agent waits for its own signal after every failure; elsewhere, after an end that
//! looks like a signal's. A success is taken as it is unless the agent's signal was there when the command ended:
//! waiting after each would slow every experiment down for the sake of programs that answer SIGTERM with success.

use std::{path::Path, sync::atomic::AtomicBool, sync::atomic::Ordering, time::Duration};

use speedup_core::host::HostFacts;

use super::wait;
use crate::launch::End;

/// How long after a command the agent may be asked to end, where one signal goes to both: the sender takes one process
/// after another. The clock does not run any more.
const SAME_SIGNAL: Duration = Duration::from_millis(500);
/// The signals that ask a process to end.
const ASKING: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
/// What a shell adds to the number of the signal by which its command died.
const SHELL_OFFSET: i32 = 128;

/// What ends an agent together with all that it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndScope {
    /// The engine that gave the host out, or the manager of the service.
    Engine,
    /// Nothing that is known.
    Nobody,
}

impl EndScope {
    /// On the host with these facts and the kernel's files at `root`.
    pub(super) fn find(facts: &HostFacts, root: &Path) -> Self {
        let is_allocated = facts.allocation.is_some() || facts.allocation_ends.is_some();
        let groups = || std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        if is_allocated || is_service(&groups()) { Self::Engine } else { Self::Nobody }
    }

    /// Whether a failure came of the agent's own end. Waits for that where it may be on its way.
    pub(super) fn explains(self, end: &End, stop: &AtomicBool) -> bool {
        let is_likely = match self {
            Self::Engine => true,
            Self::Nobody => was_asked(end),
        };
        if is_likely {
            wait(SAME_SIGNAL, stop);
        }
        stop.load(Ordering::Acquire)
    }
}

/// Whether a command ended as one does that was asked to.
fn was_asked(end: &End) -> bool {
    match end {
        End::Signaled { signal, .. } => ASKING.contains(signal),
        End::Exited(code) => ASKING.iter().any(|signal| SHELL_OFFSET + signal == *code),
        End::TimedOut { .. } | End::Interrupted { .. } => false,
    }
}

/// Whether these memberships in control groups are those of a service of systemd, which stops it as a whole.
fn is_service(memberships: &str) -> bool {
    memberships.lines().any(|line| line.ends_with(".service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_looks_asked_for_by_its_signal_or_its_shell() {
        let died = |signal| End::Signaled { signal, core_dumped: false };
        for asked in [died(15), died(2), died(1), End::Exited(143), End::Exited(130), End::Exited(129)] {
            assert!(was_asked(&asked), "{asked:?}");
        }
        for other in [died(9), died(11), End::Exited(1), End::Exited(0), End::Exited(137)] {
            assert!(!was_asked(&other), "{other:?}");
        }
    }

    #[test]
    fn an_agent_lives_in_an_allocation_a_service_or_alone() {
        let tree = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(tree.path().join("proc/self")).expect("a directory");
        let end_scope = |facts: &HostFacts, memberships: &str| {
            std::fs::write(tree.path().join("proc/self/cgroup"), memberships).expect("a file");
            EndScope::find(facts, tree.path())
        };
        let alone = HostFacts::bare("host".parse().expect("an id"), "boot".parse().expect("an id"));
        let session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope\n";
        assert_eq!(end_scope(&alone, session), EndScope::Nobody);
        assert_eq!(end_scope(&alone, "0::/system.slice/speedup-agent.service\n"), EndScope::Engine);
        let allocation = Some("slurm:7".parse().expect("an id"));
        assert_eq!(end_scope(&HostFacts { allocation, ..alone }, session), EndScope::Engine);
    }
}
