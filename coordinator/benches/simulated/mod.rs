//! Simulated agents: real connections and the real machine of an agent, but nothing is executed and nothing kept.

use std::{path::PathBuf, process::Command, sync::Arc, time::Duration};

use speedup_access::{Credentials, Identity, Reach, Role, enrolment};
use speedup_core::agent::message::CoordinatorMessage;
use speedup_core::agent::{Action, Agent, Input};
use speedup_core::host::HostFacts;
use speedup_core::run::record::Record;
use speedup_core::value::id::{AgentEpoch, AgentId, LeaseEpoch};
use speedup_proto::{v1, v1::agents_client::AgentsClient};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use uuid::Uuid;

use crate::workload::{record, record_with_conditions};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a simulated agent does for a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// It waits so long.
    pub(crate) lasts: Duration,
    /// It executes this program, whatever comes of it.
    pub(crate) program: Option<PathBuf>,
    /// It reports the run with its conditions and the program, as an agent does.
    pub(crate) with_conditions: bool,
}

impl Run {
    async fn execute(&self) -> Result<(), Failure> {
        if let Some(program) = &self.program {
            Command::new(program).status()?;
        }
        if !self.lasts.is_zero() {
            tokio::time::sleep(self.lasts).await;
        }
        Ok(())
    }

    fn record(&self, lease: LeaseEpoch) -> Record {
        if self.with_conditions { record_with_conditions(lease.0) } else { record(lease.0) }
    }
}

/// Agents that connect at once.
const CONNECTING: usize = 256;

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) url: String,
    /// Those of an admin; nobody has any where it is without TLS.
    pub(crate) admin: Option<Credentials>,
}

impl Site {
    /// How an admin reaches it.
    pub(crate) fn reach(&self) -> Result<Reach, Failure> {
        Ok(Reach::new(&self.url, self.admin.as_ref())?)
    }

    /// How the agent of a host does, once it has a certificate.
    async fn reach_as(&self, host: &str) -> Result<Reach, Failure> {
        if self.admin.is_none() {
            return self.reach();
        }
        let identity = Identity::new(host, Role::Agent)?;
        let credentials = enrolment::issue(&self.reach()?, &identity).await?;
        Ok(Reach::new(&self.url, Some(&credentials))?)
    }
}

/// Lets agents join; they serve from then on, and do so much for each run.
pub(crate) async fn join(site: &Site, agents: u32, run: &Run) -> Result<(), Failure> {
    let places = Arc::new(Semaphore::new(CONNECTING));
    for number in 0..agents {
        let place = places.clone().acquire_owned().await?;
        let (tell, joined) = oneshot::channel();
        let served = serve(site.clone(), number, run.clone(), tell);
        tokio::spawn(async move {
            if let Err(error) = served.await {
                println!("agent {number}: {error}");
            }
        });
        tokio::spawn(async move {
            // An agent that did not join has said why.
            let _ = joined.await;
            drop(place);
        });
    }
    let all = u32::try_from(CONNECTING)?;
    drop(places.acquire_many(all).await?);
    Ok(())
}

/// A simulated agent: the real machine on a real connection, which executes nothing and keeps nothing.
async fn serve(site: Site, number: u32, run: Run, joined: oneshot::Sender<()>) -> Result<(), Failure> {
    let host = format!("4d2c7c1e5f0b4f0c9d3e{number:012x}");
    let channel = site.reach_as(&host).await?.connect().await?;
    let facts = HostFacts::bare(host.parse()?, format!("8b6e1a52-3f5f-4b53-9c0e-{number:012x}").parse()?);
    let mut agent =
        Agent::new(facts, AgentId(Uuid::from_u128(u128::from(number))), AgentEpoch(1), Vec::new());
    let (up, messages) = mpsc::channel(64);
    let mut joined = Some(joined);
    act(&mut agent, Input::LinkUp, &run, &up).await?;
    let mut down = AgentsClient::new(channel).session(ReceiverStream::new(messages)).await?.into_inner();
    while let Some(message) = down.message().await? {
        let message = CoordinatorMessage::try_from(message)?;
        if matches!(message, CoordinatorMessage::Welcome { .. }) {
            joined.take().map(|joined| joined.send(()));
        }
        act(&mut agent, Input::Heard(message), &run, &up).await?;
    }
    Ok(())
}

/// What the machine wants done. It hears nothing while a run lasts.
async fn act(
    agent: &mut Agent,
    input: Input,
    run: &Run,
    up: &mpsc::Sender<v1::AgentMessage>,
) -> Result<(), Failure> {
    let mut next = Some(input);
    while let Some(input) = next.take() {
        for action in agent.handle(input) {
            match action {
                Action::Send(message) => up.send(message.into()).await?,
                Action::Execute(grant) => {
                    run.execute().await?;
                    next = Some(Input::Executed(run.record(grant.lease)));
                }
                Action::Prepare(_)
                | Action::Begin
                | Action::End { .. }
                | Action::Keep(_)
                | Action::Forget(_)
                | Action::Remember(_)
                | Action::Complain { .. }
                | Action::Reboot { .. }
                | Action::Withdraw { .. } => {}
                Action::GiveUp { reason } | Action::Leave { reason } => {
                    return Err(format!("an agent was refused for good: {reason}").into());
                }
            }
        }
    }
    Ok(())
}
