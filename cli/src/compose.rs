//! The libraries put together: a coordinator with the analysis beside its own services, and the agent. Only this module
//! names them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use speedup_core::machine::Settings;

use crate::failure::Failure;

pub(crate) use speedup_agent::Options as AgentOptions;
pub(crate) use speedup_coordinator::{Coordinator, Options as CoordinatorOptions};

/// Any free port of this machine.
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Starts a coordinator with all its services.
pub(crate) async fn coordinator(options: CoordinatorOptions) -> Result<Coordinator, Failure> {
    speedup_coordinator::start(options, speedup_analysis_service::routes).await.map_err(|error| {
        let hint = error.hint();
        Failure::infrastructure(error).context("cannot start the coordinator").hint_if(hint)
    })
}

/// Starts a coordinator on a data directory for the time of one command.
pub(crate) async fn embedded(data: &Path) -> Result<Coordinator, Failure> {
    let options = CoordinatorOptions { data: data.to_owned(), bind: LOOPBACK, settings: Settings::default() };
    coordinator(options).await
}

/// The URL of a coordinator's doors.
pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// Serves the coordinator until the process is told to end. No other thread may run: the agent counts on being alone.
pub(crate) fn agent(options: AgentOptions) -> Result<(), Failure> {
    speedup_agent::run(options).map_err(|error| {
        let hint = error.hint();
        Failure::infrastructure(error).context("the agent cannot go on").hint_if(hint)
    })
}
