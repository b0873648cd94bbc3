//! What is asked of the coordinator and of the analysis, as the person who asks.

use speedup_access::enrolment;
use speedup_proto::{
    convert::id_text, limits::MAX_ACCESS_BYTES, limits::MAX_ANSWER_BYTES, v1,
    v1::access_client::AccessClient, v1::analysis_client::AnalysisClient, v1::events_client::EventsClient,
    v1::experiments_client::ExperimentsClient, v1::hosts_client::HostsClient,
};
use tonic::{Status, transport::Channel};
use uuid::Uuid;

use crate::context::Visitor;
use crate::page::events;
use crate::page::experiments::{self, LOOKED_EXPERIMENTS};
use crate::page::hosts::{self, HOSTS, HostsPage, LOOKED_PAGES};

pub(crate) const EXPERIMENTS: usize = 50;
/// Pages of events that are looked at for one that is asked for: what takes a moment.
const LOOKED_EVENT_PAGES: usize = 20;
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

    pub(crate) fn analysis(&self) -> AnalysisClient<Channel> {
        AnalysisClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// One page of the experiments that are asked for, and whether there are more.
    pub(crate) async fn page_of_experiments(
        &self,
        wanted: &experiments::Listing,
    ) -> Result<(Vec<v1::ExperimentStatus>, bool), Status> {
        let page = wanted.number().min(MAX_EXPERIMENT_PAGES);
        let most = match wanted.is_all() {
            true => page * EXPERIMENTS + 1,
            false => LOOKED_EXPERIMENTS as usize,
        };
        let listed = wanted.chosen(self.newest(most).await?);
        let more = listed.len() > page * EXPERIMENTS && page < MAX_EXPERIMENT_PAGES;
        Ok((listed.into_iter().skip((page - 1) * EXPERIMENTS).take(EXPERIMENTS).collect(), more))
    }

    /// The newest experiments, at most so many.
    async fn newest(&self, most: usize) -> Result<Vec<v1::ExperimentStatus>, Status> {
        let mut newest = Vec::new();
        let mut page_token = String::new();
        loop {
            let page_size = u32::try_from(most - newest.len()).unwrap_or(u32::MAX);
            let page = self.experiments().list(v1::ListRequest { page_size, page_token }).await?.into_inner();
            newest.extend(page.experiments);
            page_token = page.next_page_token;
            if page_token.is_empty() || newest.len() >= most {
                newest.truncate(most);
                return Ok(newest);
            }
        }
    }

    pub(crate) async fn experiment(&self, id: Uuid) -> Result<v1::ExperimentStatus, Status> {
        let request = v1::GetRequest { experiment: id_text(id) };
        self.experiments().get(request).await.map(tonic::Response::into_inner)
    }

    /// What was planned: the first piece of an export, of which nothing else is taken.
    pub(crate) async fn plan(&self, id: Uuid) -> Result<v1::ExportHead, Status> {
        let request = v1::ExportRequest { experiment: id_text(id), cursor: String::new(), all_hosts: false };
        let mut export = self.experiments().export(request).await?.into_inner();
        match export.message().await?.and_then(|chunk| chunk.part) {
            Some(v1::export_chunk::Part::Head(head)) => Ok(head),
            Some(v1::export_chunk::Part::Attempts(_) | v1::export_chunk::Part::Order(_)) | None => {
                Err(Status::internal("the export does not begin with the plan"))
            }
        }
    }

    /// How it stands from now on.
    pub(crate) async fn watch(&self, id: Uuid) -> Result<tonic::Streaming<v1::ExperimentStatus>, Status> {
        let request = v1::GetRequest { experiment: id_text(id) };
        self.experiments().watch(request).await.map(tonic::Response::into_inner)
    }

    /// Its report now with what is drawn of it, as JSON.
    pub(crate) async fn report(&self, id: Uuid) -> Result<String, Status> {
        let request =
            v1::ReportRequest { experiment: id_text(id), figures: true, ..v1::ReportRequest::default() };
        self.analysis().report(request).await.map(|answer| answer.into_inner().json)
    }

    pub(crate) async fn watch_report(
        &self,
        id: Uuid,
    ) -> Result<tonic::Streaming<v1::ReportResponse>, Status> {
        let request = v1::ReportRequest { experiment: id_text(id), ..v1::ReportRequest::default() };
        self.analysis().watch(request).await.map(tonic::Response::into_inner)
    }

    pub(crate) async fn pause(&self, id: Uuid) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id_text(id), by: self.by() };
        self.experiments().pause(request).await.map(drop)
    }

    pub(crate) async fn resume(&self, id: Uuid) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id_text(id), by: self.by() };
        self.experiments().resume(request).await.map(drop)
    }

    pub(crate) async fn cancel(&self, id: Uuid) -> Result<(), Status> {
        let request = v1::ChangeRequest { experiment: id_text(id), by: self.by() };
        self.experiments().cancel(request).await.map(drop)
    }

    /// Adds further runs of each cell.
    pub(crate) async fn extend(&self, id: Uuid, runs: u32) -> Result<(), Status> {
        let request = v1::ExtendRequest { experiment: id_text(id), runs, by: self.by() };
        self.experiments().extend(request).await.map(drop)
    }

    /// One page of the hosts that are asked for.
    pub(crate) async fn page_of_hosts(&self, at: &hosts::Listing) -> Result<HostsPage, Status> {
        let mut page = HostsPage { hosts: Vec::new(), next: Some(at.after.clone()) };
        for _ in 0..LOOKED_PAGES {
            let Some(after) = page.next.take() else { break };
            let request = v1::ListHostsRequest { page_token: after, page_size: HOSTS };
            let listed = self.hosts().list(request).await?.into_inner();
            page.next = Some(listed.next_page_token).filter(|token| !token.is_empty());
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

    pub(crate) async fn host(&self, id: &str) -> Result<v1::ShowHostResponse, Status> {
        let request = v1::ShowHostRequest { host: id.to_owned() };
        self.hosts().show(request).await.map(tonic::Response::into_inner)
    }

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
        experiment: &str,
        page_token: String,
    ) -> Result<v1::ListEventsResponse, Status> {
        let request =
            v1::ListEventsRequest { experiment: experiment.to_owned(), page_token, page_size: EVENTS };
        EventsClient::new(self.channel.clone()).list(request).await.map(tonic::Response::into_inner)
    }

    /// One page of the events that are asked for, before a place in the log.
    pub(crate) async fn page_of_events(
        &self,
        at: &events::Listing,
        mut before: String,
    ) -> Result<v1::ListEventsResponse, Status> {
        let mut page = v1::ListEventsResponse::default();
        for _ in 0..LOOKED_EVENT_PAGES {
            let listed = self.events("", before).await?;
            page.events.extend(listed.events.into_iter().filter(|event| at.wants(event)));
            page.next_page_token.clone_from(&listed.next_page_token);
            before = listed.next_page_token;
            if !page.events.is_empty() || before.is_empty() {
                break;
            }
        }
        Ok(page)
    }

    /// One page of who was let in and out.
    pub(crate) async fn admissions(&self, page_token: String) -> Result<v1::ListEventsResponse, Status> {
        let request =
            v1::ListEventsRequest { page_token, page_size: EVENTS, ..v1::ListEventsRequest::default() };
        EventsClient::new(self.channel.clone()).admissions(request).await.map(tonic::Response::into_inner)
    }

    /// What holds now: tokens and certificates.
    pub(crate) async fn access(&self) -> Result<v1::AccessList, Status> {
        let client = AccessClient::new(self.channel.clone());
        let mut client = client.max_decoding_message_size(MAX_ACCESS_BYTES);
        enrolment::list(&mut client).await
    }
}
