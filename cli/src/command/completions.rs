//! `speedup completions`: the script by which a shell completes verbs and flags.

use clap::Args;
use clap_complete::Shell;

use crate::{arguments::command_line, command::print, console::Console, exit::Exit, exit::failure::Failure};

/// Prints the completion script for a shell
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup completions bash > ~/.local/share/bash-completion/completions/speedup\n\
    \x20 speedup completions zsh > ~/.zfunc/_speedup        # with ~/.zfunc in fpath\n\
    \x20 speedup completions fish > ~/.config/fish/completions/speedup.fish")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    print(console, &script(arguments.shell))?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> String {
    let mut command = command_line::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "speedup", &mut script);
    String::from_utf8_lossy(&script).into_owned()
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
}
