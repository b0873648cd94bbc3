//! The services behind the doors, each with its bounds, as one set of routes.

use speedup_access::FairSemaphore;
use speedup_proto::{limits, v1, v1::access_server::AccessServer};
use tonic::{service::Routes, transport::Server};

use super::StartError;
use crate::admission::Admission;
use crate::door::{AccessDoor, AgentsDoor, EventsDoor, ExperimentsDoor, FilesDoor, HostsDoor, ProvisionDoor};
use crate::door::{DRAWN_AT_ONCE, EXPORTED_AT_ONCE};
use crate::handle::Handle;
use crate::metrics::{Health, Metrics};
use crate::provision::SshHosts;

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
    let experiments = v1::experiments_server::ExperimentsServer::new(ExperimentsDoor {
        handle: handle.clone(),
        health: parts.clone(),
        requests: tokio::sync::Mutex::default(),
        drawing: FairSemaphore::new(DRAWN_AT_ONCE),
        exporting: FairSemaphore::new(EXPORTED_AT_ONCE),
    })
    .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
    .max_encoding_message_size(limits::MAX_ANSWER_BYTES);
    let files = v1::files_server::FilesServer::new(FilesDoor::new(blobs.clone()))
        .max_decoding_message_size(limits::MAX_PIECE_MESSAGE_BYTES)
        .max_encoding_message_size(limits::MAX_PIECE_MESSAGE_BYTES);
    let hosts = HostsDoor { handle: handle.clone(), provisioning: provisioning.clone() };
    let hosts = v1::hosts_server::HostsServer::new(hosts)
        .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_encoding_message_size(limits::MAX_ANSWER_BYTES);
    let events = EventsDoor { handle: handle.clone(), admission: admission.clone() };
    let events = v1::events_server::EventsServer::new(events)
        .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_encoding_message_size(limits::MAX_ANSWER_BYTES);
    let provision = ProvisionDoor { provisioning: provisioning.clone(), ssh: ssh.clone() };
    let provision = v1::provision_server::ProvisionServer::new(provision)
        .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_encoding_message_size(limits::MAX_ANSWER_BYTES);
    let agents =
        AgentsDoor { handle: handle.clone(), blobs: blobs.clone(), provisioning: provisioning.clone() };
    let agents = v1::agents_server::AgentsServer::new(agents)
        .max_decoding_message_size(limits::MAX_AGENT_MESSAGE_BYTES)
        .max_encoding_message_size(limits::MAX_GRANT_BYTES);
    let reflection = reflection().build_v1().map_err(StartError::Reflection)?;
    // What grpcio-reflection and older clients ask for.
    let earlier_reflection = self::reflection().build_v1alpha().map_err(StartError::Reflection)?;
    health.set_serving::<v1::experiments_server::ExperimentsServer<ExperimentsDoor>>().await;
    health.set_serving::<v1::files_server::FilesServer<FilesDoor>>().await;
    health.set_serving::<v1::events_server::EventsServer<EventsDoor>>().await;
    health.set_serving::<v1::hosts_server::HostsServer<HostsDoor>>().await;
    health.set_serving::<v1::agents_server::AgentsServer<AgentsDoor>>().await;
    health.set_serving::<v1::provision_server::ProvisionServer<ProvisionDoor>>().await;
    let mut routes = Routes::builder();
    if let Some(admission) = admission {
        let access =
            AccessServer::new(AccessDoor { admission, handle: handle.clone(), metrics: metrics.clone() })
                .max_decoding_message_size(limits::MAX_ACCESS_REQUEST_BYTES)
                .max_encoding_message_size(limits::MAX_ACCESS_BYTES);
        health.set_serving::<AccessServer<AccessDoor>>().await;
        routes.add_service(access);
    }
    routes.add_service(health_service).add_service(reflection).add_service(earlier_reflection);
    routes
        .add_service(experiments)
        .add_service(files)
        .add_service(hosts)
        .add_service(events)
        .add_service(agents)
        .add_service(provision);
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
