//! Files and names that outlast a power cut.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::private;

/// Makes all names made, changed and removed in a directory before durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Puts a file in its place durably, for its owner alone, as a whole or not at all: until then it lies beside it, as `.part` in place of its
/// extension.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("part");
    if draft == path {
        return Err(ErrorKind::InvalidFilename.into());
    }
    let mut file = private::create_file_anew(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_directory(parent_of(path))
}

/// The directory of a path; the one at hand where it names none.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_leaves_no_draft() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.json");
        for content in ["first and longer", "second"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(parent_of(Path::new("name")), Path::new("."));
    }
}
