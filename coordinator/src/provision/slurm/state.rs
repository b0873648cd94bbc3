//! The states of a job that Slurm has, from 22.05 to 25.11, and what each is here.

use speedup_core::machine::provision::{JobEnd, JobState};

/// Slurm's words, with what they mean. All are told by `squeue`'s page of the manual.
const STATES: [(&str, JobState); 32] = [
    ("BOOT_FAIL", JobState::Ended(JobEnd::Failed)),
    ("CANCELLED", JobState::Ended(JobEnd::Cancelled)),
    ("COMPLETED", JobState::Ended(JobEnd::Completed)),
    ("COMPLETING", JobState::Ending),
    // It has a node that boots or is configured: no agent can be there yet.
    ("CONFIGURING", JobState::Queued),
    ("DEADLINE", JobState::Ended(JobEnd::TimedOut)),
    // It is put back into the queue at once.
    ("EXPEDITING", JobState::Queued),
    ("FAILED", JobState::Ended(JobEnd::Failed)),
    ("LAUNCH_FAILED", JobState::Ended(JobEnd::Failed)),
    ("NODE_FAIL", JobState::Ended(JobEnd::Failed)),
    ("OUT_OF_MEMORY", JobState::Ended(JobEnd::Failed)),
    ("PENDING", JobState::Queued),
    ("POWER_UP_NODE", JobState::Queued),
    ("PREEMPTED", JobState::Ended(JobEnd::Preempted)),
    ("RECONFIG_FAIL", JobState::Ended(JobEnd::Failed)),
    ("REQUEUED", JobState::Queued),
    ("REQUEUE_FED", JobState::Queued),
    ("REQUEUE_HOLD", JobState::Queued),
    ("RESIZING", JobState::Running),
    ("RESV_DEL_HOLD", JobState::Queued),
    // Another cluster of the federation has it.
    ("REVOKED", JobState::Ended(JobEnd::Cancelled)),
    ("RUNNING", JobState::Running),
    ("SIGNALING", JobState::Running),
    ("SPECIAL_EXIT", JobState::Queued),
    ("STAGE_OUT", JobState::Ending),
    // Both keep their node: an agent there is silent.
    ("STOPPED", JobState::Running),
    ("SUSPENDED", JobState::Running),
    ("TIMEOUT", JobState::Ended(JobEnd::TimedOut)),
    ("UPDATE_DB", JobState::Ending),
    // Words of other versions for the same.
    ("NODE_FAILED", JobState::Ended(JobEnd::Failed)),
    ("REQUEUE", JobState::Queued),
    ("STAGEOUT", JobState::Ending),
];

/// What a job in a state of Slurm does. A state that is not known is taken for one about to end: its job is left alone, and
/// nothing is expected of it.
pub(super) fn state(word: &str) -> JobState {
    // `CANCELLED by 1000`, `COMPLETED+`
    let word = word.split([' ', '+']).next().unwrap_or_default();
    let known = STATES.iter().find(|(known, _)| *known == word);
    known.map_or_else(
        || {
            tracing::warn!("Slurm has a job in state {word:?}, which is not known here");
            JobState::Ending
        },
        |(_, state)| *state,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JOB STATE CODES of squeue(1) in Slurm 22.05.
    const OF_22_05: [&str; 24] = [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "CONFIGURING",
        "COMPLETING",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PENDING",
        "PREEMPTED",
        "RUNNING",
        "RESV_DEL_HOLD",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "REQUEUED",
        "RESIZING",
        "REVOKED",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
        "TIMEOUT",
    ];
    /// What later ones added.
    const LATER: [&str; 5] = ["EXPEDITING", "LAUNCH_FAILED", "POWER_UP_NODE", "RECONFIG_FAIL", "UPDATE_DB"];

    #[test]
    fn every_documented_state_is_known() {
        for word in OF_22_05.iter().chain(&LATER) {
            assert!(STATES.iter().any(|(known, _)| known == word), "{word}");
        }
        let mut words: Vec<_> = STATES.iter().map(|(word, _)| word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), STATES.len(), "each once");
    }

    #[test]
    fn a_job_that_holds_no_node_any_more_has_ended() {
        // JOB_STATE_BASE of slurm.h: everything from JOB_COMPLETE to JOB_END.
        let over = [
            "COMPLETED",
            "CANCELLED",
            "FAILED",
            "TIMEOUT",
            "NODE_FAIL",
            "PREEMPTED",
            "BOOT_FAIL",
            "DEADLINE",
            "OUT_OF_MEMORY",
            "LAUNCH_FAILED",
            "RECONFIG_FAIL",
            "REVOKED",
        ];
        for (word, state) in STATES.iter().take(29) {
            assert_eq!(matches!(state, JobState::Ended(_)), over.contains(word), "{word}");
        }
    }

    #[test]
    fn what_follows_a_word_is_passed_over() {
        assert_eq!(state("CANCELLED by 1000"), JobState::Ended(JobEnd::Cancelled));
        assert_eq!(state("PENDING"), JobState::Queued);
        assert_eq!(state("SOMETHING_NEW"), JobState::Ending);
    }
}
