//! `speedup init`: a plan to begin with, from commands.

use std::{collections::BTreeSet, fmt::Write as _, path::Path, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use speedup_core::experiment::template::placeholders;

use crate::command::print;
use crate::{console::Console, exit::Exit, exit::failure::Failure, results::draft::replace};

/// Most commands: a plan of more versions is written by a program.
const MOST_COMMANDS: usize = 20;

/// Writes a commented plan to start from
///
/// Of two or more commands, each is a version; a single command is the benchmark.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup init 'sort words.txt' 'LC_ALL=C sort words.txt'\n  \
    speedup init './prog --input data.bin' -o plan.toml && speedup run plan.toml")]
pub(crate) struct Arguments {
    /// The commands, as typed in a shell; they run in this directory
    #[arg(value_name = "COMMAND", required = true, num_args = 1..)]
    commands: Vec<String>,
    /// The name of the experiment [default: the name of this directory]
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "plan.toml")]
    output: PathBuf,
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let Arguments { commands, name, output } = arguments;
    if commands.len() > MOST_COMMANDS {
        return Err(Failure::usage(anyhow!("{} commands are more than {MOST_COMMANDS}", commands.len())));
    }
    let directory = std::env::current_dir().context("cannot determine the current directory");
    let directory = directory.map_err(Failure::infrastructure)?;
    let text = plan(commands, &name.clone().unwrap_or_else(|| name_of(&directory)), &directory);
    if output == Path::new("-") {
        print(console, text.trim_end())?;
        return Ok(Exit::Done);
    }
    if output.exists() {
        return Err(Failure::usage(anyhow!("{} already exists", output.display()))
            .hint("name another file with -o, or move this one away"));
    }
    replace(output, &text)?;
    let file = output.display();
    console.talk(format_args!(
        "Wrote {file}. Review it, then use `speedup plan check {file}` and `speedup run {file}`."
    ));
    Ok(Exit::Done)
}

/// A name that plans allow, of the directory.
fn name_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(allowed).take(40).collect();
    match name.trim_start_matches(['.', '+', '-']) {
        "" => "experiment".to_owned(),
        name => name.to_owned(),
    }
}

fn plan(commands: &[String], name: &str, directory: &Path) -> String {
    let mut text = format!(
        "# A plan of Speedup: what is compared, on what, how often. `speedup plan check` says what it takes.\n\
         [experiment]\nname = {}\n\n",
        quoted(name)
    );
    let benchmark = match commands {
        [one] => {
            text += "# The versions under comparison; exactly one is the baseline. Say here what differs: env, vars, command or build.\n\
                     [versions.old]\nbaseline = true\n\n[versions.new]\n# env = { OMP_NUM_THREADS = \"4\" }\n\n";
            one
        }
        several => {
            text += "# The versions under comparison: the first is the baseline.\n";
            for (at, command) in several.iter().enumerate() {
                let version = match at {
                    0 => "old".to_owned(),
                    1 => "new".to_owned(),
                    at => format!("new-{at}"),
                };
                let baseline = if at == 0 { "baseline = true\n" } else { "" };
                let _ = write!(text, "[versions.{version}]\n{baseline}shell = {}\n\n", line(command));
            }
            &several[0]
        }
    };
    let _ = write!(
        text,
        "# Each benchmark is one program with one input; add others below. A version's own command goes before a benchmark's.\n\
         [benchmarks.command]\nshell = {}                # or, without a shell: command = [\"program\", \"argument\"]\n\
         directory = {}     # left out, each run has a new and empty directory\n\
         timeout = \"10m\"\nwarmup = 1\n\n\
         # How often each benchmark is executed in each version. At least 4, 30 show a few percent.\n\
         [repetitions]\nruns = 20\n\n\
         # On one machine runs are not independent of each other, and the report says so. On a cluster: policy = \"distinct\".\n\
         [independence]\npolicy = \"any\"\n\n\
         # The baseline once more, under another name: what this experiment finds where nothing differs.\n\
         [controls]\nbaseline_again = true\n",
        line(benchmark),
        quoted(&directory.to_string_lossy())
    );
    text
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A command line as plans write it: what would be a placeholder there is literal, in braces of its own.
fn line(command: &str) -> String {
    let mut line = command.to_owned();
    for name in placeholders(command).collect::<BTreeSet<_>>() {
        line = line.replace(&format!("{{{name}}}"), &format!("{{{{{name}}}}}"));
    }
    quoted(&line)
}

#[cfg(test)]
mod tests {
    use speedup_core::{experiment::CommandLine, experiment::template::expand, plan, value::seed::Seed};

    use super::*;

    fn parsed(commands: &[&str]) -> speedup_core::experiment::Experiment {
        let commands: Vec<String> = commands.iter().map(|line| (*line).to_owned()).collect();
        let text = super::plan(&commands, "words", Path::new("/data/my words"));
        plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn commands_are_versions_and_whatever_they_hold_is_kept() {
        let lines =
            ["sort words.txt", "LC_ALL=C sort \"words.txt\" | awk '{print}' ${LANG}", "sort -u 'a\\b'"];
        let experiment = parsed(&lines);
        let names: Vec<&str> = experiment.compared().iter().map(|version| version.name.as_str()).collect();
        assert_eq!(names, ["old", "new", "new-2"]);
        let of = |at: usize| experiment.versions[at].command.clone();
        assert_eq!(of(0), Some(CommandLine::Shell("sort words.txt".to_owned())));
        let Some(CommandLine::Shell(line)) = of(1) else { panic!("a line for a shell") };
        assert_eq!(
            expand(&line, |_| None).as_deref(),
            Ok(lines[1]),
            "nothing of it is a placeholder: {line}"
        );
        assert_eq!(of(2), Some(CommandLine::Shell(r"sort -u 'a\b'".to_owned())));
        assert!(experiment.control().is_some());
        assert_eq!(experiment.benchmarks[0].directory.as_deref(), Some("/data/my words"));
    }

    #[test]
    fn one_command_is_the_benchmark() {
        let experiment = parsed(&["./prog"]);
        assert_eq!(experiment.benchmarks[0].command, CommandLine::Shell("./prog".to_owned()));
        assert_eq!(experiment.compared().len(), 2);
    }

    #[test]
    fn names_are_those_that_plans_allow() {
        let named = |path: &str| name_of(Path::new(path));
        assert_eq!(named("/data/my words"), "my-words");
        assert_eq!(named("/"), "experiment");
        assert_eq!(named("/..."), "experiment");
    }
}
