//! The software of the experiment and of its versions: its bounds, and that every placeholder has a value.

use super::super::problem::{KeyPath, Problems};
use super::super::{Experiment, Version};
use super::{KnownPlaceholder, Names, check_text};
use crate::experiment::software::{ContainerLauncher, IMAGE, MAX_NAME_BYTES, SCRATCH, Software, WORK};

impl Experiment {
    pub(super) fn check_software(&self, problems: &mut Problems) {
        let versions = self.versions.iter().take(self.most_versions());
        let shared: Vec<&Version> = versions.clone().filter(|version| version.software.is_none()).collect();
        if !shared.is_empty() {
            let names = self.names_of_software(shared);
            check_software(&self.environment.software, &names, &["environment"].into(), problems);
        }
        for version in versions {
            if let Some(software) = &version.software {
                let names = self.names_of_software([version]);
                let place = ["versions", &version.name, "environment"].into();
                check_software(software, &names, &place, problems);
            }
        }
    }

    /// What is known in the software of these versions: it is the same for their builds and all benchmarks.
    fn names_of_software<'e>(&'e self, versions: impl IntoIterator<Item = &'e Version>) -> Names<'e> {
        Names::for_versions(versions, &self.files).without_runs()
    }
}

fn check_software(software: &Software, names: &Names<'_>, place: &KeyPath, problems: &mut Problems) {
    software.check_bounds(place, problems);
    let Software { prologue, modules, spack_environment, spack, container, .. } = software;
    for (key, text) in [("prologue", prologue), ("spack_environment", spack_environment)] {
        if let Some(text) = text {
            check_text(text, names, || place.at(key), problems);
        }
    }
    for (key, all) in [("modules", modules), ("spack", spack)] {
        for (number, name) in all.iter().enumerate() {
            check_text(name, names, || place.at(key).at(&number), problems);
        }
    }
    let Some(container) = container else { return };
    let place = place.at("container");
    check_text(&container.image, names, || place.at("image"), problems);
    let command = match &container.launcher {
        ContainerLauncher::Apptainer => &[][..],
        ContainerLauncher::Words(words) => words,
    };
    let names = names.for_container();
    for (key, words) in [("command", command), ("digest", &container.digest), ("probe", &container.probe)] {
        for (number, word) in words.iter().enumerate() {
            check_text(word, &names, || place.at(key).at(&number), problems);
        }
    }
}

impl Names<'_> {
    /// With what is known in the commands of a container.
    fn for_container(&self) -> Self {
        let mut names = self.clone();
        for name in [IMAGE, WORK, SCRATCH] {
            names.known.insert(name.into(), KnownPlaceholder::given(MAX_NAME_BYTES));
        }
        names
    }
}
