//! `speedup track run`: measures the points that are due.

use anyhow::anyhow;
use clap::Args;
use speedup_analysis::track::{PointRuns, TrackEntry, TrackEntryState};
use speedup_core::{experiment::Experiment, experiment::commit::Commit, value::id::ExperimentId};
use speedup_proto::convert::StatusPhase;
use uuid::Uuid;

use crate::{
    command::cluster::hosts::prospects::HostsArguments, command::experiments::wait, connection::Connection,
    connection::started::KeptAt, console::Console, console::moment, console::render::counted, exit::Exit,
    exit::failure::Failure, gate::Gate, gate::GateArguments, plan::files::LocalFiles,
    results::attempts::Attempts, session::Session, tracks::KeptTrack, tracks::TrackName, tracks::Tracks,
};

/// Measures the commits of a track that are due, the oldest first
///
/// What was interrupted or killed goes on where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup track run prog\n\
    \x20 speedup track run prog --most 5 --fail-on-regression\n\n\
    The exit code is 0 whatever was found, also where a commit does not build or run; 1 if a reference does not, or a point was \
    cancelled, and otherwise that of the gates.")]
pub(crate) struct Arguments {
    /// The track
    #[arg(value_name = "NAME")]
    name: TrackName,
    /// Measure at most so many commits now
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// On a pool, accept a point even if it has too few fresh hosts now
    #[arg(long)]
    wait_for_hosts: bool,
    #[command(flatten)]
    gate: GateArguments,
}

/// Where points are measured.
enum PointRunner<'a> {
    Here(Box<Session<'a>>),
    Pool { connection: Box<Connection>, wait_for_hosts: bool },
}

pub(super) async fn execute(
    arguments: Arguments,
    tracks: &Tracks,
    console: &Console,
) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let kept = tracks.require(&arguments.name)?;
    let lock = kept.lock()?;
    let entries = kept.history()?.entries;
    let mut due = kept.due(&entries, &moment::today())?;
    console.talk(format_args!("{}: {} due", arguments.name, counted(due.len() as u64, "commit")));
    due.truncate(arguments.most.unwrap_or(usize::MAX));
    let measured = match due.is_empty() {
        true => Ok(Exit::Done),
        false => measure(&kept, entries, due, arguments.wait_for_hosts, console).await,
    };
    drop(lock);
    match (measured?, gate) {
        (Exit::Done, Some(gate)) => gated(&kept, gate, console),
        (exit, _) => Ok(exit),
    }
}

fn gated(kept: &KeptTrack, gate: Gate, console: &Console) -> Result<Exit, Failure> {
    Ok(gate.judge_track(&kept.report()?, console))
}

async fn measure(
    kept: &KeptTrack,
    mut entries: Vec<TrackEntry>,
    due: Vec<(Commit, Vec<Commit>)>,
    wait_for_hosts: bool,
    console: &Console,
) -> Result<Exit, Failure> {
    let mut place = PointRunner::start(&kept.definition.place, wait_for_hosts, console).await?;
    let mut done = Ok(Exit::Done);
    for (commit, passed) in due {
        done = place.point(kept, &mut entries, commit, passed, console).await;
        if !matches!(done, Ok(Exit::Done)) {
            break;
        }
    }
    place.end(done).await
}

impl<'a> PointRunner<'a> {
    async fn start(place: &KeptAt, wait_for_hosts: bool, console: &'a Console) -> Result<Self, Failure> {
        Ok(match place {
            KeptAt::Data(data) => Self::Here(Box::new(Session::own(console, data).await?)),
            KeptAt::Coordinator { .. } => {
                Self::Pool { connection: Box::new(place.connect().await?), wait_for_hosts }
            }
        })
    }

    async fn end(self, done: Result<Exit, Failure>) -> Result<Exit, Failure> {
        match self {
            Self::Here(session) => session.end(done).await,
            Self::Pool { connection, .. } => {
                connection.close().await;
                done
            }
        }
    }

    /// Measures a commit, and records it once its experiment has ended.
    async fn point(
        &mut self,
        kept: &KeptTrack,
        entries: &mut Vec<TrackEntry>,
        commit: Commit,
        passed: Vec<Commit>,
        console: &Console,
    ) -> Result<Exit, Failure> {
        let (point, files) = kept.definition.point(&commit)?;
        files.warn(console);
        console.talk(format_args!("{}, {}", commit.short(), commit.subject));
        let request = kept.definition.request(&commit, entries);
        let (experiment, exit) = self.carry_out(point, &files, request, console).await?;
        if exit.is_by_signal() {
            console.talk(format_args!(
                "`speedup track run {}` continues where it stopped.",
                kept.definition.terms.name
            ));
            return Ok(exit);
        }
        let entry = self.entry(experiment, &kept.definition.terms.metric, commit, passed).await?;
        kept.record(&entry)?;
        let found = tell(kept, &entry, console);
        entries.push(entry);
        found
    }

    async fn carry_out(
        &mut self,
        point: Experiment,
        files: &LocalFiles,
        request: Uuid,
        console: &Console,
    ) -> Result<(ExperimentId, Exit), Failure> {
        match self {
            Self::Here(session) => session.measure(point, files, request).await,
            Self::Pool { connection, wait_for_hosts } => {
                files.send(connection, &point, console).await?;
                let submitted = connection.submit(point, *wait_for_hosts, Some(request)).await?;
                let hosts = HostsArguments { wait_for_hosts: *wait_for_hosts };
                let exit = wait::until_finished(connection, submitted.experiment, hosts, console).await?;
                Ok((submitted.experiment, exit))
            }
        }
    }

    /// What an experiment that ended says of its commit.
    async fn entry(
        &self,
        experiment: ExperimentId,
        metric: &str,
        commit: Commit,
        passed: Vec<Commit>,
    ) -> Result<TrackEntry, Failure> {
        let connection = match self {
            Self::Here(session) => session.connection(),
            Self::Pool { connection, .. } => connection,
        };
        let mut attempts = Attempts::open(connection, experiment).await?;
        let StatusPhase::Finished { at: ended, .. } = attempts.status.phase else {
            return Err(Failure::infrastructure(anyhow!("the experiment {experiment} has not ended")));
        };
        let mut runs = PointRuns::new(attempts.plan.clone(), metric);
        while let Some(page) = attempts.page().await? {
            page.iter().for_each(|attempt| runs.add(attempt));
        }
        let (state, benchmarks) = runs.end();
        Ok(TrackEntry { commit, passed, experiment, ended, state: state.into(), benchmarks })
    }
}

/// Tells what became of a commit, and the alarms that it raised.
fn tell(kept: &KeptTrack, entry: &TrackEntry, console: &Console) -> Result<Exit, Failure> {
    let commit = entry.commit.short();
    match entry.state.known() {
        Some(TrackEntryState::NotBuilt) => {
            console.warn(format_args!("{commit} could not be built: it is no point"));
        }
        Some(TrackEntryState::Failing) => {
            console.warn(format_args!("all runs of {commit} failed: it is no point"));
        }
        Some(TrackEntryState::Measured) => {}
        Some(TrackEntryState::Unfinished) | None => {
            console.warn(format_args!(
                "the point of {commit} was cancelled, or a reference could not be built or run: `speedup track run {}` measures it again",
                kept.definition.terms.name
            ));
            return Ok(Exit::Failed);
        }
    }
    let report = kept.report()?;
    for step in report.steps.iter().filter(|step| step.found_at == entry.commit.id) {
        console.talk(format_args!("step {}: {}", step.number, report.sentence(step)));
    }
    Ok(Exit::Done)
}
