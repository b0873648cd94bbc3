//! The gRPC door of the analysis: reports of what the coordinator's export says, once or as observations arrive; any of
//! the methods on samples that a request brings; advice on how many runs to plan.
//!
//! It is a client of the coordinator and keeps nothing, so it runs in the coordinator's process ([`routes`]) or on its own
//! ([`start`]). It computes nothing itself: [`speedup_analysis`] does, apart from the event loop and a few at once.
//!
//! In reading order: [`routes`] and [`Service`]; `door` (requests and statuses), `intake` (an export becomes a study),
//! `watch` (reports as observations arrive), `compare`, `advise`, `turns` (how many compute at once); [`Advisor`]
//! with `decision` (the rules of repetition, applied for the coordinator).

mod advise;
mod advisor;
mod compare;
mod decision;
mod door;
mod intake;
mod service;
mod turns;
mod watch;

pub use advisor::Advisor;
pub use service::{Options, Service, StartError, start};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use speedup_proto::limits;
use speedup_proto::v1::analysis_server::AnalysisServer;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use tonic::service::Routes;
use tonic::transport::{Channel, Endpoint};

/// `routes` with the service `speedup.v1.Analysis`, which asks the coordinator at `address`. Nothing is
/// connected before the first request.
///
/// # Panics
/// Outside a tokio runtime, which the connection needs.
pub fn routes(address: SocketAddr, routes: Routes) -> Routes {
    let uri = format!("http://{}", reachable(address));
    let endpoint = Endpoint::from_shared(uri).expect("a socket address makes a URI");
    routes.add_service(service_of(endpoint))
}

/// Applies the rules of the experiments of the coordinator at `address`, until the answer is dropped.
///
/// # Panics
/// Outside a tokio runtime.
pub fn advisor(address: SocketAddr) -> Advisor {
    let uri = format!("http://{}", reachable(address));
    Advisor::start(Endpoint::from_shared(uri).expect("a socket address makes a URI"))
}

/// The coordinator's experiments. Nothing is connected before the first request.
fn experiments_of(endpoint: Endpoint) -> ExperimentsClient<Channel> {
    ExperimentsClient::new(endpoint.tcp_nodelay(true).connect_lazy())
        .max_encoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_decoding_message_size(limits::MAX_ANSWER_BYTES)
}

/// The service, which asks the coordinator at `endpoint`.
fn service_of(endpoint: Endpoint) -> AnalysisServer<door::AnalysisDoor> {
    AnalysisServer::new(door::AnalysisDoor::new(experiments_of(endpoint)))
        .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_encoding_message_size(limits::MAX_ANSWER_BYTES)
}

/// Where a server that listens on `address` can be reached from its own machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_asked_at_home() {
        let reached = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:7000"), "127.0.0.1:7000");
        assert_eq!(reached("[::]:7000"), "[::1]:7000");
        assert_eq!(reached("10.0.0.3:7000"), "10.0.0.3:7000");
    }
}
