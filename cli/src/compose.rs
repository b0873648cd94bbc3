//! The libraries put together: a coordinator with the analysis beside its own services, and the agent. Only this module
//! names them, and `web` beside it what a page takes of them.

pub(crate) mod local_agent;
mod orphan;
pub(crate) mod resources;
pub(crate) mod web;

use std::{net::Ipv4Addr, net::SocketAddr, path::Path, path::PathBuf};

use anyhow::anyhow;
use speedup_access::{Credentials, Identity, Role};
use speedup_core::{machine::Settings, value::hint::Hinted, value::id::BootId, value::seed::Seed};
use tonic::transport::Channel;

use self::resources::AGENT_SPACE;
use crate::exit::failure::Failure;

use speedup_agent::AgentError;
pub(crate) use speedup_agent::launch::settle_name_service;
pub(crate) use speedup_agent::probe::{Hardware, Names, Probed};
pub(crate) use speedup_agent::{
    AccessFile, Admittance, Options as AgentOptions, RebootCommand, TimerTesting, selftest,
};
pub(crate) use speedup_analysis_service::{Options as AnalysisOptions, Service as Analysis, recompute};
pub(crate) use speedup_coordinator::{
    AgentPlace, BackupError, Contents, CoordinatorComponent, Options as CoordinatorOptions, Security,
    StoreCache, back_up, nearby, raise_open_files, restore,
};
use speedup_coordinator::{StartError, Ways};

/// Any free port of this machine.
const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A coordinator, with the advisor that applies the rules of its experiments.
#[derive(Debug)]
pub(crate) struct Coordinator {
    coordinator: speedup_coordinator::Coordinator,
    advisor: speedup_analysis_service::Advisor,
    page: Option<speedup_web::Running>,
}

impl Coordinator {
    pub(crate) fn address(&self) -> SocketAddr {
        self.coordinator.address()
    }

    /// Where metrics are asked for, if anywhere.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.coordinator.metrics_address()
    }

    /// A connection to its doors that does not leave the process.
    pub(crate) fn channel(&self) -> Channel {
        self.coordinator.channel()
    }

    /// Credentials of an admin of this name: those from before, while they hold long enough. None where there is no TLS.
    pub(crate) async fn own_credentials(
        &self,
        name: &str,
        before: Option<Credentials>,
    ) -> Result<Option<Credentials>, Failure> {
        let Some(admission) = self.coordinator.admission() else { return Ok(None) };
        let failed =
            |error: anyhow::Error| Failure::infrastructure(error.context("cannot make own credentials"));
        let identity = Identity::new(name, Role::Admin).map_err(|error| failed(error.into()))?;
        admission.own(&identity, before).await.map(Some).map_err(|error| failed(error.into()))
    }

    /// Ends a certificate whose key is about to be removed. Where that fails, the coordinator has failed and says so; the next start
    /// keeps no more than two of them.
    pub(crate) async fn disown(&self, credentials: &Credentials) {
        if let Some(admission) = self.coordinator.admission() {
            let _ = admission.disown(credentials.certificate().serial).await;
        }
    }

    /// Notes whether a component works that the command looks after.
    pub(crate) fn note(&self, component: CoordinatorComponent, works: bool) {
        self.coordinator.note(component, works);
    }

    /// Waits until it has failed.
    pub(crate) async fn failed(&self) -> speedup_coordinator::Broken {
        self.coordinator.failed().await
    }

    /// Stops both; a decision that was not made is made at the next start.
    pub(crate) async fn stop(self) {
        drop(self.page);
        drop(self.advisor);
        self.coordinator.stop().await;
    }
}

/// Starts a coordinator with all its services where the limits of the system let it serve, and with its page where there is to be one.
pub(crate) async fn coordinator(
    options: CoordinatorOptions,
    page: Option<web::Bound>,
) -> Result<Coordinator, Failure> {
    resources::require_for_coordinator()?;
    let services = |ways: &Ways, routes| {
        let routes = speedup_analysis_service::routes(ways.channel(), routes);
        match &page {
            Some(page) => page.site.routes(routes),
            None => routes,
        }
    };
    let started = speedup_coordinator::start(options, services).await;
    let coordinator = started.map_err(|error| {
        let hint = error.hint();
        let failure = match error {
            StartError::NotLoopback(_) => Failure::usage(error),
            error => Failure::infrastructure(error),
        };
        failure.context("cannot start the coordinator").hint_if(hint)
    })?;
    let advisor = speedup_analysis_service::advisor(
        coordinator.channel(),
        coordinator.watch_over("what applies the rules of repetition"),
    );
    // A coordinator without the page that was asked for would be missed by those who look for it.
    let page = match page.map(|page| page.serve(&coordinator)).transpose() {
        Ok(page) => page,
        Err(failure) => {
            coordinator.stop().await;
            return Err(failure);
        }
    };
    Ok(Coordinator { coordinator, advisor, page })
}

pub(crate) async fn analysis(options: AnalysisOptions) -> Result<Analysis, Failure> {
    use speedup_analysis_service::AnalysisStartError;
    speedup_analysis_service::start(options).await.map_err(|error| {
        let hint = error.hint();
        let failure = match error {
            AnalysisStartError::NotLoopback(_) => Failure::usage(error),
            AnalysisStartError::Bind { .. } => Failure::infrastructure(error),
        };
        failure.context("cannot start the analysis").hint_if(hint)
    })
}

/// Starts a coordinator on a data directory for the time of one command.
pub(crate) async fn embedded(data: &Path) -> Result<Coordinator, Failure> {
    embedded_unless_in_use(data).await?
}

/// The same; where another process has the directory, the failure that says so is the inner one.
pub(crate) async fn embedded_unless_in_use(data: &Path) -> Result<Result<Coordinator, Failure>, Failure> {
    let options = CoordinatorOptions {
        data: data.to_owned(),
        bind: LOOPBACK,
        security: Security::Tls { names: Vec::new() },
        settings: Settings::default(),
        store_cache: StoreCache::Command,
        agents: None,
        metrics: None,
    };
    match coordinator(options, None).await {
        Ok(coordinator) => Ok(Ok(coordinator)),
        Err(failure) => in_use(data, &failure).map_or(Err(failure), |in_use| Ok(Err(in_use))),
    }
}

/// The failure for a directory that another process has: that is no fault of the coordinator that this command embeds.
fn in_use(data: &Path, failure: &Failure) -> Option<Failure> {
    let error = failure.error.chain().find_map(|cause| cause.downcast_ref::<StartError>());
    let holder = error.and_then(StartError::holder)?;
    let in_use = Failure::infrastructure(anyhow!("{} is in use by {holder}", data.display()));
    Some(in_use.hint("reach that coordinator with --coordinator NAME or URL, or wait until it has ended"))
}

/// The URL of a coordinator's doors, over TLS.
pub(crate) fn url(address: SocketAddr) -> String {
    format!("https://{address}")
}

/// Serves the coordinator until the process is told to end. No other thread may run: the agent counts on being alone.
pub(crate) fn agent(options: AgentOptions) -> Result<(), Failure> {
    resources::require_for_agent()?;
    for directory in [Some(&options.state), options.scratch.as_ref()].into_iter().flatten() {
        resources::require_space(directory, AGENT_SPACE)?;
    }
    speedup_agent::run(options).map_err(agent_ended)
}

/// How many reports wait in the state directory of an agent that does not run.
pub(crate) fn waiting_reports(state: &Path) -> Result<usize, Failure> {
    speedup_agent::waiting_reports(state).map_err(|error| {
        let hint = error.hint();
        Failure::infrastructure(error).hint_if(hint)
    })
}

/// Who is not let in is refused, and no later start changes that: whoever restarts agents tells it by the exit code.
fn agent_ended(error: AgentError) -> Failure {
    let hint = error.hint();
    let failure = match error {
        AgentError::Entry(_) => Failure::usage(error),
        error => Failure::infrastructure(error),
    };
    failure.context("the agent cannot continue").hint_if(hint)
}

/// Tests this host's timer and keeps the result in the agent's state directory. No other thread may run.
pub(crate) fn selftest(
    state: &Path,
    boot: Option<BootId>,
    depth: selftest::Depth,
    seed: Seed,
) -> Result<selftest::Selftest, Failure> {
    let boot = speedup_agent::probe::boot_id(boot).map_err(|error| {
        let hint = error.hint();
        Failure::infrastructure(error).hint_if(hint)
    })?;
    let found = selftest::Selftest::measure(depth, seed)
        .map_err(|error| Failure::infrastructure(error).context("cannot test this host's timer"))?;
    selftest::write(state, &boot, &found).map_err(|error| {
        let tried = format!("cannot keep the result in {}", state.display());
        Failure::infrastructure(error).context(tried).hint("choose another directory with --state")
    })?;
    Ok(found)
}

/// Whether this host's timer was tested in this boot by this release; none where the boot is not known.
pub(crate) fn tested(state: &Path) -> Option<bool> {
    let boot = speedup_agent::probe::boot_id(None).ok()?;
    Some(selftest::read(state, &boot).is_some())
}

/// The control groups beneath which an agent that is started here makes those of runs, each with what keeps it from that.
pub(crate) fn control_groups() -> Vec<(PathBuf, std::io::Result<()>)> {
    speedup_agent::launch::control_groups()
}

/// What the host is whose files lie at a root.
pub(crate) fn probe(root: &Path) -> Result<Probed, Failure> {
    speedup_agent::probe::probe(root).map_err(Failure::refused)
}

#[cfg(test)]
mod tests {
    use speedup_agent::EntryError;

    use super::*;
    use crate::exit::Exit;

    #[test]
    fn an_agent_that_is_not_let_in_is_not_started_again_and_one_in_need_is() {
        let revoked = AgentError::Entry(EntryError::Revoked("its certificate was revoked".to_owned()));
        assert_eq!(agent_ended(revoked).exit, Exit::Usage);
        let broken = AgentError::Process(std::io::Error::from(std::io::ErrorKind::OutOfMemory));
        assert_eq!(agent_ended(broken).exit, Exit::Infrastructure);
    }
}
