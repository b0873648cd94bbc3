//! `speedup hosts slurm`, `speedup hosts batch` and `speedup hosts local`: an engine is asked for hosts, as many as the running
//! plans need.

mod shown;

use std::{fs::File, path::Path, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use speedup_core::machine::provision::{MAX_SURROUNDING_BYTES, batch};
use speedup_core::value::bounded::read_text_at_most;
use speedup_core::{value::id::QueueName, value::time::Span};
use speedup_proto::convert::duration;
use speedup_proto::v1;
use speedup_proto::v1::add_provisioner_request::{BatchSystem, Engine, LocalProcesses, Slurm};

use super::CommonArguments;
use crate::{
    arguments::Output, arguments::span, command::print, command::print_json, connection::Connection,
    connection::by, console::Console, exit::Exit, exit::failure::Failure,
};
pub(super) use shown::QueueStatus;

/// Seconds of an hour.
const HOUR: f64 = 3_600.0;
/// How often jobs are listed, where neither the user nor a file says.
const POLL: Span = Span::from_secs(5);

/// Takes hosts from Slurm, as many as the running plans need
#[derive(Debug, Subcommand)]
pub(crate) enum SlurmVerb {
    Add(AddSlurmArguments),
    /// Shows the requests to Slurm and their jobs
    #[command(after_help = "Examples:\n  speedup hosts slurm show\n  speedup hosts slurm show short")]
    Show(QueueArguments),
    /// Ends a request to Slurm, and cancels its jobs
    #[command(
        after_help = "Examples:\n  speedup hosts slurm remove short\n  speedup hosts slurm remove --all"
    )]
    Remove(RemoveArguments),
}

/// Takes hosts from any batch system that a file describes
#[derive(Debug, Subcommand)]
pub(crate) enum BatchVerb {
    Add(AddBatchArguments),
    /// Shows the requests to batch systems and their jobs
    #[command(after_help = "Example:\n  speedup hosts batch show gridengine")]
    Show(QueueArguments),
    /// Ends a request to a batch system, and cancels its jobs
    #[command(after_help = "Example:\n  speedup hosts batch remove gridengine")]
    Remove(RemoveArguments),
}

/// Runs agents as processes of the coordinator's machine, for trials
#[derive(Debug, Subcommand)]
pub(crate) enum LocalVerb {
    Add(AddLocalArguments),
    /// Shows the agents that were started, and their state
    #[command(after_help = "Example:\n  speedup hosts local show")]
    Show(QueueArguments),
    /// Starts no more agents, and stops those that run
    #[command(after_help = "Example:\n  speedup hosts local remove")]
    Remove(RemoveArguments),
}

/// What is allowed.
#[derive(Debug, Args)]
struct LimitArguments {
    /// The name of the queue; one of that name is replaced [default: that of a queue with the same options, or the
    /// partition or a number]
    #[arg(long, value_name = "NAME")]
    name: Option<QueueName>,
    /// The maximum number of jobs, queued or running
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Limits")]
    max_jobs: u32,
    /// The maximum number of queued jobs
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Limits")]
    max_queued: u32,
    /// The budget of node-hours over all jobs; when it is used up, all nodes are released
    #[arg(long, value_name = "HOURS", value_parser = node_hours, help_heading = "Limits")]
    node_hours: Option<Span>,
    /// How long a job may wait in this queue before other queues are asked for its host as well
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m", help_heading = "Limits")]
    patience: Span,
    /// How often to poll the jobs [default: 5s, or what the file of a batch system says]
    #[arg(long, value_name = "TIME", value_parser = span)]
    poll: Option<Span>,
    /// Print the request without sending it
    #[arg(long)]
    dry_run: bool,
}

/// What surrounds the agent in its job.
#[derive(Debug, Args)]
struct JobArguments {
    /// A file of shell lines to run before the agent; a first line #!… chooses the shell
    #[arg(long, value_name = "FILE", help_heading = "Job script")]
    prologue: Option<PathBuf>,
    /// A file of shell lines to run after the agent has ended, for whatever reason
    #[arg(long, value_name = "FILE", help_heading = "Job script")]
    epilogue: Option<PathBuf>,
    /// A command to put before the agent, as the job's shell reads it: 'numactl --membind=0'
    #[arg(long, value_name = "COMMAND", help_heading = "Job script")]
    wrap: Option<String>,
    /// The user as whom programs are executed; jobs must start agents as root, by a coordinator that is root or --wrap 'sudo -n -E'
    #[arg(long, value_name = "USER")]
    run_as: Option<String>,
}

// A doc comment would be the help of the verbs.
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// The name of the queue
    #[arg(value_name = "NAME")]
    name: Option<QueueName>,
    #[command(flatten)]
    common: CommonArguments,
}

// A doc comment would be the help of the verbs.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The name of the queue
    #[arg(value_name = "NAME")]
    name: Option<QueueName>,
    /// Remove all queues of this kind
    #[arg(long, conflicts_with = "name")]
    all: bool,
    #[command(flatten)]
    common: CommonArguments,
}

/// Requests hosts from Slurm from now on
///
/// Each job is one agent on a whole node. Each request is a queue with options and limits of its own: adding another one divides
/// the hosts that are needed among them.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup hosts slurm add --max-jobs 20 -- --partition short --time 30\n\n\
    Options after -- go to sbatch. A job that never starts is submitted first, to report wrong options at once.")]
pub(crate) struct AddSlurmArguments {
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    job: JobArguments,
    #[command(flatten)]
    common: CommonArguments,
    /// Options of sbatch
    #[arg(last = true, value_name = "SBATCH_OPTIONS")]
    options: Vec<String>,
}

/// Requests hosts from a batch system from now on
///
/// A file says which commands submit, list and cancel jobs (docs/batch.md). Its content is kept: after a change, add it again
/// under the same name.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup hosts batch add gridengine.toml -- -q main.q -l h_rt=1:00:00\n\n\
    Options after -- go to the command that submits a job.")]
pub(crate) struct AddBatchArguments {
    /// The file that describes the batch system
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    job: JobArguments,
    #[command(flatten)]
    common: CommonArguments,
    /// Options of the command that submits a job
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// Starts agents on the coordinator's machine as running plans need them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup hosts local add --max-jobs 2\n\n\
    These agents share one machine: do not use what they measure.")]
pub(crate) struct AddLocalArguments {
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    common: CommonArguments,
}

/// Hours, as people write them.
fn node_hours(text: &str) -> Result<Span, anyhow::Error> {
    let hours: f64 = text.parse().map_err(|_| anyhow!("write a number of hours: 50 or 0.5"))?;
    if !(hours > 0.0 && hours <= 1e9) {
        return Err(anyhow!("write a number of hours above 0"));
    }
    Ok(Span((hours * HOUR * 1e9) as u64))
}

pub(super) async fn slurm(verb: SlurmVerb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        SlurmVerb::Add(AddSlurmArguments { limits, job, common, options }) => {
            let around = Some(job.read()?);
            add(Engine::Slurm(Slurm { options, around }), POLL, &limits, &common, console).await
        }
        SlurmVerb::Show(queue) => show(Kind::Slurm, &queue, console).await,
        SlurmVerb::Remove(queue) => remove(Kind::Slurm, &queue, console).await,
    }
}

pub(super) async fn batch(verb: BatchVerb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        BatchVerb::Add(AddBatchArguments { file, limits, job, common, options }) => {
            let text = text(&file, batch::MAX_FILE_BYTES)?;
            let tried = format!("cannot use {}", file.display());
            let system = batch::parse(&text).map_err(|error| Failure::usage(error).context(tried))?;
            let around = Some(job.read()?);
            let engine = Engine::Batch(BatchSystem { file: text, options, around });
            add(engine, system.poll, &limits, &common, console).await
        }
        BatchVerb::Show(queue) => show(Kind::Batch, &queue, console).await,
        BatchVerb::Remove(queue) => remove(Kind::Batch, &queue, console).await,
    }
}

impl JobArguments {
    fn read(self) -> Result<v1::JobSurroundings, Failure> {
        let wrap = self.wrap.unwrap_or_default();
        if shlex::split(&wrap).is_none() {
            return Err(Failure::usage(anyhow!("--wrap {wrap:?} is not a command: a quote is not closed")));
        }
        let run_as = self.run_as.unwrap_or_default();
        Ok(v1::JobSurroundings {
            prologue: lines(self.prologue.as_deref())?,
            epilogue: lines(self.epilogue.as_deref())?,
            wrap,
            run_as,
        })
    }
}

/// The lines of a prologue or epilogue; none where no file is given.
fn lines(path: Option<&Path>) -> Result<String, Failure> {
    path.map_or_else(|| Ok(String::new()), |path| text(path, MAX_SURROUNDING_BYTES))
}

/// A file, read when the request is made: what it says later does not matter.
fn text(path: &Path, most: usize) -> Result<String, Failure> {
    let read = File::open(path).and_then(|file| read_text_at_most(file, most as u64));
    read.with_context(|| format!("cannot read {}", path.display())).map_err(Failure::usage)
}

pub(super) async fn local(verb: LocalVerb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        LocalVerb::Add(AddLocalArguments { limits, common }) => {
            add(Engine::Local(LocalProcesses {}), POLL, &limits, &common, console).await
        }
        LocalVerb::Show(queue) => show(Kind::Local, &queue, console).await,
        LocalVerb::Remove(queue) => remove(Kind::Local, &queue, console).await,
    }
}

speedup_core::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Kind {
        Slurm = "slurm",
        Batch = "batch",
        Local = "local",
    }
    /// As commands and the coordinator say it.
    fn word;
}

async fn add(
    engine: Engine,
    poll: Span,
    limits: &LimitArguments,
    common: &CommonArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    let request = v1::AddProvisionerRequest {
        engine: Some(engine),
        limits: Some(v1::ProvisionLimits {
            jobs: limits.max_jobs,
            queued: limits.max_queued,
            node_time: limits.node_hours.map(duration),
            patience: Some(duration(limits.patience)),
        }),
        look_every: Some(duration(limits.poll.unwrap_or(poll))),
        dry_run: limits.dry_run,
        by: by(),
        queue: limits.name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default(),
    };
    let connection = common.coordinator.connect().await?;
    let answer = connection.provision().add(request).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status("cannot request hosts", &status))?.into_inner();
    let v1::AddProvisionerResponse { command, script, queue, replaced } = answer;
    match common.output.output {
        Output::Json => {
            let queue = (!queue.is_empty()).then_some(queue);
            let told = serde_json::json!({
                "queue": queue, "replaced": replaced, "command": command, "script": script
            });
            print_json(console, &told)?;
        }
        // A dry run prints what a shell can execute.
        Output::Table if limits.dry_run => print(console, &dry(&command, &script)?)?,
        Output::Table => {
            let instead = if replaced { " instead of the earlier request" } else { "" };
            console.talk(format_args!(
                "Hosts are requested from now on through the queue {queue}{instead}, as many as the running plans need."
            ));
        }
    }
    Ok(Exit::Done)
}

/// The command as a shell reads it, and the script that goes into it.
fn dry(command: &[String], script: &str) -> Result<String, Failure> {
    let words = shlex::try_join(command.iter().map(String::as_str));
    let words =
        words.map_err(|error| Failure::infrastructure(anyhow!("the command holds a zero byte: {error}")))?;
    if script.is_empty() {
        return Ok(words);
    }
    Ok(format!("{words} <<'END'\n{script}END"))
}

async fn show(
    kind: Kind,
    QueueArguments { name, common }: &QueueArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    let connection = common.coordinator.connect().await?;
    let all = status(&connection).await;
    connection.close().await;
    let (shown, others): (Vec<_>, Vec<_>) = all?.into_iter().partition(|shown| {
        shown.engine() == kind.word() && name.as_ref().is_none_or(|name| shown.queue() == name.as_str())
    });
    if let Some(name) = name
        && shown.is_empty()
    {
        let failure = Failure::usage(anyhow!("there is no queue {name} of {}", kind.word()));
        if others.is_empty() {
            return Err(failure);
        }
        let known: Vec<String> = others.iter().map(QueueStatus::command).collect();
        return Err(failure.hint(format!("use {}", known.join(" or "))));
    }
    match common.output.output {
        Output::Json => print_json(console, &shown)?,
        Output::Table if shown.is_empty() => {
            let kind = kind.word();
            console.talk(format_args!("No hosts are requested; `speedup hosts {kind} add` requests them."));
        }
        Output::Table => {
            let texts: Vec<String> = shown.iter().map(|shown| shown.text(console.out)).collect();
            print(console, &texts.join("\n\n"))?;
        }
    }
    if name.is_none() {
        others.iter().for_each(|other| {
            console.talk(format_args!("There is another request; {} shows it.", other.command()));
        });
    }
    Ok(Exit::Done)
}

async fn remove(
    kind: Kind,
    RemoveArguments { name, all, common }: &RemoveArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    let connection = common.coordinator.connect().await?;
    let mut names = vec![name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default()];
    if *all {
        let of_kind = status(&connection).await?.into_iter().filter(|shown| shown.engine() == kind.word());
        names = of_kind.map(|shown| shown.queue().to_owned()).collect();
    }
    let mut removed = Vec::new();
    for queue in names {
        let request = v1::RemoveProvisionerRequest { by: by(), engine: kind.word().to_owned(), queue };
        let answer = connection.provision().remove(request).await;
        let answer = answer.map_err(|status| Failure::status("cannot end the request for hosts", &status))?;
        removed.extend(answer.into_inner().provisioner.map(QueueStatus::from));
    }
    connection.close().await;
    match common.output.output {
        Output::Json if *all => print_json(console, &removed)?,
        Output::Json => print_json(console, &removed.first())?,
        Output::Table if removed.is_empty() => console.talk("No hosts were requested."),
        Output::Table => {
            for removed in removed {
                let (queue, bill) = (removed.queue(), removed.bill());
                console.talk(format_args!("No more hosts are requested through the queue {queue}. {bill}"));
            }
        }
    }
    Ok(Exit::Done)
}

async fn status(connection: &Connection) -> Result<Vec<QueueStatus>, Failure> {
    Ok(queues(connection).await?.into_iter().map(QueueStatus::from).collect())
}

/// The queues as the coordinator describes them.
pub(super) async fn queues(connection: &Connection) -> Result<Vec<v1::Provisioner>, Failure> {
    let answer = connection.provision().show(v1::ShowProvisionerRequest::default()).await;
    let answer = answer.map_err(|status| Failure::status("cannot show the request for hosts", &status))?;
    let v1::ProvisionerStatus { provisioner, provisioners } = answer.into_inner();
    // A coordinator of release 0.1.0 has at most one.
    Ok(if provisioners.is_empty() { provisioner.into_iter().collect() } else { provisioners })
}

/// Says beside other things that an engine is asked for no more hosts, or not for some nodes, and why. A coordinator that cannot tell is no
/// reason to fail.
pub(crate) async fn tell_if_it_stands_still(connection: &Connection, console: &Console) {
    for shown in status(connection).await.unwrap_or_default() {
        shown.troubles().for_each(|words| console.talk(words));
    }
}

/// The same, and what jobs that have no node wait for.
pub(crate) async fn tell_of_queues(connection: &Connection, console: &Console) {
    for shown in status(connection).await.unwrap_or_default() {
        let waits = [shown.queued(), shown.waits_long()].into_iter().flatten();
        shown.troubles().chain(waits).for_each(|words| console.talk(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_numbers_above_zero() {
        assert_eq!(node_hours("0.5").unwrap(), Span::from_secs(1_800));
        assert!(node_hours("0").is_err() && node_hours("-1").is_err() && node_hours("1h").is_err());
    }

    #[test]
    fn a_dry_run_can_be_pasted_into_a_shell() {
        let text = dry(&["sbatch".to_owned(), "--comment=a b".to_owned()], "#!/bin/sh\ntrue\n").unwrap();
        assert_eq!(text, "sbatch '--comment=a b' <<'END'\n#!/bin/sh\ntrue\nEND");
    }
}
