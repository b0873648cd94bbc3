//! A connection by ssh that gives a host a port of its own loopback which leads to the coordinator. It ends with the
//! coordinator, however that ends: then nobody holds its standard input any more.

use std::{process::Stdio, time::Duration};

use speedup_core::value::excerpt::legible;
use tokio::{io::AsyncReadExt as _, process::Child, process::ChildStdin};

use super::client::{Client, Forward};

/// How long one that cannot be made takes to say so; after that it is taken to be there.
const EARLY_END: Duration = Duration::from_secs(3);
/// The ports that are tried, from the first: above those of services, below those that kernels give out.
const PORTS: (u16, u16) = (20_000, 12_000);
/// Most bytes of what ssh says at its end.
const MAX_WORDS_BYTES: u64 = 2_000;
/// What ssh says where the port is taken, by another or by a connection that the host does not know to be dead.
const PORT_TAKEN: &str = "remote port forwarding failed";

#[derive(Debug)]
pub(super) struct Tunnel {
    /// With its standard input, which is held as long.
    held: Option<(Child, Option<ChildStdin>)>,
    to: String,
    /// What the ports are drawn by.
    name: String,
    /// Ports that were taken.
    taken: u32,
}

impl Tunnel {
    /// One to be made, which leads to this address.
    pub(super) fn new(name: String, to: String) -> Self {
        Self { held: None, to, name, taken: 0 }
    }

    pub(super) fn port(&self) -> u16 {
        let hash = blake3::hash(format!("{} {}", self.name, self.taken).as_bytes());
        let drawn = u16::from_be_bytes([hash.as_bytes()[0], hash.as_bytes()[1]]);
        PORTS.0 + drawn % PORTS.1
    }

    /// Makes it if it is not there; else why it is not.
    pub(super) async fn hold(&mut self, client: &Client) -> Result<(), String> {
        if let Some((child, _)) = &mut self.held
            && matches!(child.try_wait(), Ok(None))
        {
            return Ok(());
        }
        let forward = Forward { port: self.port(), to: self.to.clone() };
        let mut command = crate::open_files::command("ssh");
        command.args(client.tunnel(&forward)).env("LC_ALL", "C");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C at the terminal is for the coordinator.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("cannot execute ssh: {error}"))?;
        // Who waits for a child closes its standard input, if it has it.
        let stdin = child.stdin.take();
        let Ok(ended) = tokio::time::timeout(EARLY_END, child.wait()).await else {
            self.held = Some((child, stdin));
            return Ok(());
        };
        let mut words = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            // What cannot be read is not told.
            let _ = stderr.take(MAX_WORDS_BYTES).read_to_end(&mut words).await;
        }
        let words = legible(&words).lines().map(str::trim).collect::<Vec<_>>().join("; ");
        if words.contains(PORT_TAKEN) {
            self.taken += 1;
        }
        Err(match (words.is_empty(), ended) {
            (false, _) => format!("no tunnel: ssh: {words}"),
            (true, Ok(status)) => format!("no tunnel: ssh ended without a message: {status}"),
            (true, Err(error)) => format!("no tunnel: ssh: {error}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_makes_place_for_another() {
        let mut tunnel = Tunnel::new("speedup-1 node1".to_owned(), "127.0.0.1:7077".to_owned());
        let first = tunnel.port();
        assert_eq!(tunnel.port(), first, "it stays");
        tunnel.taken += 1;
        assert_ne!(tunnel.port(), first);
        assert!((20_000..32_000).contains(&tunnel.port()));
    }
}
