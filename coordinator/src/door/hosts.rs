//! The door to the pool of hosts.

use speedup_core::host::{Host, Presence};
use speedup_proto::v1;
use speedup_proto::v1::hosts_server::Hosts;
use tonic::{Request, Response, Status};

use super::blocking;
use crate::handle::Handle;

/// Most hosts of one answer.
const PAGE: usize = 1_000;

/// The door to the pool of hosts.
pub(crate) struct HostsDoor {
    pub(crate) handle: Handle,
}

#[tonic::async_trait]
impl Hosts for HostsDoor {
    async fn list(
        &self,
        request: Request<v1::ListHostsRequest>,
    ) -> Result<Response<v1::ListHostsResponse>, Status> {
        let v1::ListHostsRequest { after, limit } = request.into_inner();
        let limit = if limit == 0 { PAGE } else { PAGE.min(limit as usize) };
        let answer = self.handle.query(move |machine| {
            let mut hosts: Vec<&Host> =
                machine.hosts().iter().filter(|host| host.facts.host.as_str() > after.as_str()).collect();
            hosts.sort_by(|a, b| a.facts.host.cmp(&b.facts.host));
            let more = hosts.len() > limit;
            v1::ListHostsResponse { hosts: hosts.into_iter().take(limit).map(status).collect(), more }
        });
        let mut answer = answer.await?;
        let store = self.handle.current_store().await?.clone();
        let filled = blocking(move || {
            for host in &mut answer.hosts {
                // The machine knows no fingerprints; a host that has just joined may not be in the store yet.
                let Some(facts) = &mut host.facts else { continue };
                if let Some(stored) = store.host(&facts.host)? {
                    facts.fingerprint = stored.fingerprint;
                    facts.unreadable = stored.unreadable;
                    facts.absent = stored.absent;
                }
            }
            Ok(answer)
        });
        filled.await.map(Response::new)
    }

    async fn summary(
        &self,
        _request: Request<v1::HostsSummaryRequest>,
    ) -> Result<Response<v1::HostsSummary>, Status> {
        let pool = self.handle.query(speedup_core::machine::Machine::pool).await?;
        Ok(Response::new((&pool).into()))
    }
}

fn status(host: &Host) -> v1::HostStatus {
    let away_since_ns = match host.presence {
        Presence::Here { .. } => None,
        Presence::Away { since, .. } => Some(since.0),
    };
    v1::HostStatus {
        facts: Some((&host.facts).into()),
        agent: host.agent.0.as_bytes().to_vec(),
        agent_epoch: host.epoch.0,
        connected: host.is_here(),
        away_since_ns,
        lease: host.lease.as_ref().map(v1::Lease::from),
        served: host.served,
    }
}
