//! `cli.md`: the help of every verb.

use std::fmt::Write as _;

use clap::Command;

use crate::arguments::command_line;

/// The width of the help's lines on the page.
const WIDTH: usize = 80;

#[test]
fn the_page_of_the_command_line_is_that_of_the_code() {
    let mut page = String::from(
        "# Command line\n\nMade from the code: what `speedup VERB --help` prints. A value in brackets after `env:` names the \
         environment variable\nthat stands for the flag.\n",
    );
    let mut command = command_line::command()
        .disable_help_subcommand(true)
        .term_width(WIDTH)
        .mut_args(|arg| arg.hide_env_values(true));
    command.build();
    describe(&mut command, "speedup", 2, &mut page);
    super::meet("cli.md", &page);
}

fn describe(command: &mut Command, name: &str, depth: usize, page: &mut String) {
    let help = command.clone().mut_args(|arg| arg.hide_env_values(true)).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(page, "\n{} {name}\n\n```text\n{}\n```", "#".repeat(depth), help.join("\n").trim_end()).unwrap();
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{name} {}", verb.get_name());
        describe(verb, &name, (depth + 1).min(4), page);
    }
}
