//! The services behind the doors, each with its bounds, as one set of routes.

use speedup_access::FairSemaphore;
use speedup_proto::limits;
use speedup_proto::v1::{
    self, access_server::AccessServer, agents_server::AgentsServer, events_server::EventsServer,
    experiments_server::ExperimentsServer, files_server::FilesServer, hosts_server::HostsServer,
    provision_server::ProvisionServer,
};
use tonic::{service::Routes, transport::Server};

use super::StartError;
use crate::admission::Admission;
use crate::door::{AccessDoor, AgentsDoor, EventsDoor, ExperimentsDoor, FilesDoor, HostsDoor, ProvisionDoor};
use crate::door::{DRAWN_AT_ONCE, EXPORTED_AT_ONCE};
use crate::handle::Handle;
use crate::metrics::Metrics;
use crate::monitor::Health;
use crate::provision::SshHosts;

/// Adds the service of a door to the routes, with the most bytes of its requests and answers, and reports it as serving.
macro_rules! add {
    ($routes:ident, $health:ident, $server:ident<$kind:ident>, $door:expr, $request:ident, $answer:ident) => {
        $health.set_serving::<$server<$kind>>().await;
        $routes.add_service(
            $server::new($door)
                .max_decoding_message_size(limits::$request)
                .max_encoding_message_size(limits::$answer),
        );
    };
}

/// All services of the coordinator.
pub(super) async fn doors(
    handle: &Handle,
    parts: &Health,
    admission: Option<Admission>,
    ssh: &SshHosts,
    metrics: &Metrics,
) -> Result<Routes, StartError> {
    let Health { blobs, provisioning, .. } = parts;
    let (health, health_service) = tonic_health::server::health_reporter();
    let mut routes = Routes::builder();
    let experiments = ExperimentsDoor {
        handle: handle.clone(),
        health: parts.clone(),
        requests: tokio::sync::Mutex::default(),
        drawing: FairSemaphore::new(DRAWN_AT_ONCE),
        exporting: FairSemaphore::new(EXPORTED_AT_ONCE),
    };
    add!(
        routes,
        health,
        ExperimentsServer<ExperimentsDoor>,
        experiments,
        MAX_REQUEST_BYTES,
        MAX_ANSWER_BYTES
    );
    let files = FilesDoor::new(blobs.clone());
    add!(routes, health, FilesServer<FilesDoor>, files, MAX_PIECE_MESSAGE_BYTES, MAX_PIECE_MESSAGE_BYTES);
    let hosts = HostsDoor { handle: handle.clone(), provisioning: provisioning.clone() };
    add!(routes, health, HostsServer<HostsDoor>, hosts, MAX_REQUEST_BYTES, MAX_ANSWER_BYTES);
    let events = EventsDoor { handle: handle.clone(), admission: admission.clone() };
    add!(routes, health, EventsServer<EventsDoor>, events, MAX_REQUEST_BYTES, MAX_ANSWER_BYTES);
    let provision = ProvisionDoor { provisioning: provisioning.clone(), ssh: ssh.clone() };
    add!(routes, health, ProvisionServer<ProvisionDoor>, provision, MAX_REQUEST_BYTES, MAX_ANSWER_BYTES);
    let agents =
        AgentsDoor { handle: handle.clone(), blobs: blobs.clone(), provisioning: provisioning.clone() };
    add!(routes, health, AgentsServer<AgentsDoor>, agents, MAX_AGENT_MESSAGE_BYTES, MAX_GRANT_BYTES);
    if let Some(admission) = admission {
        let access = AccessDoor { admission, handle: handle.clone(), metrics: metrics.clone() };
        add!(routes, health, AccessServer<AccessDoor>, access, MAX_ACCESS_REQUEST_BYTES, MAX_ACCESS_BYTES);
    }
    routes.add_service(health_service);
    routes.add_service(reflection().build_v1().map_err(StartError::Reflection)?);
    // What grpcio-reflection and older clients ask for.
    routes.add_service(reflection().build_v1alpha().map_err(StartError::Reflection)?);
    Ok(routes.routes())
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Bounds of what the coordinator remembers of one connection: calls, their headers, what was sent and is not read yet. All of
/// them are HTTP/2 settings, so that an honest client waits by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    streams: u32,
    /// Bytes of a call, and of all calls, that may be on their way; none for the usual, a MiB each.
    windows: Option<(u32, u32)>,
    /// Bytes of the headers of a call.
    header_bytes: u32,
    /// Calls that are given up before they were looked at; beyond that the connection is ended.
    resets: usize,
    /// Calls that break the rules of HTTP/2; beyond that the connection is ended.
    errors: usize,
}

impl Bounds {
    /// Of one who has shown no certificate: it enrols or asks for health, which is one call with 16 KiB at most.
    pub(super) const STRANGER: Self =
        Self { streams: 4, windows: Some((32 << 10, 65_535)), header_bytes: 8 << 10, resets: 4, errors: 8 };
    /// Of one with a certificate: an agent has a session and some files under way, a command a few calls.
    pub(super) const KNOWN: Self =
        Self { streams: 256, windows: None, header_bytes: 16 << 10, resets: 64, errors: 256 };
    /// Of a way within this process, which many pages and reports share.
    pub(super) const INSIDE: Self = Self { streams: 8_192, ..Self::KNOWN };

    /// A server whose connections have these bounds.
    pub(super) fn server(self) -> Server {
        let Self { streams, windows, header_bytes, resets, errors } = self;
        Server::builder()
            .max_concurrent_streams(streams)
            .initial_stream_window_size(windows.map(|(of_stream, _)| of_stream))
            .initial_connection_window_size(windows.map(|(_, of_connection)| of_connection))
            .http2_max_header_list_size(header_bytes)
            .http2_max_pending_accept_reset_streams(Some(resets))
            .http2_max_local_error_reset_streams(Some(errors))
    }
}
