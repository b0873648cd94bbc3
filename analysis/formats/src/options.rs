//! What a file does not say itself.

use crate::columns::Columns;
use crate::go::GoUnits;
use crate::name::Name;

/// What the bytes of a file do not say.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// The file's path, for formats that do not name their benchmark: criterion's `sample.json` gets the folders it lies
    /// in, a file of numbers its name without ending.
    pub path: Option<&'a str>,
    /// The benchmark of a file that does not name it; goes before the path.
    pub benchmark: Option<Name>,
    /// The columns of a table and the fields of JSON lines.
    pub columns: Columns<'a>,
    /// What to do with Go's units.
    pub go_units: GoUnits,
}

impl Options<'_> {
    /// The benchmark of a file that does not name it.
    pub(crate) fn unnamed_benchmark(&self) -> Name {
        if let Some(name) = &self.benchmark {
            return name.clone();
        }
        let file = self.path.and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        Name::beginning(if stem.is_empty() { "unnamed" } else { stem })
    }
}
