//! How an agent is started where an engine gives out a host.

use std::{net::IpAddr, net::Ipv4Addr, net::Ipv6Addr, net::SocketAddr, path::PathBuf};

use super::script::{line, quoted};

/// Where the program, the state and the access of agents lie, as every node sees them: on a shared disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// The program: this same one.
    pub program: PathBuf,
    /// The directory of the agents' states and logs, one a node.
    pub state: PathBuf,
    /// The file by which they are let in.
    pub access_file: PathBuf,
    /// By what name or address they reach the coordinator, where it is not the one that it listens on.
    pub host: Option<String>,
    /// By which port, where it is another than it listens on.
    pub port: Option<u16>,
}

/// How an agent is started that finds this coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentStart {
    /// Where its program and state lie.
    pub(crate) place: AgentPlace,
    pub(crate) address: SocketAddr,
    /// Whether it speaks TLS.
    pub(crate) is_secure: bool,
}

impl AgentStart {
    /// The arguments by which it finds and is admitted by the coordinator: all that depends on how one connects. Nothing of
    /// them is secret.
    pub(crate) fn connection(&self) -> Vec<String> {
        vec![
            "--coordinator".to_owned(),
            self.url(),
            "--access-file".to_owned(),
            self.place.access_file.display().to_string(),
        ]
    }

    /// The line of the shell that starts an agent in a job, on the node that `node` names to the shell. An agent's state is its
    /// node's, so that what an earlier one there has not delivered is delivered.
    pub(crate) fn command_line(&self, node: &str) -> String {
        let program = self.place.program.to_string_lossy().into_owned();
        let words = [program, "agent".to_owned(), "start".to_owned()];
        let start = line(words.into_iter().chain(self.connection()));
        format!("{start} --state {}/{node}", quoted(&self.place.state.to_string_lossy()))
    }

    /// The start of an agent on the coordinator's machine, where no name has to be resolved.
    pub(crate) fn on_this_machine(&self) -> Self {
        let place = AgentPlace { host: None, port: None, ..self.place.clone() };
        Self { place, address: nearby(self.address), is_secure: self.is_secure }
    }

    /// Where other machines reach the coordinator.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.reached_at())
    }

    /// Where programs of this machine reach it.
    pub(crate) fn reached_from_here(&self) -> SocketAddr {
        nearby(self.address)
    }

    /// Whether other machines reach the coordinator: where it listens, or through what its user says that it is reached by.
    pub(crate) fn is_reached_from_elsewhere(&self) -> bool {
        self.place.host.is_some() || !self.address.ip().is_loopback()
    }

    /// A coordinator that listens at every address of its machine is found by the machine's name.
    fn reached_at(&self) -> String {
        let port = self.place.port.unwrap_or(self.address.port());
        match &self.place.host {
            Some(host) if host.contains(':') => format!("[{host}]:{port}"),
            Some(host) => format!("{host}:{port}"),
            None if self.address.ip().is_unspecified() => {
                let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
                format!("{name}:{port}")
            }
            None => self.address.to_string(),
        }
    }
}

/// Where this machine reaches what listens there.
pub fn nearby(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn at(address: &str) -> AgentStart {
        let place = AgentPlace {
            program: "/home/a b/speedup".into(),
            state: "/home/a/agents".into(),
            access_file: "/home/a/access.toml".into(),
            host: None,
            port: None,
        };
        AgentStart { place, address: address.parse().unwrap(), is_secure: true }
    }

    #[test]
    fn a_coordinator_is_found_where_it_listens_or_is_said_to_be() {
        let url = |agent: &AgentStart| agent.connection()[1].clone();
        assert_eq!(
            at("10.0.0.1:70").connection(),
            ["--coordinator", "https://10.0.0.1:70", "--access-file", "/home/a/access.toml"]
        );
        assert_eq!(url(&at("[fe80::1]:70")), "https://[fe80::1]:70");
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert_eq!(url(&at("0.0.0.0:70")), format!("https://{name}:70"));
        let mut tunnelled = at("127.0.0.1:70");
        assert!(!tunnelled.is_reached_from_elsewhere() && at("0.0.0.0:70").is_reached_from_elsewhere());
        (tunnelled.place.host, tunnelled.place.port) = (Some("2001:db8::1".to_owned()), Some(71));
        assert!(tunnelled.is_reached_from_elsewhere());
        assert_eq!(url(&tunnelled), "https://[2001:db8::1]:71");
        assert_eq!(url(&tunnelled.on_this_machine()), "https://127.0.0.1:70");
        assert_eq!(url(&at("0.0.0.0:70").on_this_machine()), "https://127.0.0.1:70");
        assert_eq!(url(&at("[::]:70").on_this_machine()), "https://[::1]:70");
    }
}
