//! `speedup man`: the man pages, one for the program and one for each verb.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::{arguments::command_line, exit::Exit, exit::failure::Failure};

/// Writes the man pages
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    speedup man ~/.local/share/man/man1            # then: man speedup-plan-check\n  \
    speedup man . && man -l speedup.1")]
pub(crate) struct Arguments {
    /// The directory for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    write(&arguments.directory)
        .with_context(|| format!("cannot write man pages into {}", arguments.directory.display()))
        .map_err(Failure::usage)?;
    Ok(Exit::Done)
}

fn write(directory: &Path) -> std::io::Result<()> {
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

    use super::*;

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
        write(folder.path()).unwrap();
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
        let refused = execute(&Arguments { directory: file.join("man1") }).unwrap_err();
        assert!(format!("{refused:?}").contains("file/man1"), "{refused:?}");
    }
}
