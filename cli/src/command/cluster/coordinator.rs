//! `speedup coordinator`: the service.

mod backup;

use std::{net::IpAddr, net::SocketAddr, path::Path, path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde_json::json;
use speedup_core::{machine::Settings, value::causes::with_causes, value::time::Span};

use crate::command::{json_line, print};
use crate::{
    arguments::Output, arguments::OutputArgument, arguments::heading, arguments::span, compose,
    compose::AgentPlace, compose::Coordinator, compose::CoordinatorComponent, compose::CoordinatorOptions,
    compose::Security, compose::StoreCache, compose::resources, compose::resources::COORDINATOR_SPACE,
    compose::web, compose::web::Web, connection::access, connection::access::Access,
    connection::access::WrittenAccess, connection::directories, connection::journal_failed, connection::user,
    console::Console, exit::Exit, exit::failure::Failure, follow::interrupt::Interrupts,
};

/// How often the access file is compared with what it is to say. What it holds has weeks; but nobody finds the coordinator while it
/// is gone.
const LOOK: Duration = Duration::from_secs(15);
/// Longest end: an engine takes 40 s at most to end its jobs, and those who watch over processes kill after a minute
/// (`deploy/`).
const LONGEST_END: Duration = Duration::from_secs(55);
/// Longest host name: what DNS allows.
const MAX_HOST_BYTES: usize = 253;

/// Runs, backs up and restores the coordinator
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(Box<StartArguments>),
    Backup(backup::BackupArguments),
    Restore(backup::RestoreArguments),
}

/// Starts the coordinator; it serves until SIGTERM or Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup coordinator start\n\
    \x20 speedup coordinator start --bind 0.0.0.0:7077 --advertise login1.cluster\n\n\
    What the coordinator has acknowledged is on disk: you can kill and restart it at any time.")]
pub(crate) struct StartArguments {
    /// The name of this coordinator, if you have several: commands select it with --coordinator
    #[arg(long, value_name = "NAME", default_value = access::DEFAULT, value_parser = access::name)]
    name: String,
    /// The data directory, with journal and store [default: $XDG_STATE_HOME/speedup/coordinator, or coordinators/NAME
    /// there]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free port, [::]:7077 listens on all addresses
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7077", help_heading = "Network")]
    bind: SocketAddr,
    /// The name or address by which others reach it, with the port if it differs [default: the listening address, or the
    /// name of this machine]
    ///
    /// Repeatable: the access file has the first, the certificate has all.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Network")]
    advertise: Vec<AdvertisedName>,
    /// Listen without TLS, on loopback only: every user of this machine can then run programs on every host
    #[arg(long, help_heading = "Network")]
    insecure: bool,
    /// The address of the web page, or off [default: 127.0.0.1:7078, or a free port if that is taken]
    ///
    /// On loopback it serves browsers of this machine (`speedup page` signs in); elsewhere it uses TLS with the
    /// coordinator's certificate.
    #[arg(long, value_name = "ADDRESS|off", help_heading = "Network")]
    web: Option<Web>,
    /// How long a host may be unreachable before its attempt counts as lost
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span, help_heading = "Hosts")]
    host_grace: Span,
    /// How long a host may take to reboot before it is quarantined
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = span, help_heading = "Hosts")]
    reboot_limit: Span,
    /// Where to write the address and the owner's credentials [default: $XDG_STATE_HOME/speedup/access.toml, or
    /// access/NAME.toml there]
    #[arg(long, value_name = "FILE", help_heading = heading::REACHING)]
    access_file: Option<PathBuf>,
    /// Where agents started by Slurm keep state and logs, one folder per node, on a disk that all nodes share [default:
    /// $XDG_STATE_HOME/speedup/agents]
    #[arg(long, value_name = "DIR", help_heading = "Hosts")]
    agents: Option<PathBuf>,
    /// The address of /metrics (Prometheus), /healthz and /livez over plain HTTP, or off; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS|off", default_value = "off", value_parser = metrics, help_heading = "Network")]
    metrics: Metrics,
    #[command(flatten)]
    output: OutputArgument,
}

/// Where metrics are asked for, if anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Metrics(Option<SocketAddr>);

fn metrics(text: &str) -> Result<Metrics, anyhow::Error> {
    if text == "off" {
        return Ok(Metrics(None));
    }
    let address = text.parse();
    address
        .map(|address| Metrics(Some(address)))
        .map_err(|_| anyhow!("write an address and a port, or off: 127.0.0.1:9464"))
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Start(arguments) => start(*arguments, console).await,
        Verb::Backup(arguments) => backup::back_up(&arguments, console),
        Verb::Restore(arguments) => backup::restore(&arguments, console),
    }
}

/// Where the data of a coordinator lies, unless `chosen`.
pub(crate) fn data_directory(chosen: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let directory =
        if name == access::DEFAULT { "coordinator".to_owned() } else { format!("coordinators/{name}") };
    directories::or_state(chosen, &directory)
}

async fn start(arguments: StartArguments, console: &Console) -> Result<Exit, Failure> {
    // Asked for first: a signal that comes while the journal is recovered is obeyed after.
    let mut interrupts = Interrupts::listen()?;
    let name = arguments.name.as_str();
    let data = data_directory(arguments.data.as_deref(), name)?;
    resources::require_space(&data, COORDINATOR_SPACE)?;
    let access_file = access::path(arguments.access_file.as_deref(), name)?;
    let settings = Settings { host_grace: arguments.host_grace, reboot_limit: arguments.reboot_limit };
    let options = CoordinatorOptions {
        data: data.clone(),
        bind: arguments.bind,
        security: security(&arguments),
        settings,
        store_cache: StoreCache::Serving,
        agents: Some(agent_place(&arguments, &access_file)?),
        metrics: arguments.metrics.0,
    };
    compose::raise_open_files();
    let page = page(&arguments).await?;
    let page_url = page.as_ref().map(|page| page.site.url().to_owned());
    let coordinator = compose::coordinator(options, page).await?;
    let url = url(coordinator.address(), &arguments);
    let local = format!("{}://{}", scheme(&arguments), compose::nearby(coordinator.address()));
    // What stood there before serves again; what cannot be read is written anew.
    let before = access::read(&access_file).ok().flatten();
    let places = CoordinatorPaths { url: url.clone(), local };
    let access = match admit_owner(&coordinator, &access_file, &places, before).await {
        Ok(access) => access,
        Err(failure) => {
            coordinator.stop().await;
            return Err(failure);
        }
    };
    console.talk(format_args!("listening on {url}"));
    let metrics = coordinator.metrics_address().map(|address| format!("http://{address}/metrics"));
    if let Some(page) = &page_url {
        console.talk(format_args!("the web page is {page}; `speedup page` prints a link to it"));
    }
    if let Some(metrics) = &metrics {
        console.talk(format_args!("metrics at {metrics}"));
    }
    if arguments.output.output == Output::Json {
        let started = json!({
            "url": url, "data": data, "access_file": access_file, "page": page_url, "metrics": metrics
        });
        print(console, &json_line(&started))?;
    }
    let (access, served) = serve(&coordinator, &places, access, &mut interrupts, console).await;
    let removed = access.remove();
    let ended = end(coordinator, &mut interrupts, console).await;
    served.and(removed)?;
    Ok(ended)
}

/// Ends the coordinator, in bounded time: all that was acknowledged is durable, and what is cut short is made up for by the
/// next start.
async fn end(coordinator: Coordinator, interrupts: &mut Interrupts, console: &Console) -> Exit {
    tokio::select! {
        () = coordinator.stop() => Exit::Done,
        exit = interrupts.next() => {
            console.talk("stopping at once on the second signal; the next start completes the rest");
            exit
        }
        () = tokio::time::sleep(LONGEST_END) => {
            console.talk(format_args!("stopping took longer than {LONGEST_END:?}; the next start completes the rest"));
            Exit::Done
        }
    }
}

/// Agents are this same program, and find their state and the access file by absolute paths wherever they start.
fn agent_place(arguments: &StartArguments, access_file: &Path) -> Result<AgentPlace, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .with_context(|| format!("{} has no absolute path", path.display()))
            .map_err(Failure::usage)
    };
    let program = std::env::current_exe()
        .context("cannot find the program of this process")
        .map_err(Failure::infrastructure)?;
    let advertised = arguments.advertise.first();
    Ok(AgentPlace {
        program,
        state: absolute(&directories::or_state(arguments.agents.as_deref(), "agents")?)?,
        access_file: absolute(access_file)?,
        host: advertised.map(|advertised| advertised.host.clone()),
        port: advertised.and_then(|advertised| advertised.port),
    })
}

fn security(arguments: &StartArguments) -> Security {
    if arguments.insecure {
        return Security::Plain;
    }
    Security::Tls { names: names(arguments) }
}

/// By what names it is called, beside its addresses.
fn names(arguments: &StartArguments) -> Vec<String> {
    let advertised = arguments.advertise.iter().map(|advertised| advertised.host.clone());
    advertised.chain([node_name()]).collect()
}

/// The web page, which has its address before the coordinator has one, so that its door can name it.
async fn page(arguments: &StartArguments) -> Result<Option<web::Bound>, Failure> {
    let web = arguments.web.unwrap_or(Web::Usual);
    let advertised = match (arguments.advertise.first(), web) {
        (Some(advertised), _) => Some(advertised.host.clone()),
        (None, Web::At(address)) if address.ip().is_unspecified() => Some(node_name()),
        (None, Web::At(_) | Web::Usual | Web::Off) => None,
    };
    web.bind(arguments.insecure, names(arguments), advertised).await
}

fn node_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

struct CoordinatorPaths {
    url: String,
    /// On its own machine.
    local: String,
}

fn scheme(arguments: &StartArguments) -> &'static str {
    if arguments.insecure { "http" } else { "https" }
}

/// How others reach it.
fn url(address: SocketAddr, arguments: &StartArguments) -> String {
    let scheme = scheme(arguments);
    let authority = match arguments.advertise.first() {
        Some(advertised) => advertised.authority(address.port()),
        None if address.ip().is_unspecified() => {
            AdvertisedName { host: node_name(), port: None }.authority(address.port())
        }
        None => address.to_string(),
    };
    format!("{scheme}://{authority}")
}

/// Writes the access file, with what was in it before where that still holds.
async fn admit_owner(
    coordinator: &Coordinator,
    path: &Path,
    places: &CoordinatorPaths,
    before: Option<Access>,
) -> Result<WrittenAccess, Failure> {
    access::write(path, own_access(coordinator, places, before).await?)
}

/// What the access file is to say, with the credentials from before while they hold for long enough.
async fn own_access(
    coordinator: &Coordinator,
    places: &CoordinatorPaths,
    before: Option<Access>,
) -> Result<Access, Failure> {
    let before = before.and_then(|access| access.credentials().ok().flatten());
    let credentials = coordinator.own_credentials(&user(), before).await?;
    let access = Access::for_this_process(places.url.clone(), credentials.as_ref());
    Ok(access.reached_locally(places.local.clone()))
}

/// Serves until it is to end, and renews the access file in time. One that cannot be written ends nothing: it is tried again, and
/// shown as a component that fails.
async fn serve(
    coordinator: &Coordinator,
    places: &CoordinatorPaths,
    mut access: WrittenAccess,
    interrupts: &mut Interrupts,
    console: &Console,
) -> (WrittenAccess, Result<(), Failure>) {
    let mut current = access.access().clone();
    let mut is_written = true;
    loop {
        tokio::select! {
            _ = interrupts.next() => return (access, Ok(())),
            failure = journal_failed(coordinator) => return (access, Err(failure)),
            () = tokio::time::sleep(LOOK) => {}
        }
        match own_access(coordinator, places, Some(current.clone())).await {
            Ok(renewed) => current = renewed,
            Err(failure) => return (access, Err(failure)),
        }
        // Home directories lie on file systems that may hang.
        let written = access.clone();
        let wanted = current.clone();
        let renewing = tokio::task::spawn_blocking(move || written.renewed(wanted));
        let renewed = tokio::select! {
            _ = interrupts.next() => return (access, Ok(())),
            failure = journal_failed(coordinator) => return (access, Err(failure)),
            renewed = renewing => renewed,
        };
        let renewed = renewed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        coordinator.note(CoordinatorComponent::AccessFile, renewed.is_ok());
        match renewed {
            Ok(renewed) => (access, is_written) = (renewed, true),
            // Said once, however often it is tried.
            Err(failure) if is_written => {
                let cause = with_causes(failure.error.as_ref());
                let every = LOOK.as_secs();
                console.talk(format_args!(
                    "warning: the access file cannot be written, which is tried again every {every} s: {cause}"
                ));
                is_written = false;
            }
            Err(_) => {}
        }
    }
}

/// By what others reach a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AdvertisedName {
    /// A name or an address, without brackets.
    host: String,
    port: Option<u16>,
}

impl AdvertisedName {
    fn authority(&self, listens: u16) -> String {
        let port = self.port.unwrap_or(listens);
        if self.host.contains(':') {
            format!("[{}]:{port}", self.host)
        } else {
            format!("{}:{port}", self.host)
        }
    }
}

impl FromStr for AdvertisedName {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, anyhow::Error> {
        let wrong = || {
            anyhow!(
                "write a host name or an address, with a port if it is another: login1, 10.0.0.1:7077, [2001:db8::1]"
            )
        };
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: address.ip().to_string(), port: Some(address.port()) });
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self { host: address.to_string(), port: None });
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.' || byte == b'_';
        if host.is_empty() || host.len() > MAX_HOST_BYTES || !host.bytes().all(fits) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_advertised_by_name_or_address() {
        let advertised =
            |text: &str| text.parse::<AdvertisedName>().map(|advertised| advertised.authority(1));
        for (text, authority) in [
            ("login1", "login1:1"),
            ("login1.cluster:7077", "login1.cluster:7077"),
            ("10.0.0.1", "10.0.0.1:1"),
            ("10.0.0.1:7077", "10.0.0.1:7077"),
            ("2001:db8::1", "[2001:db8::1]:1"),
            ("[2001:db8::1]", "[2001:db8::1]:1"),
            ("[2001:db8::1]:7077", "[2001:db8::1]:7077"),
        ] {
            assert_eq!(advertised(text).unwrap(), authority);
        }
        for wrong in ["", "a b", "https://login1", "login1:port", "login1:70777", "é"] {
            assert!(advertised(wrong).is_err(), "{wrong}");
        }
    }
}
