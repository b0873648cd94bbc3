//! The wish to stop: SIGTERM or SIGINT. It wakes the loop when it waits, and is a flag for the launcher when a run is
//! timed, because then nobody polls the loop.

use std::{io, sync::Arc, sync::atomic::AtomicBool, sync::atomic::Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Listens for the signals; within a tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for kind in [libc::SIGTERM, libc::SIGINT] {
            let flag = Arc::clone(&flag);
            let raise = move || flag.store(true, Ordering::SeqCst);
            register(kind, raise)?;
        }
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { flag, terminate, interrupt })
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    pub(crate) fn is_wished(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Wishes it from within: the coordinator gave the host back.
    pub(crate) fn wish(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Waits until somebody wishes it.
    pub(crate) async fn wished(&mut self) {
        if self.is_wished() {
            return;
        }
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[expect(unsafe_code, reason = "an action within a signal handler")]
fn register(kind: i32, raise: impl Fn() + Sync + Send + 'static) -> io::Result<()> {
    // SAFETY: the action stores to an atomic, which is allowed in a signal handler, and does nothing else.
    unsafe { signal_hook_registry::register(kind, raise) }.map(drop)
}
