//! How an agent is started where an engine gives out a host.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the program and the state of agents lie, as every node sees them: on a shared disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// The program: this same one.
    pub program: PathBuf,
    /// The directory of the agents' states and logs, one a node.
    pub state: PathBuf,
}

/// How an agent is started that finds this coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentStart {
    /// Where its program and state lie.
    pub(crate) place: AgentPlace,
    /// Where the coordinator listens.
    pub(crate) address: SocketAddr,
}

impl AgentStart {
    /// The arguments by which it finds and is admitted by the coordinator: all that depends on how one connects.
    pub(crate) fn connection(&self) -> Vec<String> {
        vec!["--coordinator".to_owned(), format!("http://{}", self.reached_at())]
    }

    /// Whether other machines reach the coordinator.
    pub(crate) fn is_reached_from_elsewhere(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// A coordinator that listens at every address of its machine is found by the machine's name.
    fn reached_at(&self) -> String {
        if !self.address.ip().is_unspecified() {
            return self.address.to_string();
        }
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        format!("{name}:{}", self.address.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> AgentStart {
        let place = AgentPlace { program: "/bin/speedup".into(), state: "/home/a/agents".into() };
        AgentStart { place, address: address.parse().unwrap() }
    }

    #[test]
    fn a_coordinator_at_every_address_is_found_by_its_name() {
        assert_eq!(at("10.0.0.1:70").connection(), ["--coordinator", "http://10.0.0.1:70"]);
        assert_eq!(at("[fe80::1]:70").connection()[1], "http://[fe80::1]:70");
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert_eq!(at("0.0.0.0:70").connection()[1], format!("http://{name}:70"));
        assert!(
            !at("127.0.0.1:70").is_reached_from_elsewhere() && at("0.0.0.0:70").is_reached_from_elsewhere()
        );
    }
}
