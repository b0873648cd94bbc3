//! The door to the pool of hosts.

use speedup_core::host::Host;
use speedup_core::machine::{Command, HostRequest, Machine, Request as Asked};
use speedup_core::value::hint::with_hint;
use speedup_core::value::id::{ExperimentId, HostId};
use speedup_proto::{convert::id_text, convert::timestamp, v1, v1::hosts_server::Hosts};
use tonic::{Request, Response, Status};

use super::{Caller, Reply, blocking, experiment_id, experiments::require_owner, fitting, refused};
use crate::{handle::Handle, provision::Provisioning, timeline::wall_clock};

/// The maximum number of hosts in one answer.
const PAGE: usize = 1_000;
/// Most hosts that are named where several have the same name.
const MAX_CANDIDATES: usize = 10;
/// Longest reason of a quarantine: it stands in a line of a table.
const MAX_REASON_BYTES: usize = 1_024;

pub(crate) struct HostsDoor {
    pub(crate) handle: Handle,
    pub(crate) provisioning: Provisioning,
}

#[tonic::async_trait]
impl Hosts for HostsDoor {
    async fn list(&self, request: Request<v1::ListHostsRequest>) -> Reply<v1::ListHostsResponse> {
        let v1::ListHostsRequest { page_size, page_token } = request.into_inner();
        let limit = if page_size == 0 { PAGE } else { PAGE.min(page_size as usize) };
        let after = if page_token.is_empty() { None } else { Some(host_id(page_token)?) };
        let answer = self.handle.query(move |machine| {
            let mut hosts = machine.hosts_after(after.as_ref());
            let page: Vec<_> = hosts.by_ref().take(limit).map(|host| status(machine, host)).collect();
            (page, hosts.next().is_some())
        });
        let (hosts, more) = answer.await?;
        let mut hosts = self.with_facts(hosts).await?;
        let fitting = fitting(&hosts);
        let more = more || fitting < hosts.len();
        hosts.truncate(fitting);
        let next_page_token = match hosts.last().and_then(|host| host.facts.as_ref()) {
            Some(last) if more => last.host.clone(),
            Some(_) | None => String::new(),
        };
        Ok(Response::new(v1::ListHostsResponse { hosts, next_page_token }))
    }

    async fn summary(&self, _request: Request<v1::HostsSummaryRequest>) -> Reply<v1::HostsSummary> {
        let pool = self.handle.query(speedup_core::machine::Machine::pool).await?;
        Ok(Response::new((&pool).into()))
    }

    async fn show(&self, request: Request<v1::ShowHostRequest>) -> Reply<v1::ShowHostResponse> {
        let id = self.find(request.into_inner().host).await?;
        let host = self.status(id.clone()).await?;
        let passed = self.handle.query(move |machine| {
            machine.active().filter_map(|experiment| passed(machine, &id, experiment)).collect::<Vec<_>>()
        });
        let mut passed = passed.await?;
        // A host may differ in all that it says from those of a thousand experiments.
        passed.truncate(fitting(&passed));
        Ok(Response::new(v1::ShowHostResponse { host: Some(host), passed }))
    }

    async fn drain(&self, request: Request<v1::ChangeHostRequest>) -> Reply<v1::HostStatus> {
        let caller = Caller::from_request(&request)?;
        self.change(&caller, request.into_inner(), Command::Drain).await
    }

    async fn resume(&self, request: Request<v1::ChangeHostRequest>) -> Reply<v1::HostStatus> {
        let caller = Caller::from_request(&request)?;
        let resumed = self.change(&caller, request.into_inner(), Command::ResumeHost).await?;
        // Its engine may give it out again, too.
        if let Some(facts) = &resumed.get_ref().facts
            && let Some(Ok(node)) = facts.node.as_deref().map(str::parse)
        {
            self.provisioning.let_in(node);
        }
        Ok(resumed)
    }

    async fn reset(&self, request: Request<v1::ChangeHostRequest>) -> Reply<v1::HostStatus> {
        let caller = Caller::from_request(&request)?;
        self.change(&caller, request.into_inner(), Command::ResetHost).await
    }

    async fn quarantine(&self, request: Request<v1::QuarantineRequest>) -> Reply<v1::HostStatus> {
        let caller = Caller::from_request(&request)?;
        let v1::QuarantineRequest { host, by, reason } = request.into_inner();
        if reason.is_empty() || reason.len() > MAX_REASON_BYTES || reason.chars().any(char::is_control) {
            let wanted = format!("a reason is one line of at most {MAX_REASON_BYTES} bytes");
            return Err(Status::invalid_argument(wanted));
        }
        let request = v1::ChangeHostRequest { host, by };
        self.change(&caller, request, |request| Command::Quarantine { request, reason }).await
    }

    async fn approve(&self, request: Request<v1::ApproveRequest>) -> Reply<v1::HostStatus> {
        let caller = Caller::from_request(&request)?;
        let v1::ApproveRequest { host, experiment, by } = request.into_inner();
        let experiment = experiment_id(&experiment)?;
        require_owner(&self.handle, &caller, experiment).await?;
        let request = v1::ChangeHostRequest { host, by };
        self.change(&caller, request, |HostRequest { host, by }| Command::Approve {
            request: Asked { experiment, by },
            host,
        })
        .await
    }
}

impl HostsDoor {
    /// The host that is meant by its id, or by a name that no other host has.
    async fn find(&self, text: String) -> Result<HostId, Status> {
        let id = host_id(text)?;
        let called = id.clone();
        let found = self.handle.query(move |machine| {
            if machine.host(&called).is_some() {
                return vec![called];
            }
            let named = machine.hosts_called(called.as_str()).take(MAX_CANDIDATES);
            named.map(|host| host.facts.host.clone()).collect()
        });
        let mut found = found.await?;
        match found.as_slice() {
            // Who asks for it is told that it never joined.
            [] => Ok(id),
            [_] => Ok(found.remove(0)),
            several => {
                let ids: Vec<&str> = several.iter().map(HostId::as_str).collect();
                let words = format!("several hosts are called {id}: {}", ids.join(", "));
                Err(Status::failed_precondition(with_hint(words, Some("name the one you mean by its id"))))
            }
        }
    }

    async fn change(
        &self,
        caller: &Caller,
        request: v1::ChangeHostRequest,
        command: impl FnOnce(HostRequest) -> Command,
    ) -> Reply<v1::HostStatus> {
        let host = self.find(request.host).await?;
        let by = caller.name(&request.by)?;
        let command = command(HostRequest { host: host.clone(), by });
        self.handle.command(command).await?.map_err(|refusal| refused(&refusal))?;
        self.status(host).await.map(Response::new)
    }

    async fn status(&self, host: HostId) -> Result<v1::HostStatus, Status> {
        let id = host.clone();
        let found = self.handle.query(move |machine| Some(status(machine, machine.host(&id)?))).await?;
        let Some(status) = found else {
            let words = format!("no host {host} ever joined");
            return Err(Status::not_found(with_hint(words, Some("`speedup hosts list` shows them"))));
        };
        let mut statuses = self.with_facts(vec![status]).await?;
        Ok(statuses.remove(0))
    }

    /// The machine keeps fingerprints of classes only; a host that has just joined may not be in the store yet.
    async fn with_facts(&self, mut hosts: Vec<v1::HostStatus>) -> Result<Vec<v1::HostStatus>, Status> {
        let store = self.handle.current_store().await?.clone();
        blocking(move || {
            for host in &mut hosts {
                let Some(facts) = &mut host.facts else { continue };
                if let Some(stored) = store.host(&facts.host)? {
                    facts.fingerprint = stored.fingerprint;
                    facts.unreadable = stored.unreadable;
                    facts.absent = stored.absent;
                }
            }
            Ok::<_, Status>(hosts)
        })
        .await
    }
}

/// What is said of a host, with who has left it out.
fn status(machine: &Machine, host: &Host) -> v1::HostStatus {
    let mut left_out = Vec::new();
    for (experiment, trouble) in machine.left_out(wall_clock(), &host.facts.host) {
        left_out.push(v1::LeftOut {
            experiment: id_text(experiment.0),
            lost: trouble.lost,
            reason: trouble.words.clone(),
            since: Some(timestamp(trouble.latest)),
            until: trouble.until().map(timestamp),
        });
    }
    v1::HostStatus { left_out, ..host.into() }
}

/// An experiment that does not take a host, with the facts in which it differs.
fn passed(machine: &Machine, host: &HostId, id: ExperimentId) -> Option<v1::Passed> {
    let differences = machine.passed(host, id)?;
    let name = machine.experiment(id)?.plan().experiment.name.clone();
    let differences = differences.iter().map(Into::into).collect();
    Some(v1::Passed { experiment: id_text(id.0), name, differences })
}

fn host_id(text: String) -> Result<HostId, Status> {
    HostId::try_from(text).map_err(|error| Status::invalid_argument(format!("host: {error}")))
}
