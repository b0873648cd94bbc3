//! `speedup submit`.

use clap::Args;
use serde_json::json;
use speedup_core::plan::Plan;

use crate::command::{print, print_json};
use crate::{
    arguments::Output, arguments::OutputArgument, connection::CoordinatorArguments,
    connection::SourceArguments, connection::SubmittedExperiment, connection::selector, connection::started,
    console::Console, console::render::counted, exit::Exit, exit::failure::Failure, plan::commits,
    plan::doubt, plan::dropped, plan::feasibility, plan::feasibility::EstimateArguments,
    plan::source::PlanArguments,
};

/// Submits a plan to the coordinator
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup submit examples/locale.toml\n  \
    speedup wait \"$(speedup submit plan.toml)\" && speedup report last")]
pub(crate) struct Arguments {
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// Accept the plan even if the pool has too few fresh hosts now
    #[arg(long)]
    wait_for_hosts: bool,
    #[command(flatten)]
    estimate: EstimateArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let source = SourceArguments { coordinator: arguments.coordinator.clone(), data: None };
    let (experiment, files) = arguments.plan.read_with_files(&source).await?;
    doubt::warn(&experiment, console);
    files.warn(console);
    commits::tell(&experiment, console);
    dropped::tell(&experiment, console);
    let (name, seed) = (experiment.name.clone(), experiment.seed);
    let connection = arguments.coordinator.connect().await?;
    let plan = Plan::draw(experiment);
    let feasibility = feasibility::ask(&connection, &plan, &arguments.estimate).await?;
    console.talk(format_args!(
        "hosts: {}\nduration: {}",
        feasibility::hosts(&feasibility, plan.experiment.independence.policy),
        feasibility::duration(&feasibility, false)
    ));
    files.send(&connection, &plan.experiment, console).await?;
    let submitted = connection.submit(plan.experiment, arguments.wait_for_hosts, None).await;
    let submitted =
        submitted.map_err(|refused| with_remedies(refused, &feasibility::remedies(&feasibility)))?;
    connection.close().await;
    let SubmittedExperiment { experiment, runs, hosts_needed, warning } = submitted;
    if let Some(warning) = warning {
        console.talk(format_args!("warning: {warning}"));
    }
    started::note(experiment, &name, arguments.coordinator.place());
    let (told_runs, told_hosts) = (counted(runs.into(), "run"), counted(hosts_needed.into(), "host"));
    console.talk(format_args!("seed {seed}: {name}, {told_runs}, {told_hosts} needed"));
    match arguments.output.output {
        Output::Table => print(console, &experiment.to_string())?,
        Output::Json => {
            let value =
                json!({ "experiment": experiment, "runs": runs, "hosts_needed": hosts_needed, "seed": seed });
            print_json(console, &value)?;
        }
    }
    console.talk(format_args!("`speedup watch {}` shows its progress.", selector::short(experiment)));
    Ok(Exit::Done)
}

/// Appends to the hint what would make the plan fit. The reason comes first, because it may be another than the number of hosts.
fn with_remedies(mut refused: Failure, remedies: &[String]) -> Failure {
    let mut hints: Vec<String> = refused.hint.take().into_iter().collect();
    for remedy in remedies {
        hints.push(format!("the plan would fit with {remedy}"));
    }
    if hints.is_empty() { refused } else { refused.hint(hints.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_stand_behind_the_reason() {
        let refused = || Failure::usage(anyhow::anyhow!("the job ends too early"));
        assert_eq!(with_remedies(refused(), &[]).hint, None);
        let remedy = ["6 more agents".to_owned()];
        let alone = with_remedies(refused(), &remedy).hint.expect("a remedy");
        let both = with_remedies(refused().hint("ask for more time"), &remedy).hint;
        assert_eq!(both, Some(format!("ask for more time; {alone}")));
    }
}
