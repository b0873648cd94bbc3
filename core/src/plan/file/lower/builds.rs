//! `build`, `builds`, `products` and `build_timeout` of a version.

use super::Lowering;
use crate::experiment::build::{Build, USUAL_TIMEOUT};
use crate::experiment::{CommandLine, KeyPath};
use crate::plan::file::form::VersionForm;

impl Lowering<'_> {
    /// How a version is built, if it is.
    pub(super) fn build(&mut self, place: &KeyPath, form: &VersionForm) -> Option<Build> {
        let command = match (&form.build, &form.build_shell) {
            (Some(argv), None) => CommandLine::Exact(argv.clone()),
            (None, Some(line)) => CommandLine::Shell(line.clone()),
            (Some(argv), Some(_)) => {
                self.note(&place.at("build_shell"), || {
                    (format!("[{place}] has both `build` and `build_shell`"), "keep one of them".to_owned())
                });
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
        let given = [
            ("builds", form.builds.is_some()),
            ("products", !form.products.is_empty()),
            ("build_timeout", form.build_timeout.is_some()),
        ];
        for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            self.note(&place.at(key), || {
                let hint = "write build = [\"make\", \"-C\", \"{file.source}\"], or build_shell = \"a line for /bin/sh\"";
                (format!("[{place}] has `{key}` and nothing that builds"), hint.to_owned())
            });
        }
    }
}
