//! One coordinator and one agent on this machine, for the time of one experiment.
//!
//! * [`Session`]: both, from their start to their end;
//! * [`course`]: what becomes of an experiment, from its submission to its report;
//! * [`left`]: experiments that earlier commands left;
//! * [`trial`]: each cell of a plan, executed once.

mod course;
mod left;
pub(crate) mod trial;

use std::{path::Path, path::PathBuf, time::Duration};

use anyhow::anyhow;

use crate::{
    compose, compose::Coordinator, compose::local_agent::LocalAgent, compose::resources,
    compose::resources::AGENT_SPACE, compose::resources::COORDINATOR_SPACE, connection,
    connection::Connection, connection::Embedding, connection::access, connection::access::Access,
    connection::access::WrittenAccess, connection::directories, connection::selector::Selector,
    connection::user, console::Console, exit::Exit, exit::failure::Failure,
};
pub(crate) use course::{Remainder, ReportingOptions};
use left::{LeftExperiment, leave, left};

/// How long the agent may take to end when it has nothing to do.
const AGENT_END: Duration = Duration::from_secs(10);
/// How long it may take when the user will not wait.
const AGENT_END_AT_ONCE: Duration = Duration::from_millis(500);

/// A coordinator and an agent.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    console: &'a Console,
    data: PathBuf,
    connection: Connection,
    /// What the agent is let in with.
    access: WrittenAccess,
    agent: LocalAgent,
    /// Whether the directory is one of those that are taken where none is named.
    is_usual: bool,
    /// Whether later commands find the experiment by its id alone.
    is_noted: bool,
}

impl<'a> Session<'a> {
    /// Starts both, and waits until the agent has joined. Without a directory it takes the first that no other command is
    /// measuring on.
    pub(crate) async fn start(console: &'a Console, data: Option<&Path>) -> Result<Self, Failure> {
        let is_usual = data.is_none();
        let (coordinator, data) = match data {
            Some(data) => (with_room(data).await?, data.to_owned()),
            None => on_first_free_directory(console).await?,
        };
        let connection = Connection::within(coordinator);
        leave(&connection, None, console, (!is_usual).then_some(data.as_path())).await?;
        let mut session = Self::within(console, connection, data).await?;
        session.is_usual = is_usual;
        Ok(session)
    }

    /// Starts both on the directory in which an experiment was left. `is_noted` says that later commands find the experiment by its
    /// id alone.
    pub(crate) async fn reopen(
        console: &'a Console,
        data: &Path,
        which: &Selector,
        is_noted: bool,
    ) -> Result<(Self, LeftExperiment), Failure> {
        let connection = Connection::within(with_room(data).await?);
        let found = left(&connection, which).await;
        let found = match found {
            Ok(found) => found,
            Err(failure) => {
                connection.close().await;
                return Err(failure);
            }
        };
        leave(&connection, Some(found.experiment), console, (!is_noted).then_some(data)).await?;
        let mut session = Self::within(console, connection, data.to_owned()).await?;
        session.is_noted = is_noted;
        Ok((session, found))
    }

    /// Starts both on the directory of a command that goes on by itself with what it left there.
    pub(crate) async fn own(console: &'a Console, data: &Path) -> Result<Self, Failure> {
        Self::within(console, Connection::within(with_room(data).await?), data.to_owned()).await
    }

    /// Starts the agent of a coordinator, and waits until it has joined.
    async fn within(console: &'a Console, connection: Connection, data: PathBuf) -> Result<Self, Failure> {
        let access = let_in(&connection, &data).await?;
        let mut agent = LocalAgent::start(connection.url(), access.path(), &data)?;
        match agent.joined(&mut connection.hosts()).await {
            Ok(()) => Ok(Self { console, data, connection, access, agent, is_usual: false, is_noted: false }),
            Err(failure) => {
                agent.stop(AGENT_END).await;
                let_out(connection, access).await?;
                Err(failure)
            }
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends, after this was done.
    pub(crate) async fn end(self, done: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let patience = match done {
            Ok(exit) if !exit.is_by_signal() => AGENT_END,
            Ok(_) | Err(_) => AGENT_END_AT_ONCE,
        };
        let done = done.map_err(|failure| caused_by_full_disk(failure, &self.data));
        let closed = self.close(patience).await;
        done.and_then(|exit| closed.map(|()| exit))
    }

    async fn close(self, patience: Duration) -> Result<(), Failure> {
        self.agent.stop(patience).await;
        let_out(self.connection, self.access).await
    }
}

/// A failure with a full disk as its cause, where the disk is full: then neither coordinator nor agent could log why it failed.
fn caused_by_full_disk(failure: Failure, data: &Path) -> Failure {
    match resources::require_space(data, AGENT_SPACE) {
        Err(full) if failure.exit == Exit::Infrastructure => {
            Failure { error: full.error.context(format!("{:#}", failure.error)), ..full }
        }
        Err(_) | Ok(()) => failure,
    }
}

/// A coordinator on a directory that has room for what is measured.
async fn with_room(data: &Path) -> Result<Coordinator, Failure> {
    resources::require_space(data, COORDINATOR_SPACE)?;
    compose::embedded(data).await
}

/// A coordinator on the first local directory that no other command is measuring on. One that a command only reads is waited
/// for.
async fn on_first_free_directory(console: &Console) -> Result<(Coordinator, PathBuf), Failure> {
    let mut in_use = None;
    for data in directories::locals()? {
        resources::require_space(&data, COORDINATOR_SPACE)?;
        match connection::embed(&data, async || Some(())).await? {
            Embedding::Done(coordinator) => return Ok((*coordinator, data)),
            Embedding::Measured(()) => {}
            Embedding::InUse(failure) => in_use = Some(failure),
        }
        console.warn("another command is measuring on this machine: they disturb each other's times");
    }
    let measured = || Failure::infrastructure(anyhow!("too many commands are measuring on this machine"));
    Err(in_use
        .unwrap_or_else(|| measured().hint("wait until one has ended, or name a directory with --data")))
}

/// Writes what the agent is let in with where no other user of this machine can read it.
async fn let_in(connection: &Connection, data: &Path) -> Result<WrittenAccess, Failure> {
    let path = access::within(data);
    let credentials = match connection.embedded() {
        Some(coordinator) => {
            // One that was left by a command that was killed serves again, unless it is damaged.
            let before =
                access::read(&path).ok().flatten().and_then(|access| access.credentials().ok().flatten());
            coordinator.own_credentials(&user(), before).await?
        }
        None => None,
    };
    access::write(&path, Access::for_this_process(connection.url().to_owned(), credentials.as_ref()))
}

/// Ends the coordinator, with the certificate and the file that the agent was let in with: each command makes its own.
async fn let_out(connection: Connection, access: WrittenAccess) -> Result<(), Failure> {
    if let Some(coordinator) = connection.embedded()
        && let Ok(Some(credentials)) = access.access().credentials()
    {
        coordinator.disown(&credentials).await;
    }
    connection.close().await;
    access.remove()
}
