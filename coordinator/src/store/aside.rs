//! Damaged stores: the last one is kept, for whoever wants to know what became of it.

use std::{fs, io, io::ErrorKind, path::Path, path::PathBuf};

use rustix::fs::statvfs;
use speedup_journal::durable::{parent_of, sync_directory};

/// Gives a store a name under which nobody reads it, and says in words where it is. One is kept, and only where the disk
/// has room for as much once more: the store that is built anew will want it.
pub(super) fn set_aside(path: &Path) -> io::Result<String> {
    let aside = name(path);
    remove(&aside)?;
    let bytes = size(path)?;
    let free = free(parent_of(path))?;
    if bytes > free {
        remove(path)?;
        return Ok(format!("it was removed, because {free} free bytes are too few to keep its {bytes}"));
    }
    fs::rename(path, &aside)?;
    sync_directory(parent_of(path))?;
    Ok(format!("the damaged one is kept as {} and may be deleted", aside.display()))
}

/// Where the last damaged store lies.
fn name(path: &Path) -> PathBuf {
    path.with_extension("aside")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // A file in its place.
        Err(error) if error.kind() == ErrorKind::NotADirectory => fs::remove_file(path),
        removed => removed,
    }
}

fn size(path: &Path) -> io::Result<u64> {
    let seen = fs::symlink_metadata(path)?;
    if !seen.is_dir() {
        return Ok(seen.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

fn free(path: &Path) -> io::Result<u64> {
    let seen = statvfs(path)?;
    Ok(seen.f_bavail.saturating_mul(seen.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_damaged_store_is_kept() {
        let data = tempfile::tempdir().unwrap();
        let store = data.path().join("store");
        for content in ["first", "second"] {
            fs::create_dir_all(store.join("blobs")).unwrap();
            fs::write(store.join("blobs/db"), content).unwrap();
            let said = set_aside(&store).unwrap();
            let kept = data.path().join("store.aside/blobs/db");
            assert_eq!(fs::read_to_string(kept).unwrap(), content);
            assert!(!store.exists() && said.contains("store.aside"), "{said}");
        }
        assert_eq!(size(data.path()).unwrap(), "second".len() as u64);
    }
}
