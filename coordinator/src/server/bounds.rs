//! What one connection may have the coordinator remember at once: calls, their headers, what it has sent and nobody has read.
//! All of it is said in HTTP/2's settings, so that an honest client waits by itself.

use tonic::transport::Server;

/// Bounds of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Calls at once.
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
