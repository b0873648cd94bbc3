//! `speedup hosts`: the pool.

mod engine;
pub(in crate::command) mod prospects;
mod show;
mod ssh;
mod standing;

pub(crate) use engine::{tell_if_it_stands_still, tell_of_queues};

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use serde::Serialize;
use speedup_core::fingerprint::ClassId;
use speedup_core::host::{HostFacts, Standing};
use speedup_core::run::lease::Lease;
use speedup_core::value::id::{HostId, HostName};
use speedup_core::value::time::Timestamp;
use speedup_proto::{convert::Malformed, convert::held_lease, convert::known_moment, v1};

use crate::arguments::{Form, FormArgument, OutputArgument};
use crate::command::{json, print_csv, print_json};
use crate::connection::{Connection, CoordinatorArguments, SourceArguments, selector};
use crate::console::render::table::{Column, RankedColumn, print_fitted};
use crate::console::{Console, moment};
use crate::{exit::Exit, exit::failure::Failure};

/// Lists and manages the hosts of the pool
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    List(ListArguments),
    Show(show::Arguments),
    /// Drains a host: its current run finishes, and it gets no more runs
    #[command(after_help = "Example:\n  speedup hosts drain node17")]
    Drain(standing::HostArguments),
    /// Returns a drained or quarantined host to service
    #[command(after_help = "Example:\n  speedup hosts resume node17")]
    Resume(standing::HostArguments),
    Quarantine(standing::QuarantineArguments),
    Approve(standing::ApproveArguments),
    /// Releases a host id: the next agent that joins with it becomes the host
    #[command(after_help = "Example:\n\
        \x20 speedup hosts reset node17\n\n\
        Use it for a machine that was replaced, or that joined under a wrong id. Runs that the host holds go to other \
        hosts at once; its results stay.")]
    Reset(standing::HostArguments),
    #[command(subcommand)]
    Slurm(engine::SlurmVerb),
    #[command(subcommand)]
    Batch(engine::BatchVerb),
    #[command(subcommand)]
    Local(engine::LocalVerb),
    #[command(subcommand)]
    Ssh(ssh::Verb),
}

// Which coordinator, and how to print. A doc comment would be the help of verbs.
#[derive(Debug, Args)]
pub(crate) struct CommonArguments {
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArguments,
    #[command(flatten)]
    pub(crate) output: OutputArgument,
}

/// Lists all hosts that ever joined
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts list")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Debug, Serialize)]
struct HostStatus {
    #[serde(flatten)]
    facts: HostFacts,
    /// What people call it: its node's name, or its own.
    host_name: Option<HostName>,
    agent_epoch: u64,
    connected: bool,
    away_since_ns: Option<Timestamp>,
    lease: Option<Lease>,
    served: u64,
    class: Option<ClassId>,
    /// serving, draining or quarantined.
    standing: &'static str,
    /// Who drained or quarantined it.
    by: Option<String>,
    reason: Option<String>,
    /// It was asked to boot anew; by when it should be back.
    rebooting_until_ns: Option<Timestamp>,
    /// The facts in which it differed when it last joined with another fingerprint than before.
    drifted: Vec<String>,
    /// The experiments that give it no runs for a time.
    left_out: Vec<HostExclusion>,
}

/// That an experiment gives a host no runs for a time, because it lost attempts there.
#[derive(Debug, Serialize)]
struct HostExclusion {
    experiment: String,
    lost: u32,
    reason: String,
    since_ns: Option<Timestamp>,
    until_ns: Option<Timestamp>,
}

impl From<v1::LeftOut> for HostExclusion {
    fn from(wire: v1::LeftOut) -> Self {
        Self {
            experiment: wire.experiment,
            lost: wire.lost,
            reason: wire.reason,
            since_ns: known_moment(wire.since.as_ref()),
            until_ns: known_moment(wire.until.as_ref()),
        }
    }
}

impl TryFrom<v1::HostStatus> for HostStatus {
    type Error = Malformed;

    fn try_from(wire: v1::HostStatus) -> Result<Self, Malformed> {
        // A coordinator of an earlier release knows neither standing nor classes.
        let (standing, by, reason) =
            match wire.standing.clone().map(Standing::from).unwrap_or(Standing::Serving) {
                Standing::Serving => ("serving", None, None),
                Standing::Draining { by } => ("draining", Some(by), None),
                Standing::Quarantined { by, reason } => ("quarantined", Some(by), Some(reason)),
            };
        let lease = held_lease(&wire)?;
        let facts = HostFacts::try_from(wire.facts.unwrap_or_default())?;
        Ok(Self {
            host_name: facts.name(),
            class: wire.class.parse().ok(),
            standing,
            by,
            reason,
            rebooting_until_ns: known_moment(wire.rebooting_until.as_ref()),
            drifted: wire.drifted,
            left_out: wire.left_out.into_iter().map(HostExclusion::from).collect(),
            facts,
            agent_epoch: wire.agent_epoch,
            connected: wire.connected,
            away_since_ns: known_moment(wire.away_since.as_ref()),
            lease,
            served: wire.served,
        })
    }
}

impl HostStatus {
    /// Its id, and what people call it where the id does not say that.
    fn called(&self) -> String {
        let id = self.facts.host.as_str();
        match &self.host_name {
            Some(name) if !id.contains(name.as_str()) => format!("{id} ({name})"),
            Some(_) | None => id.to_owned(),
        }
    }

    /// Why experiments give it no runs for a time, and what a person can do about it.
    fn left_out(&self) -> Vec<String> {
        let host = self.called();
        let mut lines = Vec::new();
        for HostExclusion { experiment, lost, reason, since_ns, until_ns } in &self.left_out {
            let since = since_ns.map(moment::local).unwrap_or_default();
            let until = until_ns.map(moment::local).unwrap_or_default();
            lines.push(format!(
                "{host}: its last {lost} attempts of experiment {experiment} were lost ({reason}); left out since {since} and until \
                 {until}. `speedup hosts resume {}` lets it in again now.",
                self.facts.host
            ));
        }
        lines
    }
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::List(arguments) => list(arguments, console).await,
        Verb::Show(arguments) => show::execute(arguments, console).await,
        Verb::Drain(arguments) => standing::drain(arguments, console).await,
        Verb::Resume(arguments) => standing::resume(arguments, console).await,
        Verb::Quarantine(arguments) => standing::quarantine(arguments, console).await,
        Verb::Approve(arguments) => standing::approve(arguments, console).await,
        Verb::Reset(arguments) => standing::reset(arguments, console).await,
        Verb::Slurm(verb) => engine::slurm(verb, console).await,
        Verb::Batch(verb) => engine::batch(verb, console).await,
        Verb::Local(verb) => engine::local(verb, console).await,
        Verb::Ssh(verb) => ssh::execute(verb, console).await,
    }
}

/// Says of these hosts why an experiment gives them no runs for a time. A coordinator that cannot tell is no reason to fail.
pub(crate) async fn tell_of_left_out(connection: &Connection, console: &Console, hosts: Vec<String>) {
    for host in hosts {
        let Ok(answer) = connection.hosts().show(v1::ShowHostRequest { host }).await else { continue };
        let status = HostStatus::try_from(answer.into_inner().host.unwrap_or_default());
        status.iter().flat_map(HostStatus::left_out).for_each(|line| console.talk(line));
    }
}

const FIELDS: [&str; 24] = [
    "host",
    "host_name",
    "node",
    "hostname",
    "job",
    "boot",
    "allocation",
    "allocation_ends",
    "named_by_owner",
    "sharing",
    "can_reboot",
    "class",
    "standing",
    "by",
    "reason",
    "connected",
    "away_since_ns",
    "served",
    "rebooting_until_ns",
    "drifted",
    "agent_epoch",
    "lease.experiment",
    "lease.run",
    "lease.attempt",
];

async fn list(arguments: ListArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.source.connect().await?;
    let listed = all(&connection).await;
    // What a coordinator of an earlier release does not tell is no reason to fail.
    let queues = engine::queues(&connection).await.unwrap_or_default();
    connection.close().await;
    let hosts = listed?;
    match arguments.output.output {
        Form::Json => print_json(console, &hosts)?,
        Form::Csv => print_csv(console, &hosts, &FIELDS)?,
        Form::Table if hosts.is_empty() && !queues.is_empty() => {
            let engine = &queues[0].engine;
            console.talk(format_args!(
                "No host has joined yet; hosts are requested from {engine} when a plan needs them (`speedup hosts {engine} show`)."
            ));
        }
        Form::Table if hosts.is_empty() => {
            console.talk("No host has joined yet; `speedup agent start` on a host makes it join.");
        }
        Form::Table => {
            print_fitted(&COLUMNS, NAME, hosts.iter().map(row), console).map_err(Failure::printing)?;
            hosts.iter().flat_map(HostStatus::left_out).for_each(|line| console.talk(line));
            let connected = hosts.iter().filter(|host| host.connected).count();
            console.talk(format_args!("{connected} of {} hosts are connected.", hosts.len()));
        }
    }
    Ok(Exit::Done)
}

async fn all(connection: &Connection) -> Result<Vec<HostStatus>, Failure> {
    const TRIED: &str = "cannot list the hosts";
    let mut client = connection.hosts();
    let (mut hosts, mut page_token) = (Vec::<HostStatus>::new(), String::new());
    loop {
        let answer = client.list(v1::ListHostsRequest { page_token, page_size: 0 }).await;
        let page = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
        for host in page.hosts {
            hosts.push(host.try_into().map_err(|error| Failure::malformed(TRIED, error))?);
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(hosts);
        }
    }
}

/// What is known of those hosts that are still recorded, as JSON.
pub(crate) async fn facts(connection: &Connection, of: &BTreeSet<HostId>) -> Result<Vec<u8>, Failure> {
    let hosts = all(connection).await?;
    let facts: Vec<&HostFacts> =
        hosts.iter().map(|host| &host.facts).filter(|facts| of.contains(&facts.host)).collect();
    json(&facts).map(String::into_bytes)
}

const NAME: usize = 0;
const COLUMNS: [RankedColumn; 9] = [
    (Column::Words("host"), 0),
    (Column::Words("name"), 0),
    (Column::Words("connected"), 0),
    (Column::Words("standing"), 0),
    (Column::Words("class"), 3),
    (Column::Words("boot"), 5),
    (Column::Words("at work on"), 1),
    (Column::Number("timer bias"), 4),
    (Column::Number("served"), 2),
];

fn row(host: &HostStatus) -> Vec<String> {
    let connected = match host.away_since_ns {
        _ if host.connected => "yes".to_owned(),
        Some(since) => format!("away since {}", moment::local(since)),
        None => "away".to_owned(),
    };
    let at_work = match &host.lease {
        Some(lease) => format!("{} run {}", selector::short(lease.experiment), lease.run),
        None => "-".to_owned(),
    };
    let timer = host
        .facts
        .timer
        .map_or_else(|| "untested".to_owned(), |test| format!("{:+.1} µs", test.error.bias_ns as f64 / 1e3));
    let boot = host.facts.boot.as_str().chars().take(8).collect();
    let standing = match host.rebooting_until_ns {
        Some(_) => "rebooting".to_owned(),
        None => host.standing.to_owned(),
    };
    let class = host.class.map_or_else(|| "-".to_owned(), |class| format!("{class:.8}"));
    vec![
        host.facts.host.to_string(),
        host.host_name.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        connected,
        standing,
        class,
        boot,
        at_work,
        timer,
        host.served.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use speedup_proto::convert::timestamp;

    use super::*;
    use crate::console::render::csv;
    use crate::console::render::table::table;

    fn host(connected: bool) -> HostStatus {
        let facts =
            v1::HostFacts { host: "a".to_owned(), boot: "b0b0-b0b0-b0b0".to_owned(), ..Default::default() };
        let away_since = (!connected).then(|| timestamp(Timestamp(0)));
        let status =
            v1::HostStatus { facts: Some(facts), connected, away_since, served: 3, ..Default::default() };
        status.try_into().unwrap()
    }

    #[test]
    fn a_host_is_one_line() {
        let rows = [row(&host(true)), row(&host(false))];
        let text = table(&COLUMNS.map(|column| column.0), rows, Console::plain().out);
        let lines: Vec<&str> = text.lines().collect();
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words, ["a", "-", "yes", "serving", "-", "b0b0-b0b", "-", "untested", "3"], "{text}");
        assert!(lines[2].contains("away since 19"), "{text}");
    }

    #[test]
    fn every_column_of_csv_is_a_field_of_the_json() {
        let json = serde_json::to_value(host(true)).unwrap();
        let of_lease = |field: &&str| field.starts_with("lease.");
        for field in FIELDS.iter().filter(|field| !of_lease(field)) {
            assert!(json.get(field).is_some(), "{field}: {json}");
        }
        assert!(json.get("lease").is_some());
        let rows = csv::rows(&[host(true)], &FIELDS).unwrap();
        assert!(rows.lines().nth(1).unwrap().starts_with("a,,,,,b0b0-b0b0-b0b0,"), "{rows}");
    }

    #[test]
    fn a_host_without_an_id_is_no_host() {
        assert!(HostStatus::try_from(v1::HostStatus::default()).is_err());
    }
}
