//! A directory that is written to: whether it can be, on what kind of disk it lies, and how much there is left.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::{fs::StatVfsMountFlags, fs::statfs, fs::statvfs, process::Resource, process::getrlimit};

use super::finding::Finding;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The coordinator's journal: each group is synced.
    Journal,
    /// An agent's: programs of plans lie and execute there.
    Programs,
}

/// Less than this is soon full: some segments of the journal, or some files of plans.
const LITTLE_BYTES: u64 = 1 << 30;
/// A sync that takes longer delays every grant and acknowledgement.
const SLOW: Duration = Duration::from_millis(100);
/// Open files that a coordinator of a small pool wants; each agent is one.
const FEW_FILES: u64 = 4_096;

/// File systems of other machines, by the number that the kernel gives them (`linux/magic.h`, NFS, CIFS, SMB2, FUSE, Ceph,
/// Lustre, GPFS, AFS).
const DISTANT: [(u64, &str); 8] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x5346_414F, "AFS"),
];
/// In memory: gone when the machine is.
const MEMORY: [(u64, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];

/// What there is to say of a directory.
pub(super) fn findings(name: &str, path: &Path, of: Use) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(metadata) = fs::metadata(path) else {
        let words = format!("{} is not there", path.display());
        return vec![Finding::wrong(
            name,
            words,
            Some("start the service that uses it once, or name another directory".to_owned()),
        )];
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        let words =
            format!("other users may write to {} (mode {mode:o}): it will be refused", path.display());
        findings.push(Finding::wrong(name, words, Some(format!("chmod go-rwx {}", path.display()))));
    } else if of == Use::Journal && mode & 0o077 != 0 {
        let words = format!("{} may be read by others (mode {mode:o})", path.display());
        findings.push(Finding::warning(name, words, format!("chmod 700 {}", path.display())));
    }
    // The journal waits for an fsync before each acknowledgement; nothing shows a slow disk as well as one.
    match synced(path) {
        Err(error) => {
            let words = format!("cannot write to {}: {error}", path.display());
            let hint = "give it to the user that uses it, and check free space and disk errors";
            findings.push(Finding::wrong(name, words, Some(hint.to_owned())));
        }
        Ok(took) if of == Use::Journal && took > SLOW => {
            let words = format!("an fsync took {} ms", took.as_millis());
            findings.push(Finding::warning(name, words, "every lease waits for an fsync; use a faster disk"));
        }
        Ok(took) => {
            let words = format!("{} is writable; an fsync took {} µs", path.display(), took.as_micros());
            findings.push(Finding::fine(name, words));
        }
    }
    findings.extend(kind(name, path, of));
    findings
}

/// Writes a file, syncs it, and removes it.
fn synced(path: &Path) -> std::io::Result<Duration> {
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let begin = Instant::now();
    let written = File::create_new(&probe).and_then(|mut file| {
        file.write_all(b"doctor\n")?;
        file.sync_data()
    });
    let took = begin.elapsed();
    let removed = fs::remove_file(&probe);
    written.and(removed).map(|()| took)
}

fn kind(name: &str, path: &Path, of: Use) -> Vec<Finding> {
    let mut findings = Vec::new();
    let check = format!("disk of the {name}");
    if let Ok(found) = statfs(path) {
        let number = u64::from(found.f_type as u32);
        let named = |kinds: &[(u64, &'static str)]| {
            kinds.iter().find(|(magic, _)| *magic == number).map(|(_, name)| *name)
        };
        if let Some(kind) = named(&DISTANT) {
            let words = format!("{} lies on {kind}", path.display());
            let hint = match of {
                Use::Journal => "the journal relies on locks and fsync of a local disk; move it to one",
                Use::Programs => "each host needs a directory of its own, best on its own disk (--state)",
            };
            findings.push(Finding::warning(&check, words, hint));
        } else if of == Use::Journal
            && let Some(kind) = named(&MEMORY)
        {
            let words = format!("{} lies on {kind}", path.display());
            findings.push(Finding::wrong(
                &check,
                words,
                Some("it is lost when the machine stops; move it".to_owned()),
            ));
        }
    }
    if let Ok(found) = statvfs(path) {
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        let words = format!("{} MiB are free", free >> 20);
        findings.push(if free < LITTLE_BYTES {
            Finding::warning(&check, words, "free space: a full disk cannot acknowledge anything")
        } else {
            Finding::fine(&check, words)
        });
        if of == Use::Programs && found.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            let words = "programs there cannot be executed (noexec)";
            let hint = "plans may bring programs; choose another directory with --state";
            findings.push(Finding::warning(&check, words, hint));
        }
    }
    findings
}

/// How many agents may connect.
pub(super) fn open_files() -> Finding {
    match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < FEW_FILES => Finding::warning(
            "open files",
            format!("{most} at most, one per connected agent"),
            "raise the hard limit (ulimit -Hn, LimitNOFILE=) to the number of agents plus a hundred",
        ),
        Some(most) => Finding::fine("open files", format!("{most} at most, one per connected agent")),
        None => Finding::fine("open files", "without a limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    #[test]
    fn a_directory_that_is_not_there_or_open_to_others_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let found = findings("data directory", &directory.path().join("none"), Use::Journal);
        assert_eq!(found.first().map(|finding| finding.verdict), Some(Verdict::Wrong));
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let found = findings("data directory", directory.path(), Use::Journal);
        let first = found.first().unwrap();
        assert_eq!(first.verdict, Verdict::Warning);
        assert!(first.hint.as_deref().unwrap().starts_with("chmod 700"), "{first:?}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing stays");
    }

    #[test]
    fn what_lies_in_memory_is_no_place_for_a_journal() {
        let shm = Path::new("/dev/shm");
        if statfs(shm).is_ok_and(|found| found.f_type as u32 == 0x0102_1994) {
            let found = kind("data directory", shm, Use::Journal);
            assert_eq!(found.first().map(|finding| finding.verdict), Some(Verdict::Wrong), "{found:?}");
            assert!(
                kind("state", shm, Use::Programs).iter().all(|finding| finding.verdict != Verdict::Wrong)
            );
        }
    }
}
