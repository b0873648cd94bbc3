//! The logs of jobs, on a disk that the nodes share: each job makes one, and those that nobody looks for any more are removed.

use std::{fs, io, path::Path, path::PathBuf, time::Duration, time::SystemTime};

use speedup_core::value::causes::with_causes;

use super::command::blocking;

/// The newest logs, which stay whatever their age.
const KEPT: usize = 100;
/// How long others stay after something was last written to them: jobs have time limits of days.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);

/// The logs of the jobs of one engine.
#[derive(Clone, Debug)]
pub(super) struct JobLogs {
    pub(super) directory: PathBuf,
    /// What their names begin with, before the job's id.
    pub(super) prefix: String,
}

impl JobLogs {
    /// Removes those that are too old and too many.
    pub(super) async fn remove_old(&self) {
        let logs = self.clone();
        match blocking(move || logs.remove_before(SystemTime::now())).await {
            Ok(0) => {}
            Ok(count) => {
                tracing::info!(count, directory = %self.directory.display(), "removed old logs of jobs");
            }
            Err(error) => tracing::warn!("cannot remove old logs of jobs: {}", with_causes(&error)),
        }
    }

    /// Gives how many were removed.
    fn remove_before(&self, now: SystemTime) -> io::Result<usize> {
        let mut logs = Vec::new();
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if self.is_log(&entry.path()) {
                // One may be removed by another coordinator meanwhile.
                let Ok(seen) = entry.metadata() else { continue };
                if seen.is_file() {
                    logs.push((seen.modified()?, entry.path()));
                }
            }
        }
        logs.sort();
        let surplus = logs.len().saturating_sub(KEPT);
        let mut removed = 0;
        for (written, path) in &logs[..surplus] {
            if now.duration_since(*written).is_ok_and(|age| age > KEPT_FOR) && fs::remove_file(path).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn is_log(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(self.prefix.as_str()).is_some_and(|rest| rest.ends_with(".log"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_logs_stay_and_all_of_the_last_week() {
        let directory = tempfile::tempdir().unwrap();
        let logs = JobLogs { directory: directory.path().to_owned(), prefix: "slurm-".to_owned() };
        assert_eq!(
            JobLogs { directory: directory.path().join("none"), ..logs.clone() }
                .remove_before(SystemTime::now())
                .unwrap(),
            0
        );
        let now = SystemTime::now();
        let day = Duration::from_secs(86_400);
        let write = |name: &str, age: Duration| {
            let file = fs::File::create(directory.path().join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        };
        // Five of a month ago, ten of yesterday, a hundred of today, and what is no log of a job.
        (0..5).for_each(|job| write(&format!("slurm-{job}.log"), day * 30));
        (5..15).for_each(|job| write(&format!("slurm-{job}.log"), day));
        (15..115).for_each(|job| write(&format!("slurm-{job}.log"), Duration::ZERO));
        for other in ["slurm-notes.txt", "local-1.log", "notes.log"] {
            write(other, day * 30);
        }
        assert_eq!(logs.remove_before(now).unwrap(), 5);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 113);
        assert!(
            !directory.path().join("slurm-4.log").exists() && directory.path().join("slurm-5.log").exists()
        );
        assert_eq!(logs.remove_before(now + day * 8).unwrap(), 10);
        assert_eq!(logs.remove_before(now + day * 8).unwrap(), 0);
    }
}
