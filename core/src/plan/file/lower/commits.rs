//! `git` and `repository` of a version: the source of the commit becomes a staged file, which the build unpacks first.

use super::Lowering;
use crate::experiment::KeyPath;
use crate::experiment::build::Build;
use crate::experiment::commit::Commit;
use crate::experiment::files::{FileSource, StagedFile};
use crate::plan::file::form::VersionForm;
use crate::plan::file::look::PlanLook;
use crate::plan::file::wanted_commit::WantedCommit;

/// A commit with its source, as a version has it.
pub(super) struct Source {
    pub(super) commit: Commit,
    pub(super) file: StagedFile,
}

impl Lowering<'_> {
    /// The commit of a version, if it names one that can be taken.
    pub(super) fn source(
        &mut self,
        version: &str,
        form: &VersionForm,
        build: Option<&Build>,
        look: &mut dyn PlanLook,
    ) -> Option<Source> {
        let place = KeyPath::from(["versions", version]);
        let Some(revision) = &form.git else {
            if form.repository.is_some() {
                self.stray(&place, "repository", "git");
            }
            return None;
        };
        if build.is_none() {
            self.note(&place.at("git"), || {
                let hint = "write build = [\"make\"] and products = { prog = \"prog\" }; where nothing is to be built, \
                            build = [\"true\"] and the files of the commit that runs need as products";
                (format!("[{place}] has `git` and nothing that builds"), hint.to_owned())
            });
            return None;
        }
        let (version, revision) = (version.to_owned(), revision.clone());
        let wanted = WantedCommit { version, revision, repository: form.repository.clone() };
        match look.commit(&wanted) {
            Ok(found) => {
                let (name, source) = (found.commit.source(), FileSource::Content(found.source));
                Some(Source { commit: found.commit, file: StagedFile { name, source } })
            }
            Err(unusable) => {
                self.note(&wanted.place(), || (unusable.cause, unusable.hint));
                None
            }
        }
    }
}

/// Adds the sources of commits to the files of a plan, each once.
pub(super) fn stage(sources: Vec<StagedFile>, files: &mut Vec<StagedFile>) {
    for source in sources {
        if !files.contains(&source) {
            files.push(source);
        }
    }
}
