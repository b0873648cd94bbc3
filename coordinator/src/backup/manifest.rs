//! The manifest: what files a backup has, each with its hash and length, in lines that people can read; the last line is
//! the hash of those before it.

use std::{fmt::Write as _, path::Component, path::Path};

use speedup_journal::Position;
use thiserror::Error;

/// The form that this release reads and writes.
const VERSION: u32 = 1;
/// Most bytes of a manifest: some hundred thousand files.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// What the first line begins with.
const TITLE: &str = "speedup-backup ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) release: String,
    /// All events of the journal before this one are in it.
    pub(super) position: Position,
    /// Its files, ascending by path.
    pub(super) files: Vec<SavedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SavedFile {
    /// Where it lies below the data directory, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// Its BLAKE3.
    pub(super) hash: blake3::Hash,
}

/// Why a manifest cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    #[error("it does not start like one")]
    Foreign,
    #[error("it is of version {found}, and this release knows version {VERSION}")]
    Newer { found: u32 },
    #[error("its end is missing")]
    Truncated,
    #[error("its lines were changed")]
    Changed,
    #[error("line {0} is not valid")]
    Line(usize),
    #[error("line {0} names a file that no backup has")]
    Path(usize),
}

impl Manifest {
    pub(super) fn encode(&self) -> String {
        let mut text = format!("{TITLE}{VERSION}\nrelease {}\nposition {}\n", self.release, self.position.0);
        for SavedFile { path, bytes, hash } in &self.files {
            let _ = writeln!(text, "file {} {bytes} {path}", hash.to_hex());
        }
        let end = blake3::hash(text.as_bytes());
        let _ = writeln!(text, "end {}", end.to_hex());
        text
    }

    pub(super) fn decode(text: &str) -> Result<Self, ManifestError> {
        let version = text.lines().next().and_then(|line| line.strip_prefix(TITLE)?.parse().ok());
        match version.ok_or(ManifestError::Foreign)? {
            VERSION => {}
            found if found > VERSION => return Err(ManifestError::Newer { found }),
            _ => return Err(ManifestError::Foreign),
        }
        let whole = text.strip_suffix('\n').ok_or(ManifestError::Truncated)?;
        let (body, end) = whole.rsplit_once("\nend ").ok_or(ManifestError::Truncated)?;
        let end = blake3::Hash::from_hex(end).map_err(|_| ManifestError::Changed)?;
        if blake3::hash(format!("{body}\n").as_bytes()) != end {
            return Err(ManifestError::Changed);
        }
        let mut lines = body.lines().enumerate().map(|(number, line)| (number + 1, line)).skip(1);
        let mut head = |name: &str| {
            let (number, line) = lines.next().ok_or(ManifestError::Truncated)?;
            line.strip_prefix(name).map(str::to_owned).ok_or(ManifestError::Line(number))
        };
        let release = head("release ")?;
        let position = head("position ")?.parse().map_err(|_| ManifestError::Line(3))?;
        let files = lines.map(|(number, line)| saved(number, line)).collect::<Result<_, _>>()?;
        Ok(Self { release, position: Position(position), files })
    }
}

fn saved(number: usize, line: &str) -> Result<SavedFile, ManifestError> {
    let wrong = || ManifestError::Line(number);
    let mut words = line.strip_prefix("file ").ok_or_else(wrong)?.splitn(3, ' ');
    let mut word = || words.next().ok_or_else(wrong);
    let hash = blake3::Hash::from_hex(word()?).map_err(|_| wrong())?;
    let bytes = word()?.parse().map_err(|_| wrong())?;
    let path = word()?.to_owned();
    let mut parts = Path::new(&path).components();
    if path.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err(ManifestError::Path(number));
    }
    Ok(SavedFile { path, bytes, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(path: &str) -> Manifest {
        let saved = SavedFile { path: path.to_owned(), bytes: 3, hash: blake3::hash(b"abc") };
        Manifest { release: "0.1.0".to_owned(), position: Position(7), files: vec![saved] }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = manifest("journal/a b.seg").encode();
        assert_eq!(Manifest::decode(&text), Ok(manifest("journal/a b.seg")));
        assert!(
            text.starts_with("speedup-backup 1\nrelease 0.1.0\nposition 7\nfile 6437b3ac38465133"),
            "{text}"
        );
    }

    #[test]
    fn what_was_cut_or_changed_is_refused() {
        let text = manifest("journal/0.seg").encode();
        for length in 0..text.len() {
            assert!(Manifest::decode(&text[..length]).is_err(), "{length}");
        }
        assert_eq!(Manifest::decode(&text.replace("position 7", "position 8")), Err(ManifestError::Changed));
        let newer = text.replace("backup 1", "backup 2");
        assert_eq!(Manifest::decode(&newer), Err(ManifestError::Newer { found: 2 }));
        assert_eq!(Manifest::decode("[files]\n"), Err(ManifestError::Foreign));
    }

    #[test]
    fn no_path_leads_out() {
        for path in ["/etc/passwd", "../x", "a/../../x", ""] {
            assert_eq!(Manifest::decode(&manifest(path).encode()), Err(ManifestError::Path(4)), "{path}");
        }
    }
}
