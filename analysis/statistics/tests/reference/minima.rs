//! How many cases and values each reference file has at least, so that an emptied file is a failure.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was compared of a file.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Account {
    pub(crate) cases: usize,
    /// The values that were compared, by field.
    pub(crate) values: BTreeMap<String, usize>,
}

/// The accounts of the project's own files, by name.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Minima(pub(crate) BTreeMap<String, Account>);

/// Whose files are read, which says how many they must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// The project's: all that was pinned.
    Own,
    /// Another one, with cases of its own of the same functions: half of the cases, and half of each field that at least every
    /// second pinned case has. What stands in few cases need not stand in others.
    Other,
}

impl Minima {
    /// What the file called `stem` lacks, each in a sentence.
    pub(crate) fn lacking(&self, stem: &str, account: &Account, folder: Folder) -> Vec<String> {
        let Some(pinned) = self.0.get(stem) else {
            return vec!["no minimum is pinned for it".to_owned()];
        };
        let least = |count: usize| match folder {
            Folder::Own => count,
            Folder::Other => count.div_ceil(2),
        };
        let mut lacking = Vec::new();
        if account.cases < least(pinned.cases) {
            lacking.push(format!("{} cases, and at least {} are wanted", account.cases, least(pinned.cases)));
        }
        for (field, count) in &pinned.values {
            let is_asked = folder == Folder::Own || 2 * count >= pinned.cases;
            let compared = account.values.get(field).copied().unwrap_or(0);
            if is_asked && compared < least(*count) {
                lacking
                    .push(format!("{field}: {compared} values, and at least {} are wanted", least(*count)));
            }
        }
        lacking
    }

    /// The pinned files that are not among `found`.
    pub(crate) fn missing<'a>(&'a self, found: &'a [String]) -> impl Iterator<Item = &'a String> {
        self.0.keys().filter(|stem| !found.contains(stem))
    }
}
