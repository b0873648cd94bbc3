//! What a step of a GitHub workflow tells beside its exit code: annotations, which its runner finds among the lines that the step
//! prints, and the summary of its job, a file of Markdown.

use std::{fs::OpenOptions, io, io::Write as _, path::PathBuf};

use anyhow::{Context as _, Error};
use speedup_analysis::gate::Conclusion;
use speedup_report::github::{AnnotationLevel, annotations};

use crate::console::Console;

/// Where a job's summary is; set in each step.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// Most bytes of a step's summary: a larger one is dropped whole.
const MOST_SUMMARY_BYTES: u64 = 1 << 20;

/// Annotates with conclusions, each in a line of its own.
pub(super) fn annotate(level: AnnotationLevel, title: &str, conclusions: &[Conclusion], console: &Console) {
    for line in annotations(level, title, conclusions) {
        console.command(&line);
    }
}

/// Adds `markdown` to the summary of the job. What the gates say does not depend on it, so that it fails nothing.
pub(super) fn summarize(markdown: &str, console: &Console) {
    let Some(path) = std::env::var_os(SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        console.warn(format_args!("{SUMMARY} is not set, so this job has no summary"));
        return;
    };
    let added =
        add(&path, markdown).with_context(|| format!("cannot add to the job's summary, {}", path.display()));
    match added {
        Ok(true) => {}
        Ok(false) => console.warn("the report is too long for the job's summary, which takes one megabyte"),
        Err(error) => console.warn(format_args!("{error:#}")),
    }
}

/// Whether it has room there.
fn add(path: &PathBuf, markdown: &str) -> Result<bool, Error> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let there = file.metadata()?.len();
    if there + markdown.len() as u64 + 2 > MOST_SUMMARY_BYTES {
        return Ok(false);
    }
    let end = |result: io::Result<()>| result.map(|()| true).map_err(Error::from);
    end(write!(file, "{markdown}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_added_to_and_never_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        assert!(add(&path, "# first").unwrap() && add(&path, "# second").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# first\n\n# second\n\n");
        assert!(!add(&path, &"x".repeat(1 << 20)).unwrap(), "it would be dropped whole");
        assert!(add(&folder.path().join("no/such"), "").is_err());
    }
}
