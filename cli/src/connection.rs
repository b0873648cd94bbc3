//! The connection to a coordinator: one that runs somewhere, or one embedded for the time of this command.

pub(crate) mod access;
pub(crate) mod directories;
mod renewal;
pub(crate) mod selector;
pub(crate) mod started;

use std::{path::Path, path::PathBuf, time::Duration, time::Instant};

use anyhow::{Error, anyhow};
use clap::Args;
use speedup_access::{Credentials, Reach, unix_seconds};
use speedup_core::experiment::Experiment;
use speedup_core::value::{causes::with_causes, id::ExperimentId, time::Span, time::Timestamp};
use speedup_proto::{
    convert::Proposal, convert::Submission, convert::experiment_named, limits::MAX_ACCESS_BYTES,
    limits::MAX_ANSWER_BYTES, limits::MAX_PIECE_MESSAGE_BYTES, limits::MAX_REQUEST_BYTES, v1,
    v1::access_client::AccessClient, v1::analysis_client::AnalysisClient, v1::events_client::EventsClient,
    v1::experiments_client::ExperimentsClient, v1::files_client::FilesClient, v1::hosts_client::HostsClient,
    v1::page_client::PageClient, v1::provision_client::ProvisionClient,
};
use tonic::transport::Channel;
use uuid::Uuid;

use self::{selector::Selector, started::KeptAt, started::Started};
use crate::{
    arguments::heading, compose, compose::Coordinator, console::Color, console::Console, console::moment,
    exit::failure::Failure,
};

/// Which coordinator.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CoordinatorArguments {
    /// The coordinator: its name, or its address such as https://login1:7077 [default: the one in the access file]
    #[arg(long, env = "SPEEDUP_COORDINATOR", value_name = "NAME|URL", help_heading = heading::REACHING)]
    pub(crate) coordinator: Option<String>,
    /// The access file from the coordinator or from `speedup access enrol` [default: $XDG_STATE_HOME/speedup/access.toml
    /// or access/NAME.toml there]
    #[arg(long, value_name = "FILE", help_heading = heading::REACHING)]
    pub(crate) access_file: Option<PathBuf>,
}

/// Which coordinator, or a data directory without one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArguments {
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArguments,
    /// Read this data directory instead of asking a coordinator; no coordinator may be using it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["coordinator", "access_file"])]
    pub(crate) data: Option<PathBuf>,
}

/// How long a command may have a data directory that only reads it; whoever measures writes an access file there.
const PATIENCE_WITH_READERS: Duration = Duration::from_secs(5);
/// How often a command that goes on looks whether its certificate is to be renewed: there are weeks for it.
const RENEWAL_LOOK: Duration = Duration::from_secs(3_600);
/// How often it is looked whether it has ended.
const RETRY: Duration = Duration::from_millis(50);

/// A connection, and the coordinator behind it when it is embedded.
#[derive(Debug)]
pub(crate) struct Connection {
    url: String,
    channel: Channel,
    embedded: Option<Coordinator>,
}

/// Where a coordinator is, and what one is let in with.
#[derive(Clone, Debug)]
pub(crate) struct CoordinatorAccess {
    pub(crate) url: String,
    pub(crate) credentials: Option<Credentials>,
    /// The access file with the credentials.
    pub(crate) file: Option<PathBuf>,
}

impl CoordinatorArguments {
    /// The coordinator's address, where that and not its name was given.
    pub(crate) fn address(&self) -> Option<String> {
        let address = self.coordinator.as_deref().filter(|text| !access::is_name(text))?;
        Some(if address.contains("://") { address.to_owned() } else { format!("https://{address}") })
    }

    /// The coordinator, if anything says one.
    pub(crate) fn find(&self) -> Result<Option<CoordinatorAccess>, Failure> {
        let chosen = self.access_file.as_deref();
        match self.address() {
            None => {
                let name = self.coordinator.as_deref().unwrap_or(access::DEFAULT);
                found_in(&access::path(chosen, name)?)
            }
            Some(url) => {
                let file = match chosen {
                    _ if !url.starts_with("https://") => None,
                    Some(chosen) => Some(chosen.to_owned()),
                    None => access::for_address(&url)?,
                };
                let found = file.as_deref().map(found_in).transpose()?.flatten();
                Ok(Some(match found {
                    Some(found) => CoordinatorAccess { url, ..found },
                    None => CoordinatorAccess { url, credentials: None, file: None },
                }))
            }
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        self.require()?.connect().await
    }

    /// The coordinator, or what to do to have one.
    pub(crate) fn require(&self) -> Result<CoordinatorAccess, Failure> {
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        let name =
            self.coordinator.as_deref().filter(|name| access::is_name(name)).unwrap_or(access::DEFAULT);
        let path = access::path(self.access_file.as_deref(), name)?;
        Err(Failure::infrastructure(anyhow!("no coordinator is known: there is no {}", path.display())).hint(
            "start one with `speedup coordinator start`, enrol with one elsewhere with `speedup access enrol`, \
                name one with --coordinator or SPEEDUP_COORDINATOR, or run the plan on this machine with \
                `speedup run PLAN`; to read results of `speedup run`, use report, export, list and explain with \
                --data DIR",
        ))
    }
}

fn found_in(path: &Path) -> Result<Option<CoordinatorAccess>, Failure> {
    let Some(access) = access::read(path)? else { return Ok(None) };
    let credentials = access.credentials().map_err(Failure::usage)?;
    Ok(Some(CoordinatorAccess { url: access.way().to_owned(), credentials, file: Some(path.to_owned()) }))
}

impl CoordinatorAccess {
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        Connection::to(&self.clone().renewed().await.reach()?).await
    }

    /// The same with its certificate renewed, if it is time to. Why it is not is said in one line: the certificate may hold for
    /// weeks, and where it does not, the coordinator says so.
    pub(crate) async fn renewed(mut self) -> Self {
        if let Err(error) = self.renew().await
            && let (Some(file), Some(held)) = (&self.file, &self.credentials)
        {
            let until = Timestamp(Span::from_secs(held.certificate().not_after).0);
            // A hint of the coordinator's is on a line of its own; where nothing has failed, one line is enough.
            let cause = with_causes(error.as_ref());
            Console::new(Color::Auto).warn(format_args!(
                "the certificate in {} ends on {} and is not renewed: {}",
                file.display(),
                moment::local(until),
                cause.lines().next().unwrap_or_default()
            ));
        }
        self
    }

    /// Renews the certificate, if it is time to. Says whether there is another.
    async fn renew(&mut self) -> Result<bool, Error> {
        let (Some(file), Some(held)) = (&self.file, &self.credentials) else { return Ok(false) };
        if !held.certificate().is_due(unix_seconds()) {
            return Ok(false);
        }
        let Some(renewed) = renewal::renew(file, &self.url).await? else { return Ok(false) };
        self.credentials = Some(renewed);
        Ok(true)
    }

    /// The way to the coordinator. Whoever uses it for weeks goes on with a renewed certificate.
    pub(crate) fn reach(self) -> Result<Reach, Failure> {
        let reach = Reach::new(&self.url, self.credentials.as_ref()).map_err(Failure::refused)?;
        if self.file.is_some() {
            tokio::spawn(self.renew_in_time(reach.clone()));
        }
        Ok(reach)
    }

    async fn renew_in_time(mut self, reach: Reach) {
        loop {
            tokio::time::sleep(RENEWAL_LOOK).await;
            // What hinders it may pass; who connects anew is told.
            if let Ok(true) = self.renew().await
                && let Some(renewed) = &self.credentials
            {
                let _ = reach.replace(renewed);
            }
        }
    }
}

impl CoordinatorArguments {
    /// Whether the user says which coordinator.
    pub(crate) fn is_given(&self) -> bool {
        self.coordinator.is_some() || self.access_file.is_some()
    }

    /// Where an experiment is kept that it takes.
    pub(crate) fn place(&self) -> KeptAt {
        KeptAt::Coordinator { name: self.coordinator.clone(), access_file: self.access_file.clone() }
    }

    /// Connects to the coordinator that has the experiment: the one that is said, or that to which this user submitted it.
    pub(crate) async fn find_experiment(
        &self,
        selector: &Selector,
    ) -> Result<(Connection, ExperimentId), Failure> {
        if !self.is_given() {
            let is_served = |one: &Started| one.place.is_served();
            if let Some(started) = selector.started(started::all().into_iter().filter(is_served).collect())? {
                return Ok((started.place.connect().await?, started.experiment));
            }
        }
        let connection = self.connect().await?;
        let experiment = selector.resolve(&mut connection.experiments(), &started::all()).await?;
        Ok((connection, experiment))
    }
}

impl SourceArguments {
    /// Connects to the coordinator, or embeds one on the data directory.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        match &self.data {
            None => self.coordinator.connect().await,
            Some(data) => open_directory(data).await,
        }
    }

    /// Whether the user says where.
    pub(crate) fn is_given(&self) -> bool {
        self.data.is_some() || self.coordinator.is_given()
    }

    /// Connects to where the experiment is kept: where the user says, or where it was started.
    pub(crate) async fn find(&self, selector: &Selector) -> Result<(Connection, ExperimentId), Failure> {
        if let Some(data) = &self.data {
            let connection = open_directory(data).await?;
            // All that is there was started by whoever may read it.
            return match selector.resolve(&mut connection.experiments(), &[]).await {
                Ok(experiment) => Ok((connection, experiment)),
                Err(failure) => {
                    connection.close().await;
                    Err(failure)
                }
            };
        }
        if !self.coordinator.is_given()
            && let Some(started) = selector.started(started::all())?
        {
            return Ok((started.place.connect().await?, started.experiment));
        }
        self.coordinator.find_experiment(selector).await
    }
}

impl KeptAt {
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        match self {
            Self::Data(data) => open_directory(data).await,
            Self::Coordinator { name, access_file } => {
                let (coordinator, access_file) = (name.clone(), access_file.clone());
                CoordinatorArguments { coordinator, access_file }.connect().await
            }
        }
    }

    /// The directory of this machine in which it is kept, unless a command is measuring there.
    pub(crate) fn unserved_directory(&self) -> Option<&Path> {
        match self {
            Self::Data(data) => (!self.is_served()).then_some(data),
            Self::Coordinator { .. } => None,
        }
    }

    /// Whether a process serves it: a coordinator, or the command that is measuring it.
    fn is_served(&self) -> bool {
        match self {
            Self::Coordinator { .. } => true,
            Self::Data(data) => access::is_served(data),
        }
    }
}

/// Embeds a coordinator on a data directory, or reaches the one of the command that measures on it.
async fn open_directory(data: &Path) -> Result<Connection, Failure> {
    require_data(data)?;
    let reach = async || found_in(&access::within(data)).ok()??.connect().await.ok();
    match embed(data, reach).await? {
        Embedding::Done(coordinator) => Ok(Connection::within(*coordinator)),
        Embedding::Measured(connection) => Ok(connection),
        Embedding::InUse(failure) => Err(failure),
    }
}

/// What became of embedding a coordinator on a data directory.
pub(crate) enum Embedding<T> {
    Done(Box<Coordinator>),
    /// Another command measures on the directory.
    Measured(T),
    InUse(Failure),
}

/// Embeds a coordinator on a data directory, unless a command measures on it and `measured` makes something of that. A command
/// that only reads the directory, or is about to end, is waited for.
pub(crate) async fn embed<T>(
    data: &Path,
    measured: impl AsyncFn() -> Option<T>,
) -> Result<Embedding<T>, Failure> {
    let deadline = Instant::now() + PATIENCE_WITH_READERS;
    loop {
        let in_use = match compose::embedded_unless_in_use(data).await? {
            Ok(coordinator) => return Ok(Embedding::Done(Box::new(coordinator))),
            Err(in_use) => in_use,
        };
        if access::is_served(data)
            && let Some(made) = measured().await
        {
            return Ok(Embedding::Measured(made));
        }
        if Instant::now() >= deadline {
            return Ok(Embedding::InUse(in_use));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// A mistyped directory must not become a new one.
pub(crate) fn require_data(data: &Path) -> Result<(), Failure> {
    if data.join("journal").is_dir() {
        return Ok(());
    }
    let what = if data.is_dir() { "it has no journal" } else { "it does not exist" };
    Err(Failure::usage(anyhow!("{} is not a data directory: {what}", data.display())).hint(
        "`speedup run` says where it keeps its data; a coordinator's is $XDG_STATE_HOME/speedup/coordinator",
    ))
}

/// An experiment that the coordinator took.
#[derive(Clone, Debug)]
pub(crate) struct SubmittedExperiment {
    pub(crate) experiment: ExperimentId,
    pub(crate) runs: u32,
    pub(crate) hosts_needed: u32,
    /// Why hosts that an engine gives out cannot carry it out, if that is so.
    pub(crate) warning: Option<String>,
}

/// Who asks, for the event log where there is no certificate that says it.
pub(crate) fn by() -> String {
    format!("{}@{}", user(), rustix::system::uname().nodename().to_string_lossy())
}

pub(crate) fn user() -> String {
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    // Services and containers often have neither.
    user.or_else(speedup_agent::launch::User::own_login)
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

impl Connection {
    async fn to(reach: &Reach) -> Result<Self, Failure> {
        let url = reach.url().to_owned();
        let channel = reach.connect().await.map_err(|error| {
            let is_another = speedup_access::is_untrusted(&error);
            let failure = Failure::infrastructure(
                Error::new(error).context(format!("cannot reach the coordinator at {url}")),
            );
            failure.hint(if is_another {
                "the server there is not that of the access file, or it does not know the name by which you \
                    reach it: give it its names with --advertise"
            } else {
                "check whether it is running; `speedup coordinator start` starts one"
            })
        })?;
        Ok(Self { url, channel, embedded: None })
    }

    /// Submits an experiment. The same `request` again is answered with the experiment that it made at first.
    pub(crate) async fn submit(
        &self,
        experiment: Experiment,
        wait_for_hosts: bool,
        request: Option<Uuid>,
    ) -> Result<SubmittedExperiment, Failure> {
        const TRIED: &str = "cannot submit the plan";
        let plan = Proposal::Experiment(Box::new(experiment));
        let submission = Submission { plan, wait_for_hosts, by: by(), request };
        let answer = self.experiments().submit(v1::SubmitRequest::from(&submission)).await;
        let answer = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
        let v1::SubmitResponse { experiment, runs, hosts_needed, warning, seed: _ } = answer;
        let experiment =
            experiment_named(&experiment, "experiment").map_err(|error| Failure::malformed(TRIED, error))?;
        Ok(SubmittedExperiment { experiment, runs, hosts_needed, warning })
    }

    /// Connects to a coordinator in this process, which then belongs to the connection.
    pub(crate) fn within(coordinator: Coordinator) -> Self {
        let (url, channel) = (compose::url(coordinator.address()), coordinator.channel());
        Self { url, channel, embedded: Some(coordinator) }
    }

    /// The coordinator in this process, if it is there.
    pub(crate) fn embedded(&self) -> Option<&Coordinator> {
        self.embedded.as_ref()
    }

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

    pub(crate) fn experiments(&self) -> ExperimentsClient<Channel> {
        ExperimentsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_ANSWER_BYTES)
            .max_encoding_message_size(MAX_REQUEST_BYTES)
    }

    pub(crate) fn files(&self) -> FilesClient<Channel> {
        FilesClient::new(self.channel.clone()).max_encoding_message_size(MAX_PIECE_MESSAGE_BYTES)
    }

    /// Lists and manages the hosts of the pool
    pub(crate) fn hosts(&self) -> HostsClient<Channel> {
        HostsClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// The engine that gives out hosts.
    pub(crate) fn provision(&self) -> ProvisionClient<Channel> {
        ProvisionClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Manages certificates: who may do what
    pub(crate) fn access(&self) -> AccessClient<Channel> {
        AccessClient::new(self.channel.clone()).max_decoding_message_size(MAX_ACCESS_BYTES)
    }

    pub(crate) fn events(&self) -> EventsClient<Channel> {
        EventsClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    pub(crate) fn page(&self) -> PageClient<Channel> {
        PageClient::new(self.channel.clone())
    }

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
    Failure::infrastructure(Error::new(error).context("the coordinator cannot continue"))
        .hint("check free space and disk errors; everything acknowledged is kept for the next start")
}
