//! What Slurm says of a job that is held, so that what it would refuse, or let wait for ever, is known before any job is
//! asked for. Three questions, because no single one finds all: `sbatch` itself refuses what it does not know; with
//! `--test-only` what no node has; and neither looks at the time limit of the partition unless `EnforcePartLimits` is set.

use std::{fs, path::Path, path::PathBuf, time::Duration};

use speedup_core::{value::causes::with_causes, value::id::JobId, value::time::Span};
use uuid::Uuid;

use super::first_line;
use crate::provision::{command::CommandError, command::execute, engine::EngineError};

/// What `sbatch --test-only` says where the nodes that would do are down or reserved.
const NOT_AVAILABLE_NOW: &str = "Required node not available";
/// What it says where no node has what is asked for, or where all that have it are drained.
const NOT_AVAILABLE: &str = "Requested node configuration is not available";
/// The states of nodes that a job can be given now or after others, as `sinfo` prints them. To its option `--states` a node
/// that is drained and has no job is idle, too.
const USABLE: [&str; 5] = ["idle", "allocated", "mixed", "completing", "planned"];

/// What the names of such jobs end with, and those of the files that tell of them.
const SUFFIX: &str = "-trial";
/// When a trial is cancelled once more: a controller that is killed has written down by then what it was told before, or forgotten it.
const CANCEL_AGAIN: Duration = Duration::from_secs(30);
/// How often a controller that does not answer is asked to cancel a trial: for a day.
const CANCEL_AT_MOST: u32 = 2_880;

/// A held job that may be in Slurm, and the file by which one is found that a coordinator has left there when it was killed.
#[derive(Debug)]
pub(super) struct Trial {
    file: PathBuf,
    name: String,
}

impl Trial {
    /// Notes in the directory of agents that a trial is about to be submitted.
    pub(super) fn begin(directory: &Path) -> Result<Self, EngineError> {
        let name = format!("speedup-{}{SUFFIX}", Uuid::new_v4().simple());
        let file = directory.join(&name);
        fs::write(&file, "").map_err(|source| EngineError::Trial { path: file.clone(), source })?;
        Ok(Self { file, name })
    }

    /// The name of the job.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Cancels the job, now and once more.
    pub(super) async fn end(self) {
        if let Err(error) = self.cancel().await {
            tracing::debug!(trial = self.name, "{}", with_causes(&error));
        }
        tokio::spawn(self.cancel_again());
    }

    /// By its name: where `sbatch` was not answered in time, its number is not known.
    async fn cancel(&self) -> Result<(), CommandError> {
        let arguments = ["--quiet".to_owned(), "--me".to_owned(), format!("--name={}", self.name)];
        execute("scancel", &arguments, "").await.map(drop)
    }

    async fn cancel_again(self) {
        for _ in 0..CANCEL_AT_MOST {
            tokio::time::sleep(CANCEL_AGAIN).await;
            match self.cancel().await {
                Ok(()) => break,
                Err(error) => tracing::warn!(trial = self.name, "{}; trying again", with_causes(&error)),
            }
        }
        // One that stays costs nothing but the same at the next start.
        let _ = fs::remove_file(&self.file);
    }
}

/// Cancels the trials that a coordinator has left in Slurm, by the files in the directory of agents.
pub(crate) fn cancel_left_trials(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Ok(name) = entry.file_name().into_string()
            && name.ends_with(SUFFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            let trial = Trial { file: entry.path(), name };
            tokio::spawn(trial.end());
        }
    }
}

/// A partition, as `sinfo` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    name: String,
    /// Its time limit, as Slurm writes it.
    limit: String,
}

/// What Slurm says of a held job, which `tested` with `script` would submit anew; gives how long such jobs last at most.
pub(super) async fn judge(job: &JobId, tested: &[String], script: &str) -> Result<Option<Span>, EngineError> {
    let answer = ask("squeue", "%l|%P", &format!("--jobs={job}")).await?;
    let wrong = || EngineError::Answer {
        program: "squeue",
        answer: first_line(&answer),
        wanted: "time limit and partition of a job",
    };
    let (limit, names) = answer.trim().split_once('|').ok_or_else(wrong)?;
    let partitions = partitions(names).await?;
    let longest = lasts(limit).ok_or_else(wrong)?;
    refuse_too_long(limit, longest, &partitions)?;
    match execute("sbatch", tested, script).await {
        // Nodes that are down, reserved or drained now come back.
        Err(CommandError::Failed { words, .. }) if words.contains(NOT_AVAILABLE_NOW) => {}
        Err(CommandError::Failed { words, .. })
            if words.contains(NOT_AVAILABLE) && !has_usable_nodes(names).await? => {}
        answer => drop(answer?),
    }
    Ok(longest)
}

/// Has a program of Slurm print what a selection has, in a format and without a heading.
async fn ask(program: &str, format: &str, selection: &str) -> Result<String, CommandError> {
    let words = ["--noheader".to_owned(), format!("--format={format}"), selection.to_owned()];
    execute(program, &words, "").await
}

async fn partitions(names: &str) -> Result<Vec<Partition>, EngineError> {
    let answer = ask("sinfo", "%R|%l", &format!("--partition={names}")).await?;
    let partitions = answer.lines().filter_map(|line| line.trim().split_once('|'));
    Ok(partitions.map(|(name, limit)| Partition { name: name.to_owned(), limit: limit.to_owned() }).collect())
}

async fn has_usable_nodes(names: &str) -> Result<bool, EngineError> {
    let answer = ask("sinfo", "%T", &format!("--partition={names}")).await?;
    Ok(answer.lines().any(|state| USABLE.contains(&state.trim())))
}

/// A job that is longer than all its partitions allow waits there for ever.
fn refuse_too_long(asked: &str, longest: Option<Span>, partitions: &[Partition]) -> Result<(), EngineError> {
    for partition in partitions {
        match lasts(&partition.limit) {
            Some(Some(most)) if longest.is_none_or(|longest| longest > most) => {}
            // A limit that is not understood refuses nothing.
            Some(_) | None => return Ok(()),
        }
    }
    let Some(first) = partitions.first() else { return Ok(()) };
    Err(EngineError::TooLong {
        asked: asked.to_owned(),
        partition: first.name.clone(),
        longest: first.limit.clone(),
    })
}

/// A time limit as Slurm prints it: `30:00`, `1:00:00`, `1-00:00:00`. The inner nothing is no limit, the outer no time.
fn lasts(text: &str) -> Option<Option<Span>> {
    if ["UNLIMITED", "infinite", "INVALID", "NOT_SET", "n/a"].contains(&text) {
        return Some(None);
    }
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes, seconds] => (hours, minutes, seconds),
        [minutes, seconds] => (0, minutes, seconds),
        _ => return None,
    };
    let hours = days.parse::<u64>().ok()?.checked_mul(24)?.checked_add(hours)?;
    let seconds = hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
    Some(Some(Span::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(limit: &str) -> Partition {
        Partition { name: "short".to_owned(), limit: limit.to_owned() }
    }

    fn refused(asked: &str, limits: &[&str]) -> Option<String> {
        let partitions: Vec<Partition> = limits.iter().map(|limit| partition(limit)).collect();
        let longest = lasts(asked).unwrap();
        refuse_too_long(asked, longest, &partitions).err().map(|error| error.to_string())
    }

    #[test]
    fn times_are_read_as_slurm_prints_them() {
        let seconds = |text| lasts(text).map(|span| span.map(|span| span.as_secs_f64() as u64));
        assert_eq!(seconds("10:00"), Some(Some(600)));
        assert_eq!(seconds("2:00:00"), Some(Some(7_200)));
        assert_eq!(seconds("1-02:00:01"), Some(Some(93_601)));
        assert_eq!(seconds("UNLIMITED"), Some(None));
        assert_eq!(seconds("infinite"), Some(None));
        for wrong in ["", "10", "a:b", "1:2:3:4", "1-", "99999999999999999999:00"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_job_longer_than_its_partition_allows_is_refused_with_both_limits() {
        let words = refused("2:00:00", &["1:00:00"]).unwrap();
        for part in ["2:00:00", "short", "1:00:00"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert_eq!(refused("1:00:00", &["1:00:00"]), None);
        assert_eq!(refused("2:00:00", &["1:00:00", "1-00:00:00"]), None, "one of them holds it");
        assert_eq!(refused("2:00:00", &["infinite"]), None);
        assert_eq!(refused("2:00:00", &["what"]), None);
        assert!(refused("UNLIMITED", &["1:00:00"]).is_some());
    }
}
