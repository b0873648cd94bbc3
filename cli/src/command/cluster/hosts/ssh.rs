//! `speedup hosts ssh`: hosts that the coordinator's machine reaches by ssh, with an agent kept running on each.

use std::{collections::BTreeSet, fs::File, path::Path, path::PathBuf, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde::Serialize;
use speedup_core::{value::bounded::read_text_at_most, value::time::Span, value::time::Timestamp};
use speedup_proto::{convert::known_moment, v1};
use tokio::time::Instant;

use super::CommonArguments;
use crate::{
    arguments::Output, arguments::span, command::print, command::print_json, connection::Connection,
    connection::by, console::Console, console::Paint, console::moment, console::render::table::Column,
    console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// Largest file of hosts: one a line, as many as a coordinator takes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// How often it is asked what becomes of hosts that were added.
const GLANCE: Duration = Duration::from_millis(500);

/// Keeps agents running on hosts that the coordinator's machine reaches by ssh
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Add(AddArguments),
    /// Shows the hosts that are reached by ssh, their state, and what last failed
    #[command(after_help = "Example:\n  speedup hosts ssh show")]
    Show(CommonArguments),
    Remove(RemoveArguments),
}

/// Copies this program to hosts by ssh, and keeps an agent running on each
///
/// The coordinator executes ssh, as its own user, with that user's keys, known hosts and configuration.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup hosts ssh add node1 node2 node3\n\
    \x20 speedup hosts ssh add --from hosts.txt --user alice -- -p 2222\n\n\
    Options after -- go to ssh. The name of a host, without the user, becomes its id. Adding a host again replaces \
    what was said of it, and copies the coordinator's present program. Exit code 4 means that not all agents have \
    joined; the coordinator keeps trying.")]
pub(crate) struct AddArguments {
    /// The hosts, as for ssh: HOST or USER@HOST
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    /// Also add the hosts in this file, one per line; # begins a comment, and - reads standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The user on hosts that are named without one [default: as ssh is configured]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The directory on the hosts for program, logs and state, relative to the home directory or absolute
    #[arg(long, value_name = "DIR", default_value = ".local/state/speedup/ssh")]
    directory: String,
    /// Let the agents reach the coordinator through ssh (ssh -R), from hosts that have no other way to it
    #[arg(long)]
    tunnel: bool,
    /// The command that reboots a host for plans that need it; split into words as by a shell, and run without one
    #[arg(long, value_name = "COMMAND")]
    reboot_command: Option<String>,
    /// How long to wait for the agents to join; the coordinator keeps trying afterwards
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span)]
    wait: Span,
    #[command(flatten)]
    common: CommonArguments,
    /// Options of ssh
    #[arg(last = true, value_name = "SSH_OPTIONS")]
    options: Vec<String>,
}

/// Ends the agents on hosts that are reached by ssh, and removes what was copied
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup hosts ssh remove node1\n\
    \x20 speedup hosts ssh remove --all\n\n\
    A run that an agent executes is repeated on another host; drain the host first to let it end. State with reports \
    that the coordinator does not have is not removed. Exit code 4 means that a host could not be reached, and stays.")]
pub(crate) struct RemoveArguments {
    /// The ids of the hosts
    #[arg(value_name = "HOST", required_unless_present = "all", conflicts_with = "all")]
    hosts: Vec<String>,
    /// Remove all of them
    #[arg(long)]
    all: bool,
    /// Forget hosts that cannot be reached; their agents may continue
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    common: CommonArguments,
}

#[derive(Debug, Serialize)]
struct SshHost {
    host: String,
    destination: String,
    options: Vec<String>,
    /// Of its agent there, with log and state.
    directory: String,
    tunnel: bool,
    reboot_command: Option<String>,
    by: String,
    /// looking, copying, starting, serving or failing.
    state: String,
    since_ns: Timestamp,
    /// What last failed, in ssh's words where they are ssh's.
    error: Option<String>,
    failed_ns: Option<Timestamp>,
    /// How often its agent was started since the coordinator began or the host was added.
    starts: u32,
}

/// What became of a host that was to be removed.
#[derive(Debug, Serialize)]
struct RemovedHost {
    host: String,
    /// removed, state_kept, forgotten or failed.
    outcome: String,
    words: String,
}

impl From<v1::SshHost> for SshHost {
    fn from(wire: v1::SshHost) -> Self {
        let v1::SshHost { host, destination, options, directory, tunnel, reboot_command, by, .. } = wire;
        Self {
            host,
            destination,
            options,
            directory,
            tunnel,
            reboot_command,
            by,
            state: wire.state,
            since_ns: known_moment(wire.since.as_ref()).unwrap_or_default(),
            error: wire.error,
            failed_ns: known_moment(wire.failed.as_ref()),
            starts: wire.starts,
        }
    }
}

impl SshHost {
    fn is_serving(&self) -> bool {
        self.state == "serving"
    }

    /// Whether it serves, or something is known to prevent it: it fails, or its agent was started and ended.
    fn is_settled(&self) -> bool {
        self.is_serving() || self.state == "failing" || self.starts > 1 && self.error.is_some()
    }
}

pub(super) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Add(arguments) => add(arguments, console).await,
        Verb::Show(arguments) => show(&arguments, console).await,
        Verb::Remove(arguments) => remove(arguments, console).await,
    }
}

async fn add(arguments: AddArguments, console: &Console) -> Result<Exit, Failure> {
    let destinations = destinations(&arguments)?;
    let AddArguments { directory, tunnel, reboot_command, wait, common, options, .. } = arguments;
    // What an agent would refuse at its start is refused here.
    if reboot_command
        .as_deref()
        .is_some_and(|command| shlex::split(command).is_none_or(|words| words.is_empty()))
    {
        return Err(Failure::usage(anyhow!("--reboot-command is empty, or a quote is not closed")));
    }
    let connection = common.coordinator.connect().await?;
    let names: BTreeSet<String> = destinations.iter().map(|text| host_of(text).to_owned()).collect();
    let request =
        v1::AddSshHostsRequest { destinations, options, directory, tunnel, reboot_command, by: by() };
    let added = connection.provision().add_ssh_hosts(request).await;
    let added = added.map_err(|status| Failure::status("cannot add hosts", &status));
    let shown = match added {
        Ok(_) => settled(&connection, &names, wait, console).await,
        Err(failure) => Err(failure),
    };
    connection.close().await;
    let shown = shown?;
    tell(&shown, &common, console)?;
    let serving = shown.iter().filter(|host| host.is_serving()).count();
    if serving == shown.len() {
        return Ok(Exit::Done);
    }
    console.talk(format_args!(
        "{serving} of {} hosts serve; the coordinator keeps trying, and `speedup hosts ssh show` tells what it comes to.",
        shown.len()
    ));
    Ok(Exit::Infrastructure)
}

/// The hosts of the command line and of the file, each with its user.
fn destinations(arguments: &AddArguments) -> Result<Vec<String>, Failure> {
    let mut named = arguments.hosts.clone();
    if let Some(file) = &arguments.from {
        named.extend(listed(&read(file)?));
    }
    if named.is_empty() {
        return Err(
            Failure::usage(anyhow!("no host is named")).hint("name hosts, or a file of hosts with --from")
        );
    }
    let with_user = |host: String| match &arguments.user {
        Some(user) if !host.contains('@') => format!("{user}@{host}"),
        Some(_) | None => host,
    };
    Ok(named.into_iter().map(with_user).collect())
}

fn read(file: &Path) -> Result<String, Failure> {
    let read = match file == Path::new("-") {
        true => read_text_at_most(std::io::stdin(), MAX_FILE_BYTES),
        false => File::open(file).and_then(|file| read_text_at_most(file, MAX_FILE_BYTES)),
    };
    read.with_context(|| format!("cannot read the hosts in {}", file.display())).map_err(Failure::usage)
}

/// The hosts of a file: one a line, without comments.
fn listed(text: &str) -> impl Iterator<Item = String> {
    let bare = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    bare.filter(|host| !host.is_empty()).map(str::to_owned)
}

/// A destination without its user.
fn host_of(destination: &str) -> &str {
    destination.split_once('@').map_or(destination, |(_, host)| host)
}

/// The hosts of these names, once each serves or is known not to, or when the time is over.
async fn settled(
    connection: &Connection,
    names: &BTreeSet<String>,
    wait: Span,
    console: &Console,
) -> Result<Vec<SshHost>, Failure> {
    console.talk(format_args!("Agents are started on the hosts ({}) …", names.len()));
    let deadline = Instant::now() + Duration::from(wait);
    loop {
        let hosts: Vec<SshHost> =
            all(connection).await?.into_iter().filter(|host| names.contains(&host.host)).collect();
        if hosts.iter().all(SshHost::is_settled) || Instant::now() >= deadline {
            return Ok(hosts);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

async fn all(connection: &Connection) -> Result<Vec<SshHost>, Failure> {
    let answer = connection.provision().show_ssh_hosts(v1::ShowSshHostsRequest {}).await;
    let answer = answer.map_err(|status| Failure::status("cannot show the hosts of ssh", &status))?;
    Ok(answer.into_inner().hosts.into_iter().map(SshHost::from).collect())
}

async fn show(common: &CommonArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = common.coordinator.connect().await?;
    let shown = all(&connection).await;
    connection.close().await;
    tell(&shown?, common, console)?;
    Ok(Exit::Done)
}

fn tell(hosts: &[SshHost], common: &CommonArguments, console: &Console) -> Result<(), Failure> {
    match common.output.output {
        Output::Json => print_json(console, &hosts),
        Output::Table if hosts.is_empty() => {
            console.talk("No host is reached by ssh; `speedup hosts ssh add HOST` adds one.");
            Ok(())
        }
        Output::Table => print(console, &text(hosts, console.out)),
    }
}

/// A table, and below it what fails, which is too long for one.
fn text(hosts: &[SshHost], paint: Paint) -> String {
    let columns = ["host", "as", "state", "since", "agent's log there"].map(Column::Words);
    let row = |host: &SshHost| {
        let state = if host.tunnel { format!("{}, by a tunnel", host.state) } else { host.state.clone() };
        let log = format!("{}/log", host.directory);
        vec![host.host.clone(), host.destination.clone(), state, moment::local(host.since_ns), log]
    };
    let failing = hosts.iter().filter(|host| !host.is_serving()).filter_map(|host| {
        let (error, at) = (host.error.as_ref()?, host.failed_ns?);
        Some(format!("\n\n{}, at {}: {error}", host.host, moment::local(at)))
    });
    table(&columns, hosts.iter().map(row), paint) + &failing.collect::<String>()
}

async fn remove(arguments: RemoveArguments, console: &Console) -> Result<Exit, Failure> {
    let RemoveArguments { hosts, all: _, forget, common } = arguments;
    let connection = common.coordinator.connect().await?;
    let request = v1::RemoveSshHostsRequest { hosts, forget, by: by() };
    let answer = connection.provision().remove_ssh_hosts(request).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status("cannot remove hosts", &status))?;
    let removed = answer.into_inner().hosts.into_iter().map(|wire| {
        let v1::RemovedSshHost { host, outcome, words } = wire;
        RemovedHost { host, outcome, words }
    });
    let removed: Vec<RemovedHost> = removed.collect();
    match common.output.output {
        Output::Json => print_json(console, &removed)?,
        Output::Table if removed.is_empty() => console.talk("No host is reached by ssh."),
        Output::Table => removed.iter().for_each(|host| console.talk(outcome(host))),
    }
    let all_are = removed.iter().all(|host| host.outcome != "failed");
    Ok(if all_are { Exit::Done } else { Exit::Infrastructure })
}

fn outcome(RemovedHost { host, outcome, words }: &RemovedHost) -> String {
    match outcome.as_str() {
        "removed" => format!("{host}: its agent has ended, and everything that was copied is removed"),
        "state_kept" => {
            format!(
                "{host}: its agent has ended; its state is kept ({words}). Add the host again to deliver them"
            )
        }
        "forgotten" => format!("{host}: it could not be reached and is forgotten; its agent may continue"),
        _ => format!(
            "{host}: not removed: {words}. `speedup hosts ssh remove --forget {host}` removes it without reaching it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use speedup_proto::convert::timestamp;

    use super::*;

    #[test]
    fn a_file_names_a_host_a_line() {
        let hosts: Vec<String> = listed("node1\n\n# a comment\n  alice@node2  # the second\n").collect();
        assert_eq!(hosts, ["node1", "alice@node2"]);
        assert_eq!(host_of("alice@node2"), "node2");
    }

    #[test]
    fn what_fails_is_told_in_its_own_words_below_the_table() {
        let host = |state: &str| v1::SshHost {
            host: "node1".to_owned(),
            destination: "alice@node1".to_owned(),
            directory: ".local/state/speedup/ssh/speedup-1/node1".to_owned(),
            state: state.to_owned(),
            error: Some("ssh: no key".to_owned()),
            failed: Some(timestamp(Timestamp(1))),
            ..Default::default()
        };
        let shown = |state: &str| text(&[SshHost::from(host(state))], Console::plain().out);
        assert!(shown("failing").contains("ssh: no key"), "{}", shown("failing"));
        assert!(shown("failing").contains("speedup-1/node1/log"), "{}", shown("failing"));
        assert!(!shown("serving").contains("no key"), "{}", shown("serving"));
    }
}
