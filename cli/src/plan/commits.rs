//! The commits that a plan names: found in their repositories, with their sources as archives that travel.

use std::{fs::File, path::Path};

use speedup_core::{experiment::Experiment, experiment::commit::Commit, plan::file::WantedCommit};

use crate::{console::Console, plan::repository::GitRefusal, plan::repository::Repository};

/// The maximum number of submodules that an error names.
const NAMED: usize = 5;

#[derive(Debug)]
pub(super) struct LocalCommit {
    pub(super) commit: Commit,
    pub(super) archive: File,
    /// What the user should know of it.
    pub(super) notes: Vec<String>,
}

impl LocalCommit {
    /// The commit that a plan in a directory names.
    pub(super) fn find(directory: &Path, wanted: &WantedCommit) -> Result<Self, GitRefusal> {
        let repository = wanted.repository.as_ref();
        let repository = repository.map_or_else(|| directory.to_owned(), |below| directory.join(below));
        let repository = Repository::at(&repository)?;
        let commit = repository.commit(&wanted.revision)?;
        let source = repository.source(&commit)?;
        let notes = [left_out(&repository, &commit)?, without_submodules(&commit, source.submodules())];
        let notes = notes.into_iter().flatten().collect();
        let archive = source.archive()?;
        Ok(Self { commit, archive, notes })
    }
}

/// That what is checked out has changes which are in no commit, if that is so.
pub(crate) fn left_out(repository: &Repository, commit: &Commit) -> Result<Option<String>, GitRefusal> {
    let hides = repository.hides_changes_of(commit)?;
    Ok(hides.then(|| {
        format!(
            "the working tree has changes that are not committed; they are not measured: {}",
            commit.in_words()
        )
    }))
}

/// That submodules are missing from the source of a commit, if there are any.
pub(crate) fn without_submodules(commit: &Commit, submodules: &[String]) -> Option<String> {
    let named = submodules.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if submodules.len() > NAMED { ", …" } else { "" };
    let short = commit.short();
    if submodules.is_empty() {
        return None;
    }
    Some(format!(
        "submodules are not part of a commit, so {named}{more} is missing from the source of {short}"
    ))
}

/// Tells which commits the versions of an experiment are.
pub(crate) fn tell(experiment: &Experiment, console: &Console) {
    for version in experiment.compared() {
        if let Some(commit) = &version.commit {
            console.talk(format_args!("{}: {}", version.name, commit.in_words()));
        }
    }
}
