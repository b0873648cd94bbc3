//! How a version is built: `build`, `builds`, `products` and `build_timeout`, and `git` and `repository`, whose commit
//! becomes a staged file that the build unpacks first.

use super::Lowering;
use crate::experiment::build::{Build, USUAL_TIMEOUT};
use crate::experiment::commit::Commit;
use crate::experiment::files::{FileSource, StagedFile};
use crate::experiment::{CommandLine, KeyPath};
use crate::plan::file::form::VersionForm;
use crate::plan::file::look::{PlanLook, WantedCommit};

/// A commit with its source, as a version has it.
pub(super) struct Source {
    pub(super) commit: Commit,
    pub(super) file: StagedFile,
}

impl Lowering<'_> {
    /// How a version is built, if it is.
    pub(super) fn build(&mut self, place: &KeyPath, form: &VersionForm) -> Option<Build> {
        let command = match (&form.build, &form.build_shell) {
            (Some(argv), None) => CommandLine::Exact(argv.clone()),
            (None, Some(line)) => CommandLine::Shell(line.clone()),
            (Some(argv), Some(_)) => {
                self.note_both(place, "build", "build_shell");
                CommandLine::Exact(argv.clone())
            }
            (None, None) => {
                self.note_without_build(place, form);
                return None;
            }
        };
        let timeout = form.build_timeout.as_ref();
        let timeout = timeout.and_then(|text| self.length(&place.at("build_timeout"), text));
        Some(Build {
            command,
            builds: form.builds.unwrap_or(1),
            products: form.products.clone(),
            timeout: timeout.unwrap_or(USUAL_TIMEOUT),
        })
    }

    /// What belongs to a build, where there is none.
    fn note_without_build(&mut self, place: &KeyPath, form: &VersionForm) {
        for (key, is_given) in [
            ("builds", form.builds.is_some()),
            ("products", !form.products.is_empty()),
            ("build_timeout", form.build_timeout.is_some()),
        ] {
            if is_given {
                self.note(&place.at(key), || {
                    let hint = "write build = [\"make\", \"-C\", \"{file.source}\"], or build_shell = \"a line for /bin/sh\"";
                    (format!("[{place}] has `{key}` and nothing that builds"), hint.to_owned())
                });
            }
        }
    }

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
        let version = version.to_owned();
        let revision = revision.clone();
        let wanted = WantedCommit { version, revision, repository: form.repository.clone() };
        match look.commit(&wanted) {
            Ok(found) => {
                let name = found.commit.source();
                let source = FileSource::Content(found.source);
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
