//! The connection to a coordinator: one that runs somewhere, or one embedded for the time of this command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, anyhow};
use clap::Args;
use speedup_proto::limits::{MAX_ANSWER_BYTES, MAX_PIECE_MESSAGE_BYTES, MAX_REQUEST_BYTES};
use speedup_proto::v1::analysis_client::AnalysisClient;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::files_client::FilesClient;
use speedup_proto::v1::hosts_client::HostsClient;
use speedup_proto::v1::provision_client::ProvisionClient;
use tonic::transport::{Channel, Endpoint};

use crate::access;
use crate::compose::{self, Coordinator};
use crate::failure::Failure;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// After how long without a word the kernel asks whether the coordinator's machine is still there. The kernel does it,
/// not this process: it may share its machine with an agent that measures.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Which coordinator.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CoordinatorArguments {
    /// The coordinator's address, as http://127.0.0.1:7077; the access file says it when absent
    #[arg(long, env = "SPEEDUP_COORDINATOR", value_name = "URL")]
    pub(crate) coordinator: Option<String>,
    /// The access file that a coordinator wrote [default: $XDG_STATE_HOME/speedup/access.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) access_file: Option<PathBuf>,
}

/// Which coordinator, or a data directory without one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArguments {
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArguments,
    /// Read this data directory, of which no coordinator is running, instead of asking a coordinator
    #[arg(long, value_name = "DIR", conflicts_with_all = ["coordinator", "access_file"])]
    pub(crate) data: Option<PathBuf>,
}

/// A connection, and the coordinator behind it when it is embedded.
#[derive(Debug)]
pub(crate) struct Connection {
    url: String,
    channel: Channel,
    embedded: Option<Coordinator>,
}

impl CoordinatorArguments {
    /// The coordinator's URL, if anything says one.
    pub(crate) fn url(&self) -> Result<Option<String>, Failure> {
        match &self.coordinator {
            Some(url) if url.starts_with("https://") => {
                Err(Failure::usage(anyhow!("{url} asks for TLS, which this release does not have"))
                    .hint("use http:// in a network you trust, or through a tunnel such as `ssh -L`"))
            }
            Some(url) if url.contains("://") => Ok(Some(url.clone())),
            Some(address) => Ok(Some(format!("http://{address}"))),
            None => {
                let access = access::read(&access::path(self.access_file.as_deref())?)?;
                Ok(access.map(|access| access.address))
            }
        }
    }

    /// Connects to it.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        Connection::to(&self.required_url()?).await
    }

    /// The coordinator's URL, or what to do to have one.
    pub(crate) fn required_url(&self) -> Result<String, Failure> {
        match self.url()? {
            Some(url) => Ok(url),
            None => {
                let path = access::path(self.access_file.as_deref())?;
                Err(Failure::infrastructure(anyhow!(
                    "no coordinator is known: there is no {}",
                    path.display()
                ))
                .hint(
                    "start one with `speedup coordinator start`, name one with --coordinator or \
                         SPEEDUP_COORDINATOR, or do all on this machine with `speedup run PLAN`; what a `speedup run` \
                         measured is read by report, export, list and explain with --data DIR",
                ))
            }
        }
    }
}

impl SourceArguments {
    /// Connects to the coordinator, or embeds one on the data directory.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        match &self.data {
            None => self.coordinator.connect().await,
            Some(data) => {
                require_data(data)?;
                Connection::within(compose::embedded(data).await?).await
            }
        }
    }
}

/// A mistyped directory must not become a new one.
fn require_data(data: &Path) -> Result<(), Failure> {
    if data.join("journal").is_dir() {
        return Ok(());
    }
    let what = if data.is_dir() { "it has no journal" } else { "it is not there" };
    Err(Failure::usage(anyhow!("{} is no data directory: {what}", data.display())).hint(
        "`speedup run` says where it keeps its data; a coordinator's is $XDG_STATE_HOME/speedup/coordinator",
    ))
}

impl Connection {
    async fn to(url: &str) -> Result<Self, Failure> {
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| {
            Failure::usage(Error::new(error).context(format!("{url:?} is no address of a coordinator")))
                .hint("write it as http://127.0.0.1:7077")
        })?;
        let endpoint = endpoint.connect_timeout(CONNECT).tcp_keepalive(Some(KEEPALIVE)).tcp_nodelay(true);
        let channel = endpoint.connect().await.map_err(|error| {
            Failure::infrastructure(
                Error::new(error).context(format!("cannot reach the coordinator at {url}")),
            )
            .hint("look whether it runs; `speedup coordinator start` starts one")
        })?;
        Ok(Self { url: url.to_owned(), channel, embedded: None })
    }

    /// Connects to a coordinator in this process, which then belongs to the connection.
    pub(crate) async fn within(coordinator: Coordinator) -> Result<Self, Failure> {
        let connection = Self::to(&compose::url(coordinator.address())).await?;
        Ok(Self { embedded: Some(coordinator), ..connection })
    }

    /// The coordinator's URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the embedded coordinator has failed, which never happens to one elsewhere.
    pub(crate) async fn failed(&self) -> Failure {
        match &self.embedded {
            Some(coordinator) => journal_failed(coordinator).await,
            None => std::future::pending().await,
        }
    }

    /// Experiments.
    pub(crate) fn experiments(&self) -> ExperimentsClient<Channel> {
        ExperimentsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_ANSWER_BYTES)
            .max_encoding_message_size(MAX_REQUEST_BYTES)
    }

    /// The content of files.
    pub(crate) fn files(&self) -> FilesClient<Channel> {
        FilesClient::new(self.channel.clone()).max_encoding_message_size(MAX_PIECE_MESSAGE_BYTES)
    }

    /// The pool of hosts.
    pub(crate) fn hosts(&self) -> HostsClient<Channel> {
        HostsClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// The engine that gives out hosts.
    pub(crate) fn provision(&self) -> ProvisionClient<Channel> {
        ProvisionClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// The analysis.
    pub(crate) fn analysis(&self) -> AnalysisClient<Channel> {
        AnalysisClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Ends; an embedded coordinator is stopped.
    pub(crate) async fn close(self) {
        drop(self.channel);
        if let Some(coordinator) = self.embedded {
            coordinator.stop().await;
        }
    }
}

/// Waits until a coordinator's journal has failed: nothing is kept any more, so it has to end.
pub(crate) async fn journal_failed(coordinator: &Coordinator) -> Failure {
    let error = coordinator.failed().await;
    Failure::infrastructure(Error::new(error).context("the coordinator cannot go on")).hint(
        "look for space and errors of the disk; what was acknowledged is kept and is there at the next start",
    )
}
