//! Slurm, 22.05 and later, through the user's own commands: `sbatch`, `squeue`, `scancel`, `scontrol`.
//!
//! In reading order: `options` (what a user may say), `hostlist` (many nodes in few
//! words), `listing` and `state` (what Slurm says of jobs), `trial` (what it says of one that is never to start).

mod hostlist;
mod listing;
mod options;
mod state;
mod trial;

use std::{collections::BTreeSet, path::PathBuf};

use async_trait::async_trait;
use speedup_core::machine::provision::{Job, Nodes};
use speedup_core::value::id::{JobId, NodeName};
use speedup_core::value::time::Span;

use super::agent::AgentStart;
use super::command::execute;
use super::engine::{Engine, EngineError, JobSubmission};
use super::script::{Surroundings, quoted};
pub(crate) use options::{OptionsError, SlurmOptions, checked};
use trial::Trial;
pub(crate) use trial::cancel_left_trials;

/// What is asked of `squeue`: id, state, start, end, nodes, how many they are, reason. The reason is last, for it may hold anything.
const FORMAT: &str = "%i|%T|%S|%e|%N|%D|%r";
/// What the logs of jobs begin with.
const LOG_PREFIX: &str = "slurm-";
/// What starts an agent on each node of a job, with all CPUs of the node; when one ends, the others go on.
const ON_EACH_NODE: &str =
    "srun --export=ALL --ntasks-per-node=1 --cpu-bind=none --kill-on-bad-exit=0 --wait=0 --mpi=none";

/// Slurm, as one coordinator uses it.
#[derive(Clone, Debug)]
pub(crate) struct Slurm {
    name: String,
    options: SlurmOptions,
    around: Surroundings,
    agent: AgentStart,
    /// Where the configuration of Slurm is, where the environment of the coordinator says so. It stands in the script, for options may
    /// keep the environment from jobs.
    configuration: Option<String>,
}

impl Slurm {
    /// One whose jobs have this name.
    pub(crate) fn new(name: String, options: SlurmOptions, around: Surroundings, agent: AgentStart) -> Self {
        let configuration = std::env::var("SLURM_CONF").ok().filter(|path| !path.is_empty());
        Self { name, options, around, agent, configuration }
    }

    /// What a job executes.
    fn script(&self, hosts: u32) -> String {
        let start = self.agent.command_line("\"${SLURMD_NODENAME:-job-$SLURM_JOB_ID}\"");
        let mut around = self.around.clone();
        if let Some(path) = &self.configuration {
            // A line of its own: what is put before the agent may be allowed to start that program only.
            if !around.prologue.is_empty() && !around.prologue.ends_with('\n') {
                around.prologue.push('\n');
            }
            around.prologue.push_str(&format!("export SLURM_CONF={}\n", quoted(path)));
        }
        match hosts {
            1 => around.script(&start),
            _ => {
                let start = format!("{start} --job-id \"$SLURM_JOB_ID.$SLURM_NODEID\"");
                around.script_of_several(&start, ON_EACH_NODE)
            }
        }
    }

    /// The user's options go over what is usual, and what makes the job one agent's goes over the user's.
    fn arguments(&self, name: &str, exclude: &Nodes, hosts: u32, more: &[&str]) -> Vec<String> {
        let log = self.log("%j");
        // A job that Slurm puts back waits for two minutes, and counts as a host that will come.
        let mut arguments = vec![format!("--output={}", log.display()), "--no-requeue".to_owned()];
        if !self.options.says_memory() {
            // All of the node's: what runs there is to have what a machine of its own would give it.
            arguments.push("--mem=0".to_owned());
        }
        arguments.extend(self.options.words().iter().cloned());
        arguments.extend([
            "--parsable".to_owned(),
            format!("--nodes={hosts}"),
            format!("--ntasks={hosts}"),
            "--exclusive".to_owned(),
        ]);
        arguments.extend(more.iter().map(ToString::to_string));
        arguments.push(format!("--job-name={name}"));
        arguments.push(format!("--comment={name}"));
        let excluded = self.excluded(exclude);
        if !excluded.is_empty() {
            arguments.push(format!("--exclude={excluded}"));
        }
        arguments
    }

    fn log(&self, job: &str) -> PathBuf {
        self.agent.place.state.join(format!("{LOG_PREFIX}{job}.log"))
    }

    fn excluded(&self, nodes: &Nodes) -> String {
        let lists = [self.options.excluded().to_owned(), hostlist::compress(nodes)];
        lists.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join(",")
    }

    async fn sbatch(
        &self,
        name: &str,
        exclude: &Nodes,
        hosts: u32,
        more: &[&str],
    ) -> Result<JobId, EngineError> {
        let arguments = self.arguments(name, exclude, hosts, more);
        let answer = execute("sbatch", &arguments, &self.script(hosts)).await?;
        // JOB or JOB;CLUSTER
        let id = answer.trim().split(';').next().unwrap_or_default();
        let wrong = |_| EngineError::Answer {
            program: "sbatch",
            answer: first_line(&answer),
            wanted: "number of a job",
        };
        id.parse().map_err(wrong)
    }
}

#[async_trait]
impl Engine for Slurm {
    fn system(&self) -> &'static str {
        ""
    }

    fn submission(&self, job_name: &str) -> JobSubmission {
        let mut command = vec!["sbatch".to_owned()];
        command.extend(self.arguments(job_name, &Nodes::new(), 1, &[]));
        JobSubmission { command, script: self.script(1) }
    }

    async fn submit(&self, exclude: &Nodes, hosts: u32) -> Result<Vec<JobId>, EngineError> {
        let job = self.sbatch(&self.name, exclude, hosts, &[]).await?;
        Ok(listing::parts(job, hosts))
    }

    async fn list(&self) -> Result<Vec<Job>, EngineError> {
        let name = format!("--name={}", self.name);
        let format = format!("--format={FORMAT}");
        let arguments = ["--noheader", "--states=all", "--me", &name, &format].map(str::to_owned);
        listing::jobs(&execute("squeue", &arguments, "").await?)
    }

    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        let whole: BTreeSet<&str> = jobs.iter().map(JobId::whole).collect();
        let mut arguments = vec!["--quiet".to_owned()];
        arguments.extend(whole.into_iter().map(str::to_owned));
        execute("scancel", &arguments, "").await?;
        Ok(())
    }

    async fn exclude(&self, job: &JobId, nodes: &Nodes) -> Result<(), EngineError> {
        let change = [
            "update".to_owned(),
            format!("JobId={}", job.whole()),
            format!("ExcNodeList={}", self.excluded(nodes)),
        ];
        execute("scontrol", &change, "").await?;
        Ok(())
    }

    async fn try_out(&self) -> Result<Option<Span>, EngineError> {
        self.options.check_directories()?;
        // Of another name, so that nobody takes it for a job that is to start.
        let trial = Trial::begin(&self.agent.place.state)?;
        let found = match self.sbatch(trial.name(), &Nodes::new(), 1, &["--hold"]).await {
            Ok(job) => {
                let tested = self.arguments(trial.name(), &Nodes::new(), 1, &["--test-only"]);
                trial::judge(&job, &tested, &self.script(1)).await
            }
            Err(error) => Err(error),
        };
        trial.end().await;
        found
    }

    fn log_of(&self, job: &Job) -> Option<PathBuf> {
        if self.options.say_output() { None } else { Some(self.log(job.id.whole())) }
    }

    fn log_prefix(&self) -> Option<String> {
        if self.options.say_output() { None } else { Some(LOG_PREFIX.to_owned()) }
    }

    async fn reboot(&self, node: &NodeName) -> Result<(), EngineError> {
        let reason = format!("reason={}", self.name);
        let words = ["reboot", "ASAP", "nextstate=RESUME", &reason, node.as_str()].map(str::to_owned);
        execute("scontrol", &words, "").await?;
        Ok(())
    }
}

/// The first line of an answer, not too much of it.
fn first_line(answer: &str) -> String {
    answer.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provision::agent::tests::at;

    fn slurm(options: &[&str]) -> Slurm {
        let options = SlurmOptions::parse(options.iter().map(ToString::to_string).collect()).unwrap();
        let agent = at("10.0.0.1:7077");
        Slurm::new("speedup-1".to_owned(), options, Surroundings::default(), agent)
    }

    fn sbatch_words(slurm: &Slurm, exclude: &Nodes) -> Vec<String> {
        slurm.arguments(&slurm.name, exclude, 1, &[])
    }

    #[test]
    fn a_job_is_one_whole_node_whatever_the_user_says() {
        let exclude = ["n2", "n1"].map(|node| node.parse().unwrap()).into();
        let command = sbatch_words(&slurm(&["-p", "short", "--exclude=login1", "-t", "10"]), &exclude);
        let position = |word: &str| command.iter().position(|known| known == word).unwrap();
        assert!(position("short") < position("--nodes=1"), "{command:?}");
        assert!(position("--mem=0") < position("short"), "{command:?}");
        assert_eq!(command.last().unwrap(), "--exclude=login1,n[1-2]");
        assert!(!sbatch_words(&slurm(&["--mem-per-cpu=100"]), &Nodes::new()).contains(&"--mem=0".to_owned()));
    }

    #[test]
    fn account_qos_reservation_constraint_and_gres_reach_slurm() {
        let given =
            ["-A", "physics", "--qos=high", "--reservation", "mine", "-C", "fast&big", "--gres=gpu:2"];
        let command = sbatch_words(&slurm(&given), &Nodes::new());
        let at = command.iter().position(|word| word == "-A").unwrap();
        assert_eq!(command[at..at + given.len()], given);
        let long = ["--account=physics", "--constraint=fast", "--qos", "high"];
        assert!(
            long.iter().all(|word| sbatch_words(&slurm(&long), &Nodes::new()).contains(&(*word).to_owned()))
        );
    }

    #[test]
    fn a_job_for_several_hosts_has_an_agent_on_each_node() {
        let slurm = slurm(&[]);
        let arguments = slurm.arguments("a", &Nodes::new(), 4, &[]);
        assert!(["--nodes=4", "--ntasks=4"].iter().all(|word| arguments.iter().any(|known| known == word)));
        let script = slurm.script(4);
        let last = script.lines().last().unwrap();
        assert!(last.starts_with("exec srun --export=ALL --ntasks-per-node=1 "), "{last}");
        assert!(last.contains("--job-id \"$SLURM_JOB_ID.$SLURM_NODEID\"'"), "{last}");
    }

    #[test]
    fn the_configuration_of_slurm_is_a_line_of_the_script() {
        let around =
            Surroundings { prologue: "#!/bin/ksh\nmodule load slurm".to_owned(), ..Surroundings::default() };
        let slurm = Slurm { configuration: Some("/etc/a b.conf".to_owned()), around, ..slurm(&[]) };
        for hosts in [1, 2] {
            let script = slurm.script(hosts);
            assert!(script.contains("\nmodule load slurm\nexport SLURM_CONF='/etc/a b.conf'\n"), "{script}");
            assert!(script.starts_with("#!/bin/ksh\n"), "{script}");
        }
    }

    #[test]
    fn the_script_starts_one_agent_in_place_of_its_shell() {
        let script = slurm(&[]).script(1);
        let last = script.lines().last().unwrap();
        assert_eq!(
            last,
            "exec '/home/a b/speedup' agent start --coordinator https://10.0.0.1:7077 \
             --access-file /home/a/access.toml \
             --state /home/a/agents/\"${SLURMD_NODENAME:-job-$SLURM_JOB_ID}\""
        );
    }
}
