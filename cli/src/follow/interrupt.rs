//! Ctrl-C and SIGTERM, as something to wait for.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{exit::Exit, exit::failure::Failure};

/// The signals that ask this process to end. From [`Interrupts::listen`] on they do nothing else.
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Takes the signals over.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).context("cannot wait for signals").map_err(Failure::infrastructure);
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next of them; gives the exit code of a command that it ends.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}
