//! The files of a commit, as `git ls-tree -r -l -z` lists them. Whoever made the commit chose their paths, so they are checked as those of a
//! stranger: each stays below the directory into which it is put, and none goes through another, such as through a symbolic link.

use std::collections::BTreeSet;

/// Most files of a commit: ten times those of the Linux kernel.
pub(super) const MAX_SOURCE_FILES: usize = 1_000_000;
/// Most bytes of them together: each host that builds holds them twice.
pub(super) const MAX_SOURCE_BYTES: u64 = 8 << 30;
/// Longest path: Linux takes no longer one, and some of it is the directory's.
const MAX_PATH_BYTES: usize = 3_072;
/// Longest name in it, for the same reason.
const MAX_NAME_BYTES: usize = 255;
/// Longest target of a symbolic link, for the same reason.
const MAX_TARGET_BYTES: u64 = 4_095;
/// The directory in which Git keeps a repository.
const OF_GIT: &[u8] = b".git";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) object: String,
    pub(super) bytes: u64,
}

/// What a file of a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File {
        /// Whether it may be executed.
        executable: bool,
    },
    /// A symbolic link; its content is where it leads.
    Link,
}

/// The files of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    /// Where it has other repositories, which are no part of it.
    pub(super) submodules: Vec<String>,
}

/// Why a listing is none that can be put on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Git does not write so.
    Malformed,
    /// More files than there may be.
    TooMany,
    /// More bytes than there may be.
    TooLarge(u64),
    /// A file that cannot be put there.
    Path(String, &'static str),
}

impl Listing {
    pub(super) fn parse(answer: &[u8]) -> Result<Self, Flaw> {
        let mut listing = Self::default();
        let mut bytes = 0_u64;
        for record in answer.split_inclusive(|byte| *byte == 0) {
            let record = record.strip_suffix(&[0]).ok_or(Flaw::Malformed)?;
            let tab = record.iter().position(|byte| *byte == b'\t').ok_or(Flaw::Malformed)?;
            let (facts, path) =
                (std::str::from_utf8(&record[..tab]).map_err(|_| Flaw::Malformed)?, &record[tab + 1..]);
            let mut facts = facts.split_ascii_whitespace();
            let mut fact = || facts.next().ok_or(Flaw::Malformed);
            let (mode, _, object, size) = (fact()?, fact()?, fact()?, fact()?);
            let told = || String::from_utf8_lossy(path).into_owned();
            if let Some(why) = not_below(path) {
                return Err(Flaw::Path(told(), why));
            }
            let kind = match mode {
                "160000" => {
                    listing.submodules.push(told());
                    continue;
                }
                "120000" => Kind::Link,
                "100755" => Kind::File { executable: true },
                // 100664 is of Git before 1.0.
                "100644" | "100664" => Kind::File { executable: false },
                _ => return Err(Flaw::Path(told(), "is of a kind that no file has")),
            };
            let size: u64 = size.parse().map_err(|_| Flaw::Malformed)?;
            if kind == Kind::Link && (size == 0 || size > MAX_TARGET_BYTES) {
                return Err(Flaw::Path(told(), "is a link that leads nowhere"));
            }
            bytes = bytes.saturating_add(size);
            listing.entries.push(Entry {
                path: path.to_owned(),
                kind,
                object: object.to_owned(),
                bytes: size,
            });
            if listing.entries.len() > MAX_SOURCE_FILES {
                return Err(Flaw::TooMany);
            }
        }
        if bytes > MAX_SOURCE_BYTES {
            return Err(Flaw::TooLarge(bytes));
        }
        listing.check_apart()?;
        Ok(listing)
    }

    /// Sees to it that no path is there twice, and that none goes through another.
    fn check_apart(&self) -> Result<(), Flaw> {
        let mut paths: BTreeSet<&[u8]> = BTreeSet::new();
        let flaw = |path: &[u8], why| Err(Flaw::Path(String::from_utf8_lossy(path).into_owned(), why));
        for Entry { path, .. } in &self.entries {
            if !paths.insert(path) {
                return flaw(path, "is there twice");
            }
        }
        for Entry { path, .. } in &self.entries {
            let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            if slashes.any(|(at, _)| paths.contains(&path[..at])) {
                return flaw(path, "is below a file or a link");
            }
        }
        Ok(())
    }
}

/// Why a path does not lead below the directory into which it is put.
fn not_below(path: &[u8]) -> Option<&'static str> {
    if path.len() > MAX_PATH_BYTES {
        return Some("is too long");
    }
    path.split(|byte| *byte == b'/').find_map(|name| match name {
        b"" | b"." | b".." => Some("leads out of its directory"),
        name if name.eq_ignore_ascii_case(OF_GIT) => Some("is in a repository of its own"),
        name if name.len() > MAX_NAME_BYTES => Some("is too long"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    fn record(mode: &str, size: &str, path: &str) -> Vec<u8> {
        let id = "0a".repeat(20);
        let kind = if mode == "160000" { "commit" } else { "blob" };
        format!("{mode} {kind} {id} {size:>7}\t{path}\0").into_bytes()
    }

    fn listed(records: &[(&str, &str, &str)]) -> Result<Listing, Flaw> {
        Listing::parse(
            &records.iter().flat_map(|(mode, size, path)| record(mode, size, path)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn files_links_and_submodules_are_told_apart() {
        let listing = listed(&[
            ("100644", "5", "a b/ü\n.c"),
            ("100755", "0", "run"),
            ("120000", "3", "link"),
            ("160000", "-", "lib/other"),
        ]);
        let listing = listing.unwrap();
        let kinds: Vec<_> = listing.entries.iter().map(|entry| (entry.kind, entry.bytes)).collect();
        assert_eq!(
            kinds,
            [(Kind::File { executable: false }, 5), (Kind::File { executable: true }, 0), (Kind::Link, 3)]
        );
        assert_eq!(listing.entries[0].path, "a b/ü\n.c".as_bytes());
        assert_eq!(listing.submodules, ["lib/other"]);
        assert_eq!(listed(&[]).unwrap(), Listing::default());
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in
            ["/etc/passwd", "../a", "a/../../b", "a//b", "./a", "", "a/", ".git/config", "a/.GIT/hooks/x"]
        {
            assert!(
                matches!(listed(&[("100644", "1", path)]), Err(Flaw::Path(told, _)) if told == path),
                "{path}"
            );
        }
        let through = listed(&[("120000", "4", "a"), ("100644", "1", "a/b/c")]);
        assert_eq!(through, Err(Flaw::Path("a/b/c".to_owned(), "is below a file or a link")));
        let twice = listed(&[("120000", "4", "a"), ("100644", "1", "a")]);
        assert_eq!(twice, Err(Flaw::Path("a".to_owned(), "is there twice")));
        assert!(listed(&[("100644", "1", "a"), ("100644", "1", "a.b"), ("100644", "1", "ab/c")]).is_ok());
    }

    #[test]
    fn what_git_does_not_write_is_refused() {
        assert_eq!(listed(&[("100644", "x", "a")]), Err(Flaw::Malformed));
        assert_eq!(Listing::parse(b"100644 blob 0a 1\ta"), Err(Flaw::Malformed));
        assert!(matches!(listed(&[("040000", "-", "a")]), Err(Flaw::Path(..))));
        assert!(matches!(listed(&[("120000", "4096", "a")]), Err(Flaw::Path(..))));
        let large = MAX_SOURCE_BYTES.to_string();
        assert!(matches!(listed(&[("100644", &large, "a"), ("100644", "1", "b")]), Err(Flaw::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_below_and_apart(
            records in proptest::collection::vec(("(100644|120000|160000|040000)", "[0-9-]{1,2}", "[a./]{0,6}"), 0..6),
        ) {
            let records: Vec<_> = records.iter().map(|(mode, size, path)| (&**mode, &**size, &**path)).collect();
            let Ok(listing) = listed(&records) else { return Ok(()) };
            let paths: Vec<&Path> = listing
                .entries
                .iter()
                .map(|entry| Path::new(std::str::from_utf8(&entry.path).unwrap()))
                .collect();
            for (at, path) in paths.iter().enumerate() {
                prop_assert!(path.components().all(|one| matches!(one, Component::Normal(_))));
                let mut others = paths.iter().enumerate().filter(|(other, _)| *other != at);
                prop_assert!(others.all(|(_, other)| !path.starts_with(other)));
            }
        }

        #[test]
        fn any_bytes_are_a_listing_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Listing::parse(&bytes);
        }
    }
}
