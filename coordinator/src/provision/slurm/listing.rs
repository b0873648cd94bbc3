//! What `squeue` says of our jobs.

use speedup_core::machine::provision::Job;
use speedup_core::value::time::{Span, Timestamp};

use super::{first_line, state};
use crate::provision::engine::EngineError;

/// Most characters that are told of a reason, which an administrator may have written.
const MAX_REASON: usize = 500;

/// The jobs of a listing in our format, one a line.
pub(super) fn jobs(listing: &str) -> Result<Vec<Job>, EngineError> {
    listing.lines().filter(|line| !line.trim().is_empty()).map(job).collect()
}

fn job(text: &str) -> Result<Job, EngineError> {
    let wrong =
        || EngineError::Answer { program: "squeue", answer: first_line(text), wanted: "job in our format" };
    let mut fields = text.trim().splitn(6, '|');
    let mut field = || fields.next().ok_or_else(wrong);
    let (id, word, started, ends, node, reason) =
        (field()?, field()?, field()?, field()?, field()?, field()?);
    let words = match reason {
        "None" | "" => word.to_owned(),
        reason => format!("{word} ({})", reason.chars().take(MAX_REASON).collect::<String>()),
    };
    Ok(Job {
        id: id.parse().map_err(|_| wrong())?,
        state: state::state(word),
        words,
        node: node.parse().ok(),
        started: moment(started),
        ends: moment(ends),
    })
}

/// Seconds since the Unix epoch; what has none has a word.
fn moment(text: &str) -> Option<Timestamp> {
    let seconds: u64 = text.parse().ok()?;
    Some(Timestamp(Span::from_secs(seconds).0))
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::provision::{JobEnd, JobState};

    use super::*;

    #[test]
    fn jobs_are_read_as_slurm_prints_them() {
        let text = "2|PENDING|N/A|N/A||JobHeldUser\n1|RUNNING|1795324423|1795324543|n1|None\n\
                    3|CANCELLED|1795324423|1795324424|n1|None\n4|PENDING|N/A|N/A||(a | b)\n";
        let jobs = jobs(text).unwrap();
        assert_eq!(jobs[0].words, "PENDING (JobHeldUser)");
        assert_eq!((jobs[0].state, jobs[0].started, jobs[0].node.clone()), (JobState::Queued, None, None));
        assert_eq!(jobs[1].ends, Some(Timestamp(1_795_324_543_000_000_000)));
        assert_eq!(jobs[1].node.as_ref().unwrap().as_str(), "n1");
        assert_eq!(jobs[2].state, JobState::Ended(JobEnd::Cancelled));
        assert_eq!(jobs[3].words, "PENDING ((a | b))");
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        let error = jobs("slurm_load_jobs error: Unable to contact slurm controller\n").unwrap_err();
        assert!(error.to_string().contains("not a job in our format"), "{error}");
        assert!(jobs("1|RUNNING|2\n").is_err() && jobs("a b|RUNNING|1|2|n1|None").is_err());
    }
}
