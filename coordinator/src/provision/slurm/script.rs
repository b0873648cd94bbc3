//! What a job executes: one agent, in place of the shell, so that the signals of Slurm reach it.

use crate::provision::AgentStart;
use crate::provision::shell::quoted;

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
