//! What the hosts do, asked for now and then: nobody tells it by itself.

use std::{collections::HashMap, time::Duration, time::Instant};

use speedup_core::{
    host::Standing, machine::event::AttemptEnd, plan::Plan, run::lease::Lease, value::id::ExperimentId,
    value::id::HostId, value::time::Timestamp,
};
use speedup_proto::{convert::held_lease, convert::known_moment, v1};
use tokio::sync::mpsc::Sender;
use tonic::Status;

use super::Style;
use crate::{
    connection::Connection, console::moment, console::render::counted, console::render::table::Column,
    console::render::table::table, exit::failure::Failure, results::attempts::Attempts,
};

/// How often the hosts are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// Hosts that are listed: two answers of the coordinator. All are counted.
const LISTED: usize = 2_000;
/// Runs of an experiment whose attempts are counted by host; reading more of them again and again costs the coordinator more
/// than the numbers are worth.
const COUNTED_RUNS: u32 = 100_000;
/// The pause after reading the attempts is at least so many times what that took.
const REST: u32 = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pool {
    /// All of them in a few words; empty before they were looked at.
    pub(super) summary: String,
    /// What the columns are; empty where there is no host.
    pub(super) heading: String,
    /// A line a host: those that took part first.
    pub(super) lines: Vec<String>,
}

/// What is known of the experiment's attempts.
#[derive(Debug, Default)]
struct AttemptCounts {
    plan: Option<Plan>,
    by_host: HashMap<HostId, Counts>,
    read: Option<LastRead>,
}

/// When the attempts were read last, and how long that took.
#[derive(Clone, Copy, Debug)]
struct LastRead {
    at: Instant,
    took: Duration,
}

/// What a host did for the experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    done: u32,
    lost: u32,
}

/// Sends what the hosts do, every so often.
pub(super) async fn ask(connection: &Connection, experiment: ExperimentId, style: Style, to: Sender<Pool>) {
    let mut ended = AttemptCounts::default();
    loop {
        // What cannot be read now is asked again; that the coordinator is away is told elsewhere.
        let _ = ended.read(connection, experiment).await;
        if let Ok(pool) = pool(connection, experiment, &ended, style).await
            && to.send(pool).await.is_err()
        {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl AttemptCounts {
    /// Counts the attempts anew when the last time is long enough ago.
    async fn read(&mut self, connection: &Connection, experiment: ExperimentId) -> Result<(), Failure> {
        if self.read.is_some_and(|read| read.at.elapsed() < read.took * REST) {
            return Ok(());
        }
        let begun = Instant::now();
        let mut attempts = Attempts::open(connection, experiment).await?;
        let mut by_host: HashMap<HostId, Counts> = HashMap::new();
        if attempts.plan.runs() <= COUNTED_RUNS {
            while let Some(page) = attempts.page().await? {
                for ended in page {
                    let counts = by_host.entry(ended.lease.host).or_default();
                    match ended.end {
                        AttemptEnd::Reported(_) => counts.done += 1,
                        AttemptEnd::Lost { .. } => counts.lost += 1,
                    }
                }
            }
        }
        let read = Some(LastRead { at: Instant::now(), took: begun.elapsed() });
        *self = Self { plan: Some(attempts.plan), by_host, read };
        Ok(())
    }

    fn counts(&self, host: &HostId) -> Option<Counts> {
        let is_counted = self.plan.as_ref().is_some_and(|plan| plan.runs() <= COUNTED_RUNS);
        if !is_counted {
            return None;
        }
        Some(self.by_host.get(host).copied().unwrap_or_default())
    }

    fn run(&self, lease: &Lease) -> String {
        let cell = || {
            let plan = self.plan.as_ref().filter(|plan| lease.run.0 < plan.runs())?;
            let cell = plan.cell(lease.run)?;
            let benchmark = &plan.experiment.benchmark(cell.benchmark)?.name;
            let version = &plan.experiment.version(cell.version)?.name;
            Some(format!("{}: {benchmark}, {version}", lease.run))
        };
        cell().unwrap_or_else(|| lease.run.to_string())
    }
}

/// A host, and what it does.
struct Row {
    host: HostId,
    state: &'static str,
    away_since: Option<Timestamp>,
    run: Option<String>,
    counts: Option<Counts>,
}

impl Row {
    fn from_status(wire: v1::HostStatus, experiment: ExperimentId, ended: &AttemptCounts) -> Option<Self> {
        let lease = held_lease(&wire).ok().flatten();
        let host = HostId::try_from(wire.facts?.host).ok()?;
        let here = lease.as_ref().filter(|lease| lease.experiment == experiment);
        let standing = wire.standing.map_or(Standing::Serving, Standing::from);
        let state = match standing {
            _ if !wire.connected && wire.rebooting_until.is_some() => "rebooting",
            _ if !wire.connected => "away",
            _ if here.is_some_and(|lease| lease.started.is_some()) => "running",
            _ if here.is_some() => "preparing",
            Standing::Quarantined { .. } => "quarantined",
            Standing::Draining { .. } => "draining",
            Standing::Serving if lease.is_some() => "on another experiment",
            Standing::Serving => "idle",
        };
        let away_since = if wire.connected { None } else { known_moment(wire.away_since.as_ref()) };
        Some(Self {
            state,
            away_since,
            run: here.map(|lease| ended.run(lease)),
            counts: ended.counts(&host),
            host,
        })
    }

    fn took_part(&self) -> bool {
        self.run.is_some() || self.counts.is_some_and(|counts| counts != Counts::default())
    }

    fn fields(&self) -> Vec<String> {
        let state = match self.away_since {
            Some(since) => format!("{} since {}", self.state, moment::local(since)),
            None => self.state.to_owned(),
        };
        let count = |count: fn(Counts) -> u32| {
            self.counts.map_or_else(|| "-".to_owned(), |counts| count(counts).to_string())
        };
        let run = self.run.clone().unwrap_or_else(|| "-".to_owned());
        vec![self.host.to_string(), state, count(|of| of.done), count(|of| of.lost), run]
    }
}

async fn pool(
    connection: &Connection,
    experiment: ExperimentId,
    ended: &AttemptCounts,
    style: Style,
) -> Result<Pool, Status> {
    let mut client = connection.hosts();
    let summary = client.summary(v1::HostsSummaryRequest {}).await?.into_inner();
    let (mut rows, mut page_token, mut more) = (Vec::new(), String::new(), true);
    while more && rows.len() < LISTED {
        let page = client.list(v1::ListHostsRequest { page_token, page_size: 0 }).await?.into_inner();
        page_token = page.next_page_token;
        more = !page_token.is_empty();
        rows.extend(page.hosts.into_iter().filter_map(|host| Row::from_status(host, experiment, ended)));
    }
    Ok(laid_out(&summary, rows, more, style))
}

fn laid_out(summary: &v1::HostsSummary, mut rows: Vec<Row>, more: bool, style: Style) -> Pool {
    let sum = |of: fn(&v1::HostClassSummary) -> u32| -> u64 {
        summary.classes.iter().map(|class| u64::from(of(class))).sum()
    };
    let out = sum(|class| class.out_of_service);
    let connected = sum(|class| class.available) + out;
    let busy = sum(|class| class.busy);
    let mut words = format!("{} connected, {busy} at work", counted(connected, "host"));
    let away = rows.iter().filter(|row| row.state == "away").count();
    if away > 0 {
        words += &format!(", {away} away");
    }
    if out > 0 {
        words += &format!(", {out} out of service");
    }
    if more {
        words += &format!("; the first {} are listed", rows.len());
    }
    // The coordinator lists them by name, which stays.
    rows.sort_by_key(|row| !row.took_part());
    let columns = [
        Column::Words("host"),
        Column::Words("state"),
        Column::Number("done"),
        Column::Number("lost"),
        Column::Words("run"),
    ];
    let text = table(&columns, rows.iter().map(Row::fields), style.paint);
    let mut lines = text.lines().map(str::to_owned);
    let mut heading = lines.next().unwrap_or_default();
    if rows.is_empty() {
        heading.clear();
    }
    Pool { summary: words, heading, lines: lines.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Paint;

    const STYLE: Style = Style { paint: Paint::NONE, unicode: false };

    fn row(host: &str, state: &'static str, counts: Counts) -> Row {
        Row {
            host: HostId::try_from(host.to_owned()).unwrap(),
            state,
            away_since: None,
            run: None,
            counts: Some(counts),
        }
    }

    #[test]
    fn hosts_that_took_part_come_first_and_all_are_counted() {
        let class =
            v1::HostClassSummary { available: 2_999, busy: 7, out_of_service: 1, ..Default::default() };
        let summary = v1::HostsSummary { classes: vec![class] };
        let rows = vec![
            row("a", "idle", Counts::default()),
            row("b", "away", Counts { done: 3, lost: 1 }),
            row("c", "idle", Counts::default()),
        ];
        let pool = laid_out(&summary, rows, true, STYLE);
        for part in ["3\u{a0}000 hosts", "7 at work", "1 away", "1 out of service", " 3 "] {
            assert!(pool.summary.contains(part), "{part}: {}", pool.summary);
        }
        let first: Vec<&str> = pool.lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(first, ["b", "a", "c"], "{:?}", pool.lines);
        assert_eq!(
            pool.heading.split_whitespace().collect::<Vec<_>>(),
            ["host", "state", "done", "lost", "run"]
        );
    }

    #[test]
    fn without_hosts_there_is_no_heading() {
        let pool = laid_out(&v1::HostsSummary::default(), Vec::new(), false, STYLE);
        assert!(pool.summary.starts_with("0 hosts") && pool.heading.is_empty(), "{}", pool.summary);
    }
}
