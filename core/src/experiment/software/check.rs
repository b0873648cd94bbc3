//! The bounds of an environment's software.

use super::{
    Container, ContainerLauncher, IMAGE, MAX_NAME_BYTES, MAX_NAMES, MAX_PROLOGUE_BYTES, MAX_WORDS, Software,
};
use crate::experiment::MIN_TIMEOUT;
use crate::experiment::problem::{Fault, KeyPath, Problems};
use crate::experiment::template::placeholders;
use crate::value::time::Span;

/// Longest time for a preparation: it is added to each run's lease.
const MAX_TIMEOUT: Span = Span::from_secs(3_600);

impl Software {
    /// Refuses each value outside its bounds, in the order of the keys of `place`.
    pub(in crate::experiment) fn check_bounds(&self, place: &KeyPath, problems: &mut Problems) {
        let mut refuse = |key, value, allowed| {
            problems.refuse(place.at(key), Fault::OutOfRange { value, allowed });
        };
        if let Some(prologue) = &self.prologue
            && (prologue.len() > MAX_PROLOGUE_BYTES || prologue.contains('\0'))
        {
            let allowed = format!("a script of at most {MAX_PROLOGUE_BYTES} bytes without NUL");
            refuse("prologue", format!("{} bytes", prologue.len()), allowed);
        }
        for (key, names) in [("modules", &self.modules), ("spack", &self.spack)] {
            if names.len() > MAX_NAMES {
                refuse(key, format!("{} names", names.len()), format!("at most {MAX_NAMES}"));
            }
        }
        // One rule holds for all names: a shell or a launcher is given them as words.
        let names = self.modules.iter().map(|name| ("modules", name));
        let names = names.chain(self.spack.iter().map(|name| ("spack", name)));
        let names = names.chain(self.spack_environment.iter().map(|name| ("spack_environment", name)));
        let images = self.container.iter().map(|container| ("container", &container.image));
        for (key, name) in names.chain(images).filter(|(_, name)| !is_name(name)) {
            let allowed = format!(
                "a name of 1 to {MAX_NAME_BYTES} bytes that does not begin with -, without control characters"
            );
            refuse(key, format!("{name:.40?}"), allowed);
        }
        if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&self.timeout) {
            refuse("software_timeout", self.timeout.to_string(), format!("{MIN_TIMEOUT} to {MAX_TIMEOUT}"));
        }
        if let Some(container) = &self.container {
            container.check_bounds(&mut refuse);
        }
    }
}

impl Container {
    fn check_bounds(&self, refuse: &mut impl FnMut(&'static str, String, String)) {
        let Self { launcher, digest, probe, .. } = self;
        let command = match launcher {
            ContainerLauncher::Apptainer => &[][..],
            ContainerLauncher::Words(words) => words,
        };
        for (what, words) in [("command", command), ("digest", digest), ("probe", probe)] {
            if words.len() > MAX_WORDS
                || words.iter().any(|word| word.len() > MAX_NAME_BYTES || word.contains('\0'))
            {
                let allowed =
                    format!("at most {MAX_WORDS} words of at most {MAX_NAME_BYTES} bytes without NUL");
                refuse("container", format!("a {what} of {} words", words.len()), allowed);
            }
        }
        if let ContainerLauncher::Words(words) = launcher {
            let names_image = words.iter().flat_map(|word| placeholders(word)).any(|name| name == IMAGE);
            if !names_image {
                let allowed =
                    "words with {image} among them, which start the program that follows".to_owned();
                refuse("container", format!("a command of {} words", words.len()), allowed);
            }
        }
    }
}

/// What a shell or a launcher is given as a name cannot be taken for an option.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.starts_with('-') && !name.contains(char::is_control)
}
