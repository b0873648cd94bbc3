//! What `squeue` says of our jobs. A job for several hosts is as many here as it has nodes.

use speedup_core::experiment::gang::MAX_GANG;
use speedup_core::machine::provision::Job;
use speedup_core::value::id::JobId;
use speedup_core::value::time::{Span, Timestamp};

use super::{first_line, hostlist, state};
use crate::provision::engine::EngineError;

/// Most characters that are told of a reason, which an administrator may have written.
const MAX_REASON: usize = 500;

/// The jobs of a listing in our format, one a line.
pub(super) fn jobs(listing: &str) -> Result<Vec<Job>, EngineError> {
    let jobs = listing.lines().filter(|line| !line.trim().is_empty()).map(job);
    Ok(jobs.collect::<Result<Vec<Vec<Job>>, _>>()?.concat())
}

/// The parts of a job on its nodes, of which there are so many.
pub(super) fn parts(job: JobId, nodes: u32) -> Vec<JobId> {
    match nodes {
        0 | 1 => vec![job],
        // Slurm's numbers have ten digits.
        nodes => (0..nodes.min(MAX_GANG)).filter_map(|number| job.on_node(number).ok()).collect(),
    }
}

fn job(text: &str) -> Result<Vec<Job>, EngineError> {
    let wrong =
        || EngineError::Answer { program: "squeue", answer: first_line(text), wanted: "job in our format" };
    let fields: Vec<&str> = text.trim().splitn(7, '|').collect();
    let [id, word, started, ends, nodes, many, reason] = fields[..] else { return Err(wrong()) };
    let words = match reason {
        "None" | "" => word.to_owned(),
        reason => format!("{word} ({})", reason.chars().take(MAX_REASON).collect::<String>()),
    };
    let id: JobId = id.parse().map_err(|_| wrong())?;
    let many: u32 = many.parse().map_err(|_| wrong())?;
    let nodes = hostlist::expand(nodes, MAX_GANG as usize).unwrap_or_default();
    let mut jobs = Vec::new();
    for (number, id) in parts(id, many).into_iter().enumerate() {
        jobs.push(Job {
            id,
            state: state::state(word),
            words: words.clone(),
            node: nodes.get(number).and_then(|node| node.parse().ok()),
            started: moment(started),
            ends: moment(ends),
        });
    }
    Ok(jobs)
}

/// Seconds since the Unix epoch; what has none has a word.
fn moment(text: &str) -> Option<Timestamp> {
    let seconds: u64 = text.parse().ok()?;
    Some(Timestamp(Span::from_secs(seconds).0))
}

#[cfg(test)]
mod tests {
    use speedup_core::{machine::provision::JobEnd, machine::provision::JobState, value::id::NodeName};

    use super::*;

    #[test]
    fn jobs_are_read_as_slurm_prints_them() {
        let text = "2|PENDING|N/A|N/A||1|JobHeldUser\n1|RUNNING|1795324423|1795324543|n1|1|None\n\
                    3|CANCELLED|1795324423|1795324424|n1|1|None\n4|PENDING|N/A|N/A||1|(a | b)\n";
        let jobs = jobs(text).unwrap();
        assert_eq!(jobs[0].words, "PENDING (JobHeldUser)");
        assert_eq!((jobs[0].state, jobs[0].started, jobs[0].node.clone()), (JobState::Queued, None, None));
        assert_eq!(jobs[1].ends, Some(Timestamp(1_795_324_543_000_000_000)));
        assert_eq!(jobs[1].node.as_ref().unwrap().as_str(), "n1");
        assert_eq!(jobs[2].state, JobState::Ended(JobEnd::Cancelled));
        assert_eq!(jobs[3].words, "PENDING ((a | b))");
    }

    #[test]
    fn a_job_for_several_hosts_has_a_part_on_each_node() {
        let text = "7|RUNNING|1795324423|1795324543|n[3-4,9]|3|None\n8|PENDING|N/A|N/A||2|Resources\n";
        let jobs = jobs(text).unwrap();
        let told: Vec<(&str, Option<&str>)> =
            jobs.iter().map(|job| (job.id.as_str(), job.node.as_ref().map(NodeName::as_str))).collect();
        let running = [("7.0", Some("n3")), ("7.1", Some("n4")), ("7.2", Some("n9"))];
        assert_eq!(told, [&running[..], &[("8.0", None), ("8.1", None)]].concat());
        assert!(jobs.iter().all(|job| ["7", "8"].contains(&job.id.whole())));
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        let error = jobs("slurm_load_jobs error: Unable to contact slurm controller\n").unwrap_err();
        assert!(error.to_string().contains("not a job in our format"), "{error}");
        assert!(jobs("1|RUNNING|2\n").is_err() && jobs("a b|RUNNING|1|2|n1|1|None").is_err());
    }
}
