//! `speedup completions` and `speedup man`: what shells and `man` know of the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use clap_complete::Shell;

use super::{command_line, print};
use crate::{console::Console, exit::Exit, exit::failure::Failure};

/// Prints the completion script for a shell
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup completions bash > ~/.local/share/bash-completion/completions/speedup\n\
    \x20 speedup completions zsh > ~/.zfunc/_speedup        # with ~/.zfunc in fpath\n\
    \x20 speedup completions fish > ~/.config/fish/completions/speedup.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(super) fn complete(arguments: &CompletionsArguments, console: &Console) -> Result<Exit, Failure> {
    print(console, &script(arguments.shell))?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> String {
    let mut command = command_line::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "speedup", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes the man pages
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    speedup man ~/.local/share/man/man1            # then: man speedup-plan-check\n  \
    speedup man . && man -l speedup.1")]
pub(crate) struct ManArguments {
    /// The directory for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn write_manual(arguments: &ManArguments) -> Result<Exit, Failure> {
    write_pages(&arguments.directory)
        .with_context(|| format!("cannot write man pages into {}", arguments.directory.display()))
        .map_err(Failure::usage)?;
    Ok(Exit::Done)
}

fn write_pages(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(described(), directory)
}

/// The command line without the verb `help`, which needs no page.
fn described() -> clap::Command {
    command_line::command().disable_help_subcommand(true)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_is_told_every_verb() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for verb in command_line::command().get_subcommands() {
                assert!(script.contains(verb.get_name()), "{shell}: {} is missing", verb.get_name());
            }
        }
    }

    /// A bash that has sourced the script completes a verb and, below it, a flag.
    #[test]
    fn bash_takes_the_script_and_completes_by_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("speedup.bash");
        std::fs::write(&path, script(Shell::Bash)).unwrap();
        let asked = r#"
            source "$0"
            ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _speedup speedup "${!#}" ""; echo "${COMPREPLY[*]}"; }
            ask speedup compl
            ask speedup plan check --hos
        "#;
        let bash = Command::new("bash").args(["--norc", "-euc", asked]).arg(&path).output().unwrap();
        let errors = String::from_utf8_lossy(&bash.stderr);
        assert!(bash.status.success() && errors.is_empty(), "{}: {errors}", bash.status);
        assert_eq!(String::from_utf8_lossy(&bash.stdout), "completions\n--hosts\n");
    }

    /// The names of a command and of all below it, with dashes between.
    fn verbs(command: &clap::Command, name: &str, found: &mut Vec<String>) {
        found.push(name.to_owned());
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            verbs(verb, &format!("{name}-{}", verb.get_name()), found);
        }
    }

    #[test]
    fn every_verb_has_a_page_that_renders_without_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(folder.path()).unwrap();
        let mut expected = Vec::new();
        verbs(&described(), "speedup", &mut expected);
        let mut found: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".1").to_owned())
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        let pages = expected.iter().map(|name| folder.path().join(format!("{name}.1")));
        match Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-ww", "-z"]).args(pages).output() {
            Ok(groff) => {
                let warnings = String::from_utf8_lossy(&groff.stderr);
                assert!(groff.status.success() && warnings.is_empty(), "{warnings}");
            }
            // A machine without groff has no man pages to read either.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = write_manual(&ManArguments { directory: file.join("man1") }).unwrap_err();
        assert!(format!("{refused:?}").contains("file/man1"), "{refused:?}");
    }
}
