//! The engine's job in which this agent lives: its id, what the engine calls this host, and when it ends the job.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use speedup_core::value::id::{HostId, JobId, NodeName, SwitchPath};
use speedup_core::value::time::{Span, Timestamp};

/// How long Slurm may take to say when the job ends: its controller may be busy with thousands of such questions.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked whether it has; nothing is measured yet.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of its answer: a number of seconds.
const ANSWER_BYTES: u64 = 256;

/// A job of an engine, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: Option<JobId>,
    /// What the engine calls this host.
    pub(super) node: Option<NodeName>,
    /// When the engine ends it.
    pub(super) ends: Option<Timestamp>,
}

/// What a node of Slurm is called among all clusters, within a job. Nodes are often started from one image, with one machine id:
/// only Slurm tells them apart for sure.
pub(super) fn host(variable: impl Fn(&str) -> Option<String>) -> Option<HostId> {
    let names = ["SLURM_JOB_ID", "SLURM_CLUSTER_NAME", "SLURMD_NODENAME"];
    let [job, cluster, node] = names.map(|name| variable(name).filter(|value| !value.is_empty()));
    job.and_then(|_| format!("{}:{}", cluster?, node?).parse().ok())
}

/// The job of Slurm that the environment tells of, if any.
pub(super) fn job(variable: impl Fn(&str) -> Option<String>) -> Job {
    let Some(id) = variable("SLURM_JOB_ID").filter(|id| !id.is_empty()) else { return Job::default() };
    let told = variable("SLURM_JOB_END_TIME").and_then(|text| seconds(&text));
    let ends = told.or_else(|| match asked("squeue", &id) {
        Ok(answer) => seconds(&answer),
        Err(error) => {
            tracing::warn!("Slurm does not say when job {id} ends: {error}; runs may be cut off by its end");
            None
        }
    });
    Job { id: id.parse().ok(), node: variable("SLURMD_NODENAME").and_then(|name| name.parse().ok()), ends }
}

/// The switches above this node, where Slurm knows the network (`TopologyPlugin`): the words before the node's own name.
pub(super) fn switches(variable: impl Fn(&str) -> Option<String>) -> Option<SwitchPath> {
    let (path, kinds) = (variable("SLURM_TOPOLOGY_ADDR")?, variable("SLURM_TOPOLOGY_ADDR_PATTERN")?);
    let switches = kinds.split('.').take_while(|kind| *kind == "switch").count();
    let path: Vec<&str> = path.split('.').take(switches).collect();
    path.join(".").parse().ok()
}

/// Slurm's moments are asked for in seconds since the Unix epoch; a job without an end has a word instead.
fn seconds(text: &str) -> Option<Timestamp> {
    let seconds = text.trim().parse::<u64>().ok().filter(|seconds| *seconds > 0)?;
    Some(Timestamp(Span::from_secs(seconds).0))
}

/// Asks Slurm, within bounds of time and length.
fn asked(program: &str, job: &str) -> std::io::Result<String> {
    let mut command = Command::new(program);
    command.args(["--noheader", "--jobs", job, "--format", "%e"]).env("SLURM_TIME_FORMAT", "%s");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() < PATIENCE => std::thread::sleep(LOOK),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(std::io::Error::other(format!("{program} has not answered within {PATIENCE:?}")));
            }
        }
    };
    if !status.success() {
        return Err(std::io::Error::other(format!("{program} failed: {status}")));
    }
    let mut answer = String::new();
    child.stdout.take().map(|out| out.take(ANSWER_BYTES).read_to_string(&mut answer)).transpose()?;
    Ok(answer)
}

/// How long the allocation lasts from now on, for the log.
pub(super) fn left(ends: Timestamp) -> Span {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ends - Timestamp(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_told_by_the_environment() {
        let variables =
            [("SLURM_JOB_ID", "17"), ("SLURMD_NODENAME", "n-1.rack_2"), ("SLURM_JOB_END_TIME", "1700000000")];
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let found = job(variable);
        assert_eq!(found.id.unwrap().as_str(), "17");
        assert_eq!(found.node.unwrap().as_str(), "n-1.rack_2");
        assert_eq!(found.ends, Some(Timestamp(1_700_000_000_000_000_000)));
        assert_eq!(job(|_| None), Job::default());
    }

    #[test]
    fn the_switches_above_a_node_are_told_by_the_environment() {
        let of = |path: &str, kinds: &str| {
            let variables = [("SLURM_TOPOLOGY_ADDR", path), ("SLURM_TOPOLOGY_ADDR_PATTERN", kinds)];
            let told = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, told)| (*told).to_owned())
            };
            switches(told).map(|path| path.as_str().to_owned())
        };
        assert_eq!(of("core.leaf7.n-1", "switch.switch.node").as_deref(), Some("core.leaf7"));
        assert_eq!(of("n-1", "node"), None, "there are none");
        assert_eq!(of("s[1-2].n-1", "switch.node"), None, "one of several: no name");
        assert_eq!(switches(|_| None), None);
    }

    #[test]
    fn a_node_of_slurm_is_called_by_its_cluster_too() {
        let all = [("SLURM_JOB_ID", "17"), ("SLURM_CLUSTER_NAME", "east"), ("SLURMD_NODENAME", "n-1.rack_2")];
        let of = |variables: &[(&str, &str)]| {
            host(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&all).unwrap().as_str(), "east:n-1.rack_2");
        // Outside of a job, and where the cluster is not told, the machine names itself.
        for missing in 0..all.len() {
            let rest: Vec<_> =
                all.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, one)| *one).collect();
            assert_eq!(of(&rest), None, "{rest:?}");
        }
        assert_eq!(of(&[all[0], ("SLURM_CLUSTER_NAME", ""), all[2]]), None);
    }

    #[test]
    fn what_is_no_moment_is_none() {
        assert_eq!(seconds("N/A\n"), None);
        assert_eq!(seconds("0"), None);
        assert_eq!(seconds(" 12\n"), Some(Timestamp(12_000_000_000)));
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_is_told() {
        assert!(asked("false", "1").unwrap_err().to_string().contains("failed"));
        assert!(asked("no-such-program", "1").is_err());
        assert!(asked("echo", "1").unwrap().contains("--jobs"));
    }
}
