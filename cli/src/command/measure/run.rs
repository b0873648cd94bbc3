//! `speedup run`: the whole thing on one machine, with nothing set up.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use speedup_core::experiment::Experiment;
use speedup_core::machine::feasibility::{HostClass, shortage};
use speedup_core::plan::Plan;

use crate::{
    arguments::OutputArgument, connection::SourceArguments, console::Console,
    console::render::report::Extent, exit::Exit, exit::failure::Failure, gate::GateArguments, plan::commits,
    plan::doubt, plan::dropped, plan::source::PlanArguments, session::Remainder, session::ReportingOptions,
    session::Session,
};

/// Runs a plan on this machine, and reports
///
/// It embeds a coordinator and one local agent, so there is nothing to set up.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup run examples/locale.toml\n\
    \x20 speedup run plan.toml -r 5 --format json\n\n\
    One machine cannot give independent runs, so the plan must say policy = \"any\", and the report says so too. \
    Ctrl-C stops after the current run and reports the results so far; a second Ctrl-C stops at once. All results \
    are kept in the data directory, and `speedup resume last` continues where it stopped.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    plan: PlanArguments,
    /// The data directory [default: $XDG_STATE_HOME/speedup/local; local-2 and so on while other commands measure]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    gate: GateArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let gate = arguments.gate.gate()?;
    let source = SourceArguments { data: arguments.data.clone(), ..SourceArguments::default() };
    let (experiment, files) = arguments.plan.read_with_files(&source).await?;
    let experiment = require_one_host(experiment)?;
    doubt::warn(&experiment, console);
    files.warn(console);
    commits::tell(&experiment, console);
    dropped::tell(&experiment, console);
    let session = Session::start(console, arguments.data.as_deref()).await?;
    let telling = ReportingOptions {
        extent: Extent::Brief,
        output: arguments.output.output,
        gate,
        rest: Remainder::Left,
    };
    session.carry_out(experiment, &files, telling).await
}

/// One machine is one host.
pub(crate) fn require_one_host(experiment: Experiment) -> Result<Experiment, Failure> {
    let plan = Plan::draw(experiment);
    // The same boot and the same allocation for as long as this lasts.
    let this_machine = HostClass { available: 1, ..HostClass::default() };
    let Some(shortage) = shortage(&plan, &this_machine) else { return Ok(plan.experiment) };
    let policy = plan.experiment.independence.policy.name();
    Err(Failure::usage(anyhow!("{shortage}: it is this machine alone, and the policy is {policy}"))
        .hint(
            "set policy = \"any\" in [independence] to run all on this machine, which gives up independence; or submit \
             the plan to a coordinator with a pool of hosts",
        ))
}

#[cfg(test)]
mod tests {
    use speedup_core::{plan, value::seed::Seed};

    use super::*;
    use crate::plan::source::tests::PLAN;

    #[test]
    fn a_plan_for_many_hosts_is_refused_with_a_hint() {
        let experiment = plan::file::parse(PLAN, Seed(1)).unwrap();
        let failure = require_one_host(experiment).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.error.to_string().contains("needs 6 fresh hosts"), "{}", failure.error);
        assert!(failure.hint.unwrap().contains("policy = \"any\""));
        let any = format!("{PLAN}[independence]\npolicy = \"any\"\n");
        assert!(require_one_host(plan::file::parse(&any, Seed(1)).unwrap()).is_ok());
        // It neither boots anew while its runs go on nor is given out anew.
        for policy in ["rebooted", "reallocated"] {
            let text = format!("{PLAN}[independence]\npolicy = \"{policy}\"\n");
            let failure = require_one_host(plan::file::parse(&text, Seed(1)).unwrap()).unwrap_err();
            assert!(failure.error.to_string().contains("none of them"), "{}", failure.error);
        }
    }
}
