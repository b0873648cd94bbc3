//! `speedup agent selftest`: what this host's timer is worth.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use speedup_core::{value::id::BootId, value::seed::Seed};

use crate::{
    arguments::Output, arguments::OutputArgument, command::print, command::print_json, compose,
    compose::selftest::AgainstFloor, compose::selftest::Depth, compose::selftest::Quality,
    compose::selftest::Selftest, compose::selftest::Spread, compose::selftest::TimerVerdict,
    connection::directories, console::Console, console::Paint, console::render::table::Column,
    console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// Tests the timer of this host: its bias, its spread, and whether it is quiet
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup agent selftest\n\n\
    Run it while no agent of this host is running. The result is kept in the agent's state directory: the agent \
    sends it with the host's facts, and reports name effects that are close to it. Exit code 1 means that a time was \
    reported shorter than the truth.")]
pub(crate) struct SelftestArguments {
    /// Rounds of empty programs, each timed at the floor and by this timer
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    rounds: u32,
    /// Runs of a program that is busy for 10 ms, alone and with busy neighbours
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    busy_runs: u32,
    /// The random seed of the order within rounds
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// The agent's state directory, where the result is kept [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The id of this boot [default: the kernel's boot id]
    #[arg(long, value_name = "ID")]
    boot_id: Option<BootId>,
    #[command(flatten)]
    output: OutputArgument,
}

/// What `--format json` prints.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    found: Selftest,
    verdict: TimerVerdict,
}

pub(super) fn execute(arguments: &SelftestArguments, console: &Console) -> Result<Exit, Failure> {
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    let depth = Depth::Full { rounds: arguments.rounds, busy: arguments.busy_runs };
    console.talk("Testing this host's timer; nothing else should run here.");
    let found = compose::selftest(&state, arguments.boot_id.clone(), depth, Seed(arguments.seed))?;
    let verdict = found.verdict();
    let exit = match verdict.quality {
        Quality::Short => Exit::Failed,
        Quality::AtTheFloor | Quality::AboveTheFloor => Exit::Done,
    };
    match arguments.output.output {
        Output::Json => print_json(console, &Answer { found, verdict })?,
        Output::Table => {
            print(console, &shown(&found, console.out))?;
            print(console, "")?;
            for sentence in &verdict.sentences {
                print(console, sentence)?;
            }
            console.talk(format_args!("Kept in {}.", state.display()));
        }
    }
    Ok(exit)
}

fn shown(found: &Selftest, paint: Paint) -> String {
    let columns = [
        Column::Words("microseconds"),
        Column::Number("min"),
        Column::Number("lower quartile"),
        Column::Number("median"),
        Column::Number("upper quartile"),
        Column::Number("max"),
        Column::Number("over"),
    ];
    let pairs = [
        ("program that only exits", found.no_op),
        ("/bin/true", found.bin_true),
        ("program that only exits, neighbours busy", found.no_op_beside),
    ];
    let mut rows = Vec::new();
    for (name, AgainstFloor { floor, timer, bias_ns, .. }) in
        pairs.into_iter().filter_map(|(name, pair)| Some((name, pair?)))
    {
        rows.push(row(format!("{name}, floor"), floor, "".to_owned()));
        rows.push(row(format!("{name}, timer"), timer, format!("{:+.1}", bias_ns as f64 / 1e3)));
    }
    let busy = [("busy for 10 ms", found.busy), ("busy for 10 ms, neighbours busy", found.busy_beside)];
    for (name, busy) in busy.into_iter().filter_map(|(name, busy)| Some((name, busy?))) {
        let over_ns = busy.timer.median_ns.cast_signed() - busy.wanted_ns.cast_signed();
        rows.push(row(format!("{name}, timer"), busy.timer, format!("{:+.1}", over_ns as f64 / 1e3)));
    }
    table(&columns, rows, paint)
}

fn row(name: String, spread: Spread, over: String) -> Vec<String> {
    let Spread { min_ns, lower_quartile_ns, median_ns, upper_quartile_ns, max_ns } = spread;
    let numbers = [min_ns, lower_quartile_ns, median_ns, upper_quartile_ns, max_ns];
    let numbers = numbers.map(|ns| format!("{:.1}", ns as f64 / 1e3));
    [name].into_iter().chain(numbers).chain([over]).collect()
}
