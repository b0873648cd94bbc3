//! `speedup hosts show`: one host, and why experiments do not take it.

use clap::Args;
use serde::Serialize;
use speedup_core::{fingerprint::Difference, fingerprint::Fact, value::id::ExperimentId};
use speedup_proto::{convert::Malformed, convert::experiment_named, v1};

use super::HostStatus;
use crate::{
    arguments::Output, arguments::OutputArgument, command::print, command::print_json,
    connection::SourceArguments, console::Console, console::moment, exit::Exit, exit::failure::Failure,
};

const TRIED: &str = "cannot show the host";

/// Shows the state and facts of a host, and the experiments that reject it
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts show node17")]
pub(crate) struct Arguments {
    /// The host: its id, or its name if no other host has it
    host: String,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: OutputArgument,
}

/// A host, and the experiments that do not take it.
#[derive(Debug, Serialize)]
struct HostDetails {
    #[serde(flatten)]
    host: HostStatus,
    passed: Vec<SkippedExperiment>,
}

/// An experiment that takes hosts of other classes only.
#[derive(Debug, Serialize)]
struct SkippedExperiment {
    experiment: ExperimentId,
    name: String,
    /// To the nearest class that it takes.
    differences: Vec<Difference>,
}

impl TryFrom<v1::ShowHostResponse> for HostDetails {
    type Error = Malformed;

    fn try_from(wire: v1::ShowHostResponse) -> Result<Self, Malformed> {
        let passed = wire.passed.into_iter().map(SkippedExperiment::try_from).collect::<Result<_, _>>()?;
        Ok(Self { host: wire.host.unwrap_or_default().try_into()?, passed })
    }
}

impl TryFrom<v1::Passed> for SkippedExperiment {
    type Error = Malformed;

    fn try_from(wire: v1::Passed) -> Result<Self, Malformed> {
        let differences = wire.differences.into_iter().map(Difference::try_from).collect::<Result<_, _>>()?;
        Ok(Self {
            experiment: experiment_named(&wire.experiment, "experiment")?,
            name: wire.name,
            differences,
        })
    }
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.source.connect().await?;
    let answer = connection.hosts().show(v1::ShowHostRequest { host: arguments.host }).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
    let shown = HostDetails::try_from(answer).map_err(|error| Failure::malformed(TRIED, error))?;
    match arguments.output.output {
        Output::Json => print_json(console, &shown)?,
        Output::Table => print(console, text(&shown).trim_end())?,
    }
    Ok(Exit::Done)
}

fn text(HostDetails { host, passed }: &HostDetails) -> String {
    let mut lines = vec![format!("host      {}", host.facts.host)];
    lines.extend(host.host_name.as_ref().map(|name| format!("name      {name}")));
    lines.push(format!("boot      {}", host.facts.boot));
    lines.push(format!("standing  {}", standing(host)));
    lines
        .extend(host.rebooting_until_ns.map(|until| {
            format!("rebooting, and quarantined unless it is back at {}", moment::local(until))
        }));
    lines.extend(host.class.map(|class| format!("class     {class}")));
    lines.extend(host.facts.allocation.as_ref().map(|allocation| format!("allocation {allocation}")));
    if !host.drifted.is_empty() {
        lines.push(format!("drifted   it joined with another {}", host.drifted.join(", ")));
    }
    for SkippedExperiment { experiment, name, differences } in passed {
        lines.push(format!("\n{name} ({experiment}) does not take it:"));
        let difference = |Difference { fact, here, there }: &Difference| {
            format!("  {fact}: {} here, {} there", fact_words(here), fact_words(there))
        };
        lines.extend(differences.iter().map(difference));
        lines.push(format!("  speedup hosts approve {} --experiment {experiment}", host.facts.host));
    }
    lines.push("\nfacts".to_owned());
    lines.extend(host.facts.fingerprint.iter().map(|(name, fact)| format!("  {name}: {}", fact_words(fact))));
    lines.join("\n")
}

/// What is told of the standing of a host.
pub(super) fn standing(host: &HostStatus) -> String {
    match (&host.by, &host.reason) {
        (Some(by), Some(reason)) => format!("{} by {by}: {reason}", host.standing),
        (Some(by), None) => format!("{} by {by}", host.standing),
        (None, _) => host.standing.to_owned(),
    }
}

fn fact_words(fact: &Fact) -> String {
    match fact {
        Fact::Value(value) => value.clone(),
        Fact::Absent => "absent".to_owned(),
        Fact::Unreadable(why) => format!("unreadable ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_passed_is_told_with_the_facts_that_differ() {
        let fact = |value: &str| v1::Fact { fact: Some(v1::fact::Fact::Value(value.to_owned())) };
        let difference = v1::FactDifference {
            fact: "cpu.model".to_owned(),
            here: Some(fact("slow")),
            there: Some(fact("fast")),
        };
        let passed = v1::Passed {
            experiment: "07070707-0707-0707-0707-070707070707".to_owned(),
            name: "locale".to_owned(),
            differences: vec![difference],
        };
        let facts = v1::HostFacts { host: "a".to_owned(), boot: "b".to_owned(), ..Default::default() };
        let quarantined = v1::host_status::Quarantined { by: "ada".to_owned(), reason: "hot".to_owned() };
        let host = v1::HostStatus {
            facts: Some(facts),
            standing: Some(v1::host_status::Standing::Quarantined(quarantined)),
            ..Default::default()
        };
        let text = text(&v1::ShowHostResponse { host: Some(host), passed: vec![passed] }.try_into().unwrap());
        for part in ["quarantined by ada: hot", "cpu.model: slow here,", "speedup hosts approve a --exp"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
