//! `speedup events`: who did what, and when.

use clap::Args;
use serde::Serialize;
use speedup_core::value::time::Timestamp;
use speedup_proto::{convert::id_text, convert::known_moment, limits::MAX_EVENTS, v1};
use uuid::Uuid;

use crate::command::{print, print_json};
use crate::{
    arguments::Form, arguments::FormArgument, connection::Connection, connection::SourceArguments,
    connection::selector::Selector, console::Console, console::Paint, console::moment, console::render::csv,
    console::render::table::Column, console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// Shows who did what and when, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup events\n\
    \x20 speedup events last --format json\n\
    \x20 speedup events --admissions\n\n\
    For what happened to each run, use `speedup export`.")]
pub(crate) struct Arguments {
    /// Only events of this experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Option<Selector>,
    /// Show events of tokens and certificates instead
    #[arg(long, conflicts_with = "experiment")]
    admissions: bool,
    /// The maximum number to list; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: FormArgument,
}

/// Who has done what nobody asked for.
const COORDINATOR: &str = "coordinator";
const FIELDS: [&str; 7] = ["at", "at_unix_ns", "by", "what", "experiment", "host", "words"];

#[derive(Debug, Serialize)]
struct EventRow {
    at: String,
    at_unix_ns: u64,
    /// None where the coordinator did it by itself.
    by: Option<String>,
    what: &'static str,
    experiment: Option<Uuid>,
    host: Option<String>,
    words: String,
}

impl From<v1::LoggedEvent> for EventRow {
    fn from(wire: v1::LoggedEvent) -> Self {
        let kind = wire.kind();
        let v1::LoggedEvent { at, kind: _, by, experiment, host, words } = wire;
        let at = known_moment(at.as_ref()).unwrap_or_default();
        Self {
            at: moment::rfc3339(at),
            at_unix_ns: at.0,
            by: Some(by).filter(|by| !by.is_empty()),
            what: kind.words(),
            experiment: experiment.parse().ok(),
            host: Some(host).filter(|host| !host.is_empty()),
            words,
        }
    }
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = match &arguments.experiment {
        Some(selector) => {
            let (connection, experiment) = arguments.source.find(selector).await?;
            (connection, id_text(experiment.0))
        }
        None => (arguments.source.connect().await?, String::new()),
    };
    let listed = listed(&connection, experiment, &arguments).await;
    connection.close().await;
    let events: Vec<EventRow> = listed?.into_iter().map(Into::into).collect();
    match arguments.output.output {
        Form::Json => print_json(console, &events)?,
        Form::Csv => print(console, &rows(events)?)?,
        Form::Table if events.is_empty() => console.talk("There are no events yet."),
        Form::Table => print(console, &shown(&events, console.out))?,
    }
    Ok(Exit::Done)
}

async fn listed(
    connection: &Connection,
    experiment: String,
    arguments: &Arguments,
) -> Result<Vec<v1::LoggedEvent>, Failure> {
    let wanted = if arguments.limit == 0 { usize::MAX } else { arguments.limit as usize };
    let (mut events, mut page_token) = (Vec::new(), String::new());
    while events.len() < wanted {
        let page_size = u32::try_from(MAX_EVENTS.min(wanted - events.len())).unwrap_or(u32::MAX);
        let request = v1::ListEventsRequest { experiment: experiment.clone(), page_token, page_size };
        let mut client = connection.events();
        let answer = match arguments.admissions {
            true => client.admissions(request).await,
            false => client.list(request).await,
        };
        let answer =
            answer.map_err(|status| Failure::status("cannot read the event log", &status))?.into_inner();
        events.extend(answer.events);
        page_token = answer.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    Ok(events)
}

/// Rows in which the coordinator is named as in the table: an empty field would read as unknown.
fn rows(mut events: Vec<EventRow>) -> Result<String, Failure> {
    for event in &mut events {
        event.by.get_or_insert_with(|| COORDINATOR.to_owned());
    }
    csv::rows(&events, &FIELDS).map_err(Failure::infrastructure)
}

fn shown(events: &[EventRow], paint: Paint) -> String {
    let columns =
        [Column::Words("when"), Column::Words("who"), Column::Words("what"), Column::Words("about")];
    let row = |event: &EventRow| {
        let experiment = event.experiment.map(|id| id.hyphenated().to_string()[..13].to_owned());
        let about = [experiment.as_deref(), event.host.as_deref(), Some(event.words.as_str())];
        let about: Vec<&str> = about.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        vec![
            moment::local(Timestamp(event.at_unix_ns)),
            event.by.clone().unwrap_or_else(|| COORDINATOR.to_owned()),
            event.what.to_owned(),
            about.join("  "),
        ]
    };
    table(&columns, events.iter().map(row), paint)
}

#[cfg(test)]
mod tests {
    use speedup_proto::convert::timestamp;

    use super::*;

    #[test]
    fn an_event_says_who_what_and_when() {
        let event = v1::LoggedEvent {
            at: Some(timestamp(Timestamp(1_700_000_000_000_000_007))),
            kind: v1::EventKind::HostQuarantined.into(),
            by: "alice".to_owned(),
            host: "node7".to_owned(),
            words: "fan broken".to_owned(),
            ..v1::LoggedEvent::default()
        };
        let events = [EventRow::from(event)];
        let text = shown(&events, Console::plain().out);
        assert!(text.contains("alice  host quarantined") && text.contains("node7  fan broken"), "{text}");
        let json = serde_json::to_value(&events).unwrap();
        assert_eq!(json[0]["at"], "2023-11-14T22:13:20.000000007Z");
        assert_eq!(json[0]["experiment"], serde_json::Value::Null);
        let rows = rows(events.into()).unwrap();
        let row =
            "2023-11-14T22:13:20.000000007Z,1700000000000000007,alice,host quarantined,,node7,fan broken";
        assert_eq!(rows, format!("at,at_unix_ns,by,what,experiment,host,words\n{row}"));
        let own = super::rows(vec![EventRow::from(v1::LoggedEvent::default())]).unwrap();
        assert_eq!(own.lines().nth(1).and_then(|row| row.split(',').nth(2)), Some(COORDINATOR));
    }
}
