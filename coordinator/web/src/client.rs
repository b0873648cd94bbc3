//! What is asked of the coordinator and of the analysis, as the person who asks.

use speedup_proto::limits::{MAX_ACCESS_BYTES, MAX_ANSWER_BYTES};
use speedup_proto::v1;
use speedup_proto::v1::access_client::AccessClient;
use speedup_proto::v1::analysis_client::AnalysisClient;
use speedup_proto::v1::events_client::EventsClient;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::hosts_client::HostsClient;
use tonic::Status;
use tonic::transport::Channel;

use crate::page::events;
use crate::page::experiments::{self, LOOKED_EXPERIMENTS};
use crate::page::hosts::{self, HOSTS, HostsPage, LOOKED_PAGES};
use crate::visitor::Visitor;

/// Experiments of a page.
pub(crate) const EXPERIMENTS: usize = 50;
/// Pages of events that are looked at for one that is asked for: what takes a moment.
const LOOKED_EVENT_PAGES: usize = 20;
/// Events of a page.
pub(crate) const EVENTS: u32 = 100;
/// Pages of experiments: as many as the coordinator lists.
pub(crate) const MAX_EXPERIMENT_PAGES: usize = 200;

impl Visitor {
    fn experiments(&self) -> ExperimentsClient<Channel> {
        ExperimentsClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    fn hosts(&self) -> HostsClient<Channel> {
        HostsClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Reports.
    pub(crate) fn analysis(&self) -> AnalysisClient<Channel> {
        AnalysisClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// One page of the experiments that are asked for, and whether there are more.
    pub(crate) async fn page_of_experiments(
        &self,
        wanted: &experiments::Listing,
    ) -> Result<(Vec<v1::ExperimentStatus>, bool), Status> {
        let page = wanted.number().min(MAX_EXPERIMENT_PAGES);
        let limit = match wanted.is_all() {
            true => u32::try_from(page * EXPERIMENTS + 1).unwrap_or(u32::MAX),
            false => LOOKED_EXPERIMENTS,
        };
        let listed = self.experiments().list(v1::ListRequest { limit }).await?.into_inner().experiments;
        let listed = wanted.chosen(listed);
        let more = listed.len() > page * EXPERIMENTS && page < MAX_EXPERIMENT_PAGES;
        Ok((listed.into_iter().skip((page - 1) * EXPERIMENTS).take(EXPERIMENTS).collect(), more))
    }

    /// How an experiment stands.
    pub(crate) async fn experiment(&self, id: &[u8]) -> Result<v1::ExperimentStatus, Status> {
        let request = v1::GetRequest { experiment: id.to_vec() };
        self.experiments().get(request).await.map(tonic::Response::into_inner)
    }

    /// What was planned: the first piece of an export, of which nothing else is taken.
    pub(crate) async fn plan(&self, id: &[u8]) -> Result<v1::ExportHead, Status> {
        let request = v1::GetRequest { experiment: id.to_vec() };
        let mut export = self.experiments().export(request).await?.into_inner();
        match export.message().await?.and_then(|chunk| chunk.part) {
            Some(v1::export_chunk::Part::Head(head)) => Ok(head),
            Some(v1::export_chunk::Part::Attempts(_) | v1::export_chunk::Part::Order(_)) | None => {
                Err(Status::internal("the export does not begin with the plan"))
            }
        }
    }

    /// How it stands from now on.
    pub(crate) async fn watch(&self, id: &[u8]) -> Result<tonic::Streaming<v1::ExperimentStatus>, Status> {
        let request = v1::GetRequest { experiment: id.to_vec() };
        self.experiments().watch(request).await.map(tonic::Response::into_inner)
    }

    /// Its report now with what is drawn of it, as JSON.
    pub(crate) async fn report(&self, id: &[u8]) -> Result<String, Status> {
        let request =
            v1::ReportRequest { experiment: id.to_vec(), figures: true, ..v1::ReportRequest::default() };
        self.analysis().report(request).await.map(|answer| answer.into_inner().json)
    }

    /// Its reports from now on.
    pub(crate) async fn watch_report(
        &self,
        id: &[u8],
    ) -> Result<tonic::Streaming<v1::ReportResponse>, Status> {
        let request = v1::ReportRequest { experiment: id.to_vec(), ..v1::ReportRequest::default() };
        self.analysis().watch(request).await.map(tonic::Response::into_inner)
    }

    /// Pauses an experiment.
    pub(crate) async fn pause(&self, id: Vec<u8>) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id, by: self.by() };
        self.experiments().pause(request).await.map(drop)
    }

    /// Resumes an experiment.
    pub(crate) async fn resume(&self, id: Vec<u8>) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id, by: self.by() };
        self.experiments().resume(request).await.map(drop)
    }

    /// Cancels an experiment.
    pub(crate) async fn cancel(&self, id: Vec<u8>) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id, by: self.by() };
        self.experiments().cancel(request).await.map(drop)
    }

    /// Adds further runs of each cell.
    pub(crate) async fn extend(&self, id: Vec<u8>, runs: u32) -> Result<(), Status> {
        let request = v1::ExtendRequest { experiment: id, runs, by: self.by() };
        self.experiments().extend(request).await.map(drop)
    }

    /// One page of the hosts that are asked for.
    pub(crate) async fn page_of_hosts(&self, at: &hosts::Listing) -> Result<HostsPage, Status> {
        let mut page = HostsPage { hosts: Vec::new(), next: Some(at.after.clone()) };
        for _ in 0..LOOKED_PAGES {
            let Some(after) = page.next.take() else { break };
            let request = v1::ListHostsRequest { after, limit: HOSTS };
            let listed = self.hosts().list(request).await?.into_inner();
            let last = listed.hosts.last().and_then(|host| host.facts.as_ref());
            page.next = last.map(|facts| facts.host.clone()).filter(|_| listed.more);
            page.hosts.extend(listed.hosts.into_iter().filter(|host| at.wants(host)));
            if !at.is_sorted() && !page.hosts.is_empty() {
                break;
            }
        }
        if at.is_sorted() {
            at.sort(&mut page.hosts);
            page.hosts.truncate(HOSTS as usize);
            page.next = None;
        }
        Ok(page)
    }

    /// What the pool has, by classes.
    pub(crate) async fn pool(&self) -> Result<v1::HostsSummary, Status> {
        self.hosts().summary(v1::HostsSummaryRequest {}).await.map(tonic::Response::into_inner)
    }

    /// One host.
    pub(crate) async fn host(&self, id: &str) -> Result<v1::ShowHostResponse, Status> {
        let request = v1::ShowHostRequest { host: id.to_owned() };
        self.hosts().show(request).await.map(tonic::Response::into_inner)
    }

    /// Drains a host.
    pub(crate) async fn drain(&self, host: String) -> Result<(), Status> {
        self.hosts().drain(v1::ChangeHostRequest { host, by: self.by() }).await.map(drop)
    }

    /// Gives a host no more runs, because something is wrong with it.
    pub(crate) async fn quarantine(&self, host: String, reason: String) -> Result<(), Status> {
        self.hosts().quarantine(v1::QuarantineRequest { host, by: self.by(), reason }).await.map(drop)
    }

    /// Gives a host runs again.
    pub(crate) async fn resume_host(&self, host: String) -> Result<(), Status> {
        self.hosts().resume(v1::ChangeHostRequest { host, by: self.by() }).await.map(drop)
    }

    /// One page of the event log, of one experiment or of all.
    pub(crate) async fn events(
        &self,
        experiment: &[u8],
        before: Vec<u8>,
    ) -> Result<v1::ListEventsResponse, Status> {
        let request = v1::ListEventsRequest { experiment: experiment.to_vec(), before, limit: EVENTS };
        EventsClient::new(self.channel.clone()).list(request).await.map(tonic::Response::into_inner)
    }

    /// One page of the events that are asked for, before a place in the log.
    pub(crate) async fn page_of_events(
        &self,
        at: &events::Listing,
        mut before: Vec<u8>,
    ) -> Result<v1::ListEventsResponse, Status> {
        let mut page = v1::ListEventsResponse::default();
        for _ in 0..LOOKED_EVENT_PAGES {
            let listed = self.events(&[], before).await?;
            page.events.extend(listed.events.into_iter().filter(|event| at.wants(event)));
            page.before.clone_from(&listed.before);
            before = listed.before;
            if !page.events.is_empty() || before.is_empty() {
                break;
            }
        }
        Ok(page)
    }

    /// One page of who was let in and out.
    pub(crate) async fn admissions(&self, before: Vec<u8>) -> Result<v1::ListEventsResponse, Status> {
        let request = v1::ListEventsRequest { before, limit: EVENTS, ..v1::ListEventsRequest::default() };
        EventsClient::new(self.channel.clone()).admissions(request).await.map(tonic::Response::into_inner)
    }

    /// What holds now: tokens and certificates.
    pub(crate) async fn access(&self) -> Result<v1::AccessList, Status> {
        let client = AccessClient::new(self.channel.clone());
        let mut client = client.max_decoding_message_size(MAX_ACCESS_BYTES);
        client.list(v1::ListAccessRequest {}).await.map(tonic::Response::into_inner)
    }
}
