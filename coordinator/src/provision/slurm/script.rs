//! What a job executes: one agent, in place of the shell, so that the signals of Slurm reach it.

use crate::provision::AgentStart;

/// The script of a job. An agent's state is its node's, so that what an earlier one there has not delivered is delivered.
pub(super) fn script(agent: &AgentStart) -> String {
    let words = [agent.place.program.to_string_lossy().into_owned(), "agent".to_owned(), "start".to_owned()];
    let words: Vec<String> = words.into_iter().chain(agent.connection()).map(|word| quoted(&word)).collect();
    format!(
        "#!/bin/sh\n# One agent of speedup on one whole node, until the job ends.\nexec {} --state {}/\"${{SLURMD_NODENAME:-job-$SLURM_JOB_ID}}\"\n",
        words.join(" "),
        quoted(&agent.place.state.to_string_lossy()),
    )
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_out_of_a_shell_as_it_went_in() {
        for word in ["plain/word-1", "two words", "it's", "", "$HOME `x` \"y\" \\", "ä\n"] {
            let script = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
