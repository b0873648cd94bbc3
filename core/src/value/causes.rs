//! An error in one line: what was tried, and each cause behind it.

use std::{error::Error, iter::successors};

/// The error and its causes, the outermost first. It takes for granted that no error says its cause itself.
pub fn with_causes(error: &dyn Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Self>>);

    #[test]
    fn each_cause_is_said_once_and_the_outermost_first() {
        let disk = Layer("disk", None);
        let file = Layer("file", Some(Box::new(disk)));
        assert_eq!(with_causes(&file), "file: disk");
        let export = Layer("export", Some(Box::new(file)));
        assert_eq!(with_causes(&export), "export: file: disk");
    }
}
