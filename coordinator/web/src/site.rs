//! What is started: the page's address first, so that links can name it, then the page itself.

use std::{net::SocketAddr, sync::Arc};

use rustls::ServerConfig;
use speedup_access::{FairSemaphore, Secret};
use speedup_proto::v1::page_server::PageServer;
use thiserror::Error;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tonic::service::Routes;

use crate::context::{Context, SharedState, signed_in};
use crate::entry::Entrance;
use crate::live::{MAX_REPORT_STREAMS, MAX_STREAMS};
use crate::{routes, server};

/// How a page is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen, the first of these that is free; port 0 takes a free one.
    pub bind: Vec<SocketAddr>,
    /// The name by which browsers reach it where that is not the address.
    pub advertised: Option<String>,
    /// All names and addresses by which it may be called: others are another site's.
    pub names: Vec<String>,
    pub is_secure: bool,
}

/// Why there is no page.
#[derive(Debug, Error)]
pub enum SiteError {
    #[error("cannot listen on {address} for the web page")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("the web page has no address to listen on")]
    NoAddress,
}

/// A page that has its address and is not served yet.
#[derive(Debug)]
pub struct Site {
    listener: TcpListener,
    shared: Arc<SharedState>,
}

/// A page that is served until this is dropped.
#[derive(Debug)]
pub struct Running {
    serving: JoinHandle<()>,
    // Its other end is heard by all streams.
    _stop: watch::Sender<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Site {
    /// Takes the first address that is free.
    pub async fn bind(options: Options) -> Result<Self, SiteError> {
        let Options { bind, advertised, names, is_secure } = options;
        let mut refused = SiteError::NoAddress;
        for address in bind {
            match server::listen(address).and_then(|listener| Ok((listener.local_addr()?, listener))) {
                Ok((address, listener)) => {
                    let shared = Arc::new(shared(address, advertised, names, is_secure));
                    return Ok(Self { listener, shared });
                }
                Err(source) => refused = SiteError::Bind { address, source },
            }
        }
        Err(refused)
    }

    /// Where the page is.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// `routes` with the service `speedup.v1.Page`, which gives links to this page.
    pub fn routes(&self, routes: Routes) -> Routes {
        routes.add_service(PageServer::new(routes::PageDoor { shared: self.shared.clone() }))
    }

    /// Serves the page. The server drops what it holds when it ends, also by a panic, which nobody would see otherwise.
    pub fn serve(
        self,
        entrance: Entrance,
        tls: Option<Arc<ServerConfig>>,
        held: impl Send + 'static,
    ) -> Running {
        let (stop, stopped) = watch::channel(());
        let site = Arc::new(Context { shared: self.shared, entrance, stopped });
        let signed_in: server::SignedIn = {
            let site = site.clone();
            Arc::new(move |headers| signed_in(&site.shared, headers))
        };
        let serving = server::serve(self.listener, tls, routes::routes(site), signed_in);
        let serving = tokio::spawn(async move {
            let _held = held;
            serving.await;
        });
        Running { serving, _stop: stop }
    }
}

fn shared(
    address: SocketAddr,
    advertised: Option<String>,
    names: Vec<String>,
    is_secure: bool,
) -> SharedState {
    let scheme = if is_secure { "https" } else { "http" };
    let port = address.port();
    let authority = match &advertised {
        Some(name) if name.contains(':') => format!("[{name}]:{port}"),
        Some(name) => format!("{name}:{port}"),
        None => address.to_string(),
    };
    let own = [address.ip().to_string(), "localhost".into(), "127.0.0.1".into(), "::1".into()];
    SharedState {
        url: format!("{scheme}://{authority}"),
        port,
        is_secure,
        names: names.into_iter().chain(advertised).chain(own).map(|name| name.to_lowercase()).collect(),
        open_form_token: Secret::random().text().into(),
        streams: FairSemaphore::new(MAX_STREAMS),
        report_streams: FairSemaphore::new(MAX_REPORT_STREAMS),
        entries: Default::default(),
    }
}
