//! A connection to a coordinator: over TLS, or plain on loopback where its user says so.

use std::{
    error::Error, future::Future, future::poll_fn, io, iter::successors, net::IpAddr, pin::Pin, sync::Arc,
    sync::PoisonError, sync::RwLock, task::Context, task::Poll, time::Duration,
};

use bytes::Bytes;
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustls::{AlertDescription, ClientConfig, pki_types::ServerName};
use thiserror::Error as ThisError;
use tokio::{io::AsyncRead, io::AsyncWrite, io::ReadBuf, net::TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tonic::{codegen::http::Uri, transport::Channel, transport::Endpoint};
use tower_service::Service;

use crate::credentials::Credentials;
use crate::liveness::{KEEPALIVE, UNACKNOWLEDGED_MS};
use crate::random;
use crate::trust::{Trust, TrustError};

/// How long a connection may take to stand, its handshake included.
const CONNECT: Duration = Duration::from_secs(10);
/// Pauses between attempts after a connection that was ended before its handshake was over, the first and the longest: a
/// coordinator under pressure ends some, and takes the next.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(320));
/// Most attempts; all their pauses together take two seconds.
const ATTEMPTS: u32 = 10;

/// Most that is read of a connection before it is handed on; HTTP/2's settings are some forty bytes.
const FIRST_BYTES: usize = 256;

/// Where a coordinator is, and how to reach it.
#[derive(Clone, Debug)]
pub struct Reach {
    url: String,
    endpoint: Endpoint,
    tls: Option<Tls>,
}

/// What a connection is secured with; the next one may be with renewed credentials.
type Tls = Arc<RwLock<Arc<ClientConfig>>>;

/// Why a coordinator cannot be reached, before anything is connected.
#[derive(Debug, ThisError)]
pub enum ReachError {
    #[error("{url:?} is not an address such as https://127.0.0.1:7077")]
    Address { url: String },
    #[error("{url} does not use TLS and is not on this machine")]
    NotLoopback { url: String },
    #[error("there are no credentials for {url}")]
    NoCredentials { url: String },
    /// Certificates cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

speedup_core::hints! { ReachError:
    Self::Address { .. } => "write it as https://127.0.0.1:7077",
    Self::NotLoopback { .. } => "write https://, or reach it through an ssh tunnel on this machine",
    Self::NoCredentials { .. } =>
        "take the access file that the coordinator wrote where its user can read it, or enrol with a token: \
            `speedup access enrol`, and --token-file for an agent",
}

impl Reach {
    /// By the scheme of the address: `https` with the credentials, `http` without any on loopback.
    pub fn new(url: &str, credentials: Option<&Credentials>) -> Result<Self, ReachError> {
        if !is_secured(url) {
            return Self::plain(url);
        }
        let credentials = credentials.ok_or_else(|| ReachError::NoCredentials { url: url.to_owned() })?;
        let trust = Trust::Authority(credentials.authority_pem().to_owned());
        Self::secured(url, &trust, Some(credentials))
    }

    /// Over TLS; without credentials one can only enrol.
    pub fn secured(url: &str, trust: &Trust, credentials: Option<&Credentials>) -> Result<Self, ReachError> {
        let endpoint = endpoint(url, "https")?;
        let tls = Arc::new(RwLock::new(trust.client_config(credentials)?));
        Ok(Self { url: url.to_owned(), endpoint, tls: Some(tls) })
    }

    fn plain(url: &str) -> Result<Self, ReachError> {
        let endpoint = endpoint(url, "http")?;
        let host = endpoint.uri().host().unwrap_or_default();
        let address = bare(host).parse::<IpAddr>();
        if host != "localhost" && !address.is_ok_and(|address| address.is_loopback()) {
            return Err(ReachError::NotLoopback { url: url.to_owned() });
        }
        Ok(Self { url: url.to_owned(), endpoint, tls: None })
    }

    /// The address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Takes other credentials from the next connection on, also that of a channel which has lost its own.
    pub fn replace(&self, credentials: &Credentials) -> Result<(), ReachError> {
        let Some(tls) = &self.tls else { return Ok(()) };
        let trust = Trust::Authority(credentials.authority_pem().to_owned());
        *tls.write().unwrap_or_else(PoisonError::into_inner) = trust.client_config(Some(credentials))?;
        Ok(())
    }

    /// Connects.
    pub async fn connect(&self) -> Result<Channel, tonic::transport::Error> {
        self.endpoint.connect_with_connector(self.connector()).await
    }

    /// A connection that is made when it is first used.
    pub fn connect_lazy(&self) -> Channel {
        self.endpoint.connect_with_connector_lazy(self.connector())
    }

    fn connector(&self) -> Connector {
        let (time, interval, retries) = KEEPALIVE;
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(time));
        http.set_keepalive_interval(Some(interval));
        http.set_keepalive_retries(Some(retries));
        http.set_tcp_user_timeout(Some(Duration::from_millis(UNACKNOWLEDGED_MS.into())));
        Connector { http, tls: self.tls.clone() }
    }
}

/// Whether a connection failed because one end does not take the certificate of the other.
pub fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source()).any(|error| {
        // An error of a stream says what it has inside, but does not give it as its source.
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inside = inside.and_then(|inside| inside.downcast_ref::<rustls::Error>());
        error.downcast_ref::<rustls::Error>().or(inside).is_some_and(is_about_certificates)
    })
}

fn is_about_certificates(error: &rustls::Error) -> bool {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => true,
        rustls::Error::AlertReceived(alert) => matches!(
            alert,
            AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateRequired
                | AlertDescription::UnknownCA
        ),
        _ => false,
    }
}

/// Whether an address asks for TLS.
pub(crate) fn is_secured(url: &str) -> bool {
    url.starts_with("https://")
}

fn endpoint(url: &str, scheme: &str) -> Result<Endpoint, ReachError> {
    let wrong = || ReachError::Address { url: url.to_owned() };
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| wrong())?;
    if endpoint.uri().scheme_str() != Some(scheme) || endpoint.uri().host().is_none() {
        return Err(wrong());
    }
    Ok(endpoint.connect_timeout(CONNECT))
}

/// The host of an address without the brackets around one of IPv6.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[derive(Clone, Debug)]
struct Connector {
    http: HttpConnector,
    tls: Option<Tls>,
}

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, BoxError>> + Send>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let name = ServerName::try_from(bare(uri.host().unwrap_or_default()).to_owned());
        let mut connector = self.clone();
        Box::pin(async move {
            let Some(tls) = connector.tls.take() else {
                let stream = connector.http.call(uri).await?.into_inner();
                return Ok(TokioIo::new(Stream::Plain(stream)));
            };
            let tls = tls.read().unwrap_or_else(PoisonError::into_inner).clone();
            let tls = TlsConnector::from(tls);
            let name = name?;
            let mut pause = PAUSES.0;
            for _ in 1..ATTEMPTS {
                let stream = connector.http.call(uri.clone()).await?.into_inner();
                match secured(&tls, name.clone(), stream).await {
                    Ok(stream) => return Ok(TokioIo::new(stream)),
                    Err(error) if was_ended(&error) => tokio::time::sleep(jittered(pause)).await,
                    Err(error) => return Err(error.into()),
                }
                pause = (pause * 2).min(PAUSES.1);
            }
            let stream = connector.http.call(uri).await?.into_inner();
            Ok(TokioIo::new(secured(&tls, name, stream).await?))
        })
    }
}

/// A connection that the other end has taken. A client's handshake is over before the server has seen who it is, and the
/// server may still end the connection then; its first bytes, HTTP/2's settings, say that it did not.
async fn secured(tls: &TlsConnector, name: ServerName<'static>, stream: TcpStream) -> io::Result<Stream> {
    let mut stream = Box::new(tls.connect(name, stream).await?);
    let mut early = vec![0; FIRST_BYTES];
    let mut buffer = ReadBuf::new(&mut early);
    poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer)).await?;
    let read = buffer.filled().len();
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    early.truncate(read);
    Ok(Stream::Secured { stream, early: Bytes::from(early) })
}

/// Whether the other end let go of a connection without a word.
fn was_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// Half of a pause to all of it, so that those who were ended together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let [byte] = random();
    pause / 2 + pause / 2 * u32::from(byte) / u32::from(u8::MAX)
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Secured {
        stream: Box<TlsStream<TcpStream>>,
        /// What was read to see whether it is taken, and not handed on yet.
        early: Bytes,
    },
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Secured { early, .. } if !early.is_empty() => {
                let taken = early.split_to(early.len().min(buffer.remaining()));
                buffer.put_slice(&taken);
                Poll::Ready(Ok(()))
            }
            Self::Secured { stream, .. } => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secured { stream, .. } => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secured { stream, .. } => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secured { stream, .. } => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_this_machine_is_spoken_to() {
        for near in ["http://127.0.0.1:7077", "http://[::1]:7077", "http://localhost:7077"] {
            Reach::new(near, None).unwrap();
        }
        for far in ["http://10.0.0.1:7077", "http://[2001:db8::1]:7077", "http://login:7077"] {
            assert!(matches!(Reach::new(far, None), Err(ReachError::NotLoopback { .. })), "{far}");
        }
        for wrong in ["", "7077", "ftp://127.0.0.1", "http://"] {
            assert!(matches!(Reach::new(wrong, None), Err(ReachError::Address { .. })), "{wrong}");
        }
        let bare = Reach::new("https://127.0.0.1:7077", None);
        assert!(matches!(bare, Err(ReachError::NoCredentials { .. })));
    }

    #[derive(Debug, ThisError)]
    #[error("no connection")]
    struct Above(#[source] io::Error);

    #[test]
    fn a_certificate_that_is_not_taken_is_told_from_a_coordinator_that_is_not_there() {
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let refused = rustls::Error::AlertReceived(AlertDescription::CertificateRevoked);
        for error in [unknown, refused] {
            assert!(is_untrusted(&error));
            assert!(is_untrusted(&Above(io::Error::new(io::ErrorKind::InvalidData, error))));
        }
        let words = io::Error::other("the certificate's disk is away");
        assert!(!is_untrusted(&Above(words)) && !is_untrusted(&rustls::Error::HandshakeNotComplete));
    }
}
