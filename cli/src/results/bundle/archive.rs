//! Bundles as bytes: a tar archive, packed by gzip, that any system opens. The manifest goes first, and says name, size and
//! content of every other file. Reading one puts nothing on a disk and takes a known amount of memory, whatever it holds.

use std::{collections::BTreeMap, collections::BTreeSet, io, io::BufRead, io::Read, io::Write};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use thiserror::Error;

use super::manifest::{Listed, Manifest, SCHEMA_VERSION};

pub(crate) const MANIFEST: &str = "manifest.json";
/// Bytes of a bundle when unpacked: some four million attempts. It is what verifying holds in memory.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 2 << 30;
/// Bytes of a manifest: it has a few lines for each of a few files.
const MAX_MANIFEST_BYTES: u64 = 64 << 10;
/// Files of a bundle besides its manifest; this release writes five.
const MAX_FILES: usize = 16;
/// What the archive's own headers may take.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Bytes that are read at once where nothing is kept of them.
const BLOCK: usize = 8 << 10;
/// The time of all files: one bundle of one experiment is the same bytes.
const NO_TIME: u64 = 0;

/// The content of every file, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Why bytes are no bundle.
#[derive(Debug, Error)]
pub(crate) enum ArchiveError {
    #[error("it is damaged or truncated after {read} unpacked bytes")]
    Damaged { read: u64, source: io::Error },
    #[error("it holds more than {MAX_UNPACKED_BYTES} bytes when unpacked")]
    TooLarge,
    #[error("it starts with {0:?}, but a bundle starts with its {MANIFEST}")]
    NoManifest(String),
    #[error("its manifest cannot be read")]
    Manifest(#[source] serde_json::Error),
    #[error("its manifest is larger than {MAX_MANIFEST_BYTES} bytes")]
    ManifestTooLarge,
    #[error(
        "it is of version {found}, made by release {release}, and this release knows version {SCHEMA_VERSION}"
    )]
    Version { found: u32, release: String },
    #[error("its manifest lists {0} files, more than {MAX_FILES}")]
    TooManyFiles(usize),
    #[error("entry {at} is {found:?}, but the manifest lists {expected:?} there")]
    Entry { at: usize, found: String, expected: String },
    #[error("{0:?} is not a regular file")]
    NoFile(String),
    #[error("{name} has {found} bytes, but the manifest says {expected}")]
    Size { name: String, found: u64, expected: u64 },
    #[error(
        "{name} is not what it was when the bundle was made: its BLAKE3 hash is {found}, the manifest says {expected}"
    )]
    Content { name: String, found: String, expected: String },
    #[error("there is data after the end of the archive, after {read} unpacked bytes")]
    Behind { read: u64 },
    #[error("its manifest lists {0:?} twice")]
    ListedTwice(String),
    #[error("it ends before {0}, which its manifest lists")]
    Missing(String),
}

speedup_core::hints! { ArchiveError:
    Self::Version { .. } => "verify it with a release that is at least as new",
    Self::TooLarge | Self::TooManyFiles(_) | Self::ManifestTooLarge => "it is not a bundle of this command",
    Self::Damaged { .. } | Self::Behind { .. } | Self::ListedTwice(_) | Self::NoManifest(_)
        | Self::Manifest(_) | Self::Entry { .. } | Self::NoFile(_) | Self::Size { .. }
        | Self::Content { .. } | Self::Missing(_) => "get the bundle again from its source",
}

/// Writes a bundle. The manifest lists `files` in their order.
pub(crate) fn write(manifest: &Manifest, files: &[(&str, Vec<u8>)], to: impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(to, Compression::default()));
    let mut text = serde_json::to_vec_pretty(manifest)?;
    text.push(b'\n');
    let mut append = |name: &str, content: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(NO_TIME);
        archive.append_data(&mut header, name, content)
    };
    append(MANIFEST, &text)?;
    for (name, content) in files {
        append(name, content)?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// Counts, and ends with an error where there is too much.
struct BoundedReader<R> {
    from: R,
    read: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.read += read as u64;
        if self.read > MAX_UNPACKED_BYTES + MAX_HEADER_BYTES {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(read)
    }
}

/// Reads a bundle: every file is the one that its manifest lists.
///
/// # Errors
/// [`ArchiveError`] for the first thing that does not fit, by name.
pub(crate) fn read(from: impl BufRead) -> Result<(Manifest, Files), ArchiveError> {
    let mut bounded = BoundedReader { from: GzDecoder::new(from), read: 0 };
    let taken = take(&mut bounded).and_then(|taken| {
        ended(&mut bounded)?;
        Ok(taken)
    });
    let read = bounded.read;
    match taken {
        Ok(taken) => Ok(taken),
        Err(Stop::Io(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
            drop(error);
            Err(ArchiveError::TooLarge)
        }
        Err(Stop::Io(source)) => Err(ArchiveError::Damaged { read, source }),
        Err(Stop::Refused(error)) => Err(error),
    }
}

/// Reads to the very end, where gzip's checksum of all stands. Behind the archive's own end are zeros and nothing else: other
/// programs unpack what follows, and it would be a bundle in which they see more than was verified.
fn ended(bounded: &mut BoundedReader<GzDecoder<impl BufRead>>) -> Result<(), Stop> {
    let mut block = [0; BLOCK];
    loop {
        let length = bounded.read(&mut block)?;
        if length == 0 {
            break;
        }
        if block.iter().take(length).any(|byte| *byte != 0) {
            return Err(ArchiveError::Behind { read: bounded.read }.into());
        }
    }
    if bounded.from.get_mut().fill_buf()?.is_empty() {
        Ok(())
    } else {
        Err(ArchiveError::Behind { read: bounded.read }.into())
    }
}

enum Stop {
    Io(io::Error),
    Refused(ArchiveError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ArchiveError> for Stop {
    fn from(error: ArchiveError) -> Self {
        Self::Refused(error)
    }
}

fn take(from: &mut impl Read) -> Result<(Manifest, Files), Stop> {
    let mut archive = tar::Archive::new(from);
    let mut entries = archive.entries()?;
    let mut first = entries.next().ok_or_else(|| ArchiveError::NoManifest(String::new()))??;
    let name = name_of(&first);
    if name != MANIFEST {
        return Err(ArchiveError::NoManifest(name).into());
    }
    if !first.header().entry_type().is_file() {
        return Err(ArchiveError::NoFile(name).into());
    }
    if first.size() > MAX_MANIFEST_BYTES {
        return Err(ArchiveError::ManifestTooLarge.into());
    }
    let manifest = manifest(&content_of(&mut first)?)?;
    let mut files = Files::new();
    // The manifest fixes order, size and hash of each entry, so nothing unlisted is ever read into memory.
    for (at, listed) in manifest.files.iter().enumerate() {
        let mut entry = entries.next().ok_or_else(|| ArchiveError::Missing(listed.name.clone()))??;
        let found = name_of(&entry);
        if found != listed.name {
            let expected = listed.name.clone();
            return Err(ArchiveError::Entry { at: at + 2, found, expected }.into());
        }
        if !entry.header().entry_type().is_file() {
            return Err(ArchiveError::NoFile(found).into());
        }
        if entry.size() != listed.bytes {
            return Err(
                ArchiveError::Size { name: found, found: entry.size(), expected: listed.bytes }.into()
            );
        }
        let content = content_of(&mut entry)?;
        let own = Listed::new(&listed.name, &content);
        if own != *listed {
            let (name, found, expected) = (found, own.blake3, listed.blake3.clone());
            return Err(ArchiveError::Content { name, found, expected }.into());
        }
        files.insert(found, content);
    }
    if let Some(more) = entries.next() {
        let found = name_of(&more?);
        let at = manifest.files.len() + 2;
        return Err(ArchiveError::Entry { at, found, expected: "the end".to_owned() }.into());
    }
    Ok((manifest, files))
}

fn name_of(entry: &tar::Entry<'_, impl Read>) -> String {
    String::from_utf8_lossy(&entry.path_bytes()).into_owned()
}

/// Grows with what is there, not with what a header says.
fn content_of(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Vec<u8>> {
    let size = entry.size();
    let mut content = Vec::new();
    entry.read_to_end(&mut content)?;
    if content.len() as u64 == size { Ok(content) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A newer manifest may have fields that are not known here, so that its version is looked at first.
fn manifest(text: &[u8]) -> Result<Manifest, ArchiveError> {
    #[derive(serde::Deserialize)]
    struct Shape {
        schema_version: u32,
        #[serde(default)]
        release: String,
    }
    let Shape { schema_version, release } = serde_json::from_slice(text).map_err(ArchiveError::Manifest)?;
    if schema_version != SCHEMA_VERSION {
        return Err(ArchiveError::Version { found: schema_version, release });
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(ArchiveError::Manifest)?;
    if manifest.files.len() > MAX_FILES {
        return Err(ArchiveError::TooManyFiles(manifest.files.len()));
    }
    let bytes = manifest.files.iter().fold(0_u64, |sum, listed| sum.saturating_add(listed.bytes));
    if bytes > MAX_UNPACKED_BYTES {
        return Err(ArchiveError::TooLarge);
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = manifest.files.iter().find(|listed| !names.insert(&listed.name)) {
        return Err(ArchiveError::ListedTwice(twice.name.clone()));
    }
    Ok(manifest)
}

#[cfg(test)]
#[path = "archive/tests.rs"]
mod tests;
