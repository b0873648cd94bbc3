//! Renewal of the certificate in an access file, by whichever command finds it due. Commands that find it at once take turns.

use std::{fs::File, fs::OpenOptions, io::Error as IoError, path::Path, path::PathBuf, time::Duration};
use std::{os::unix::fs::MetadataExt as _, os::unix::fs::OpenOptionsExt as _};

use anyhow::{Error, anyhow};
use rustix::{fs::FlockOperation, fs::flock, io::Errno, process::geteuid};
use speedup_access::{Credentials, enrolment, enrolment::EnrolmentError, unix_seconds};
use tokio::time::{Instant, sleep};

use super::access::{self, Access};

/// How long a command waits for another that renews the same file: a connection takes ten seconds at most.
const TURN: Duration = Duration::from_secs(15);
/// How often it is looked whether the other has ended.
const RETRY: Duration = Duration::from_millis(50);
/// The bit of a file's mode by which its owner may write it.
const OWNER_WRITES: u32 = 0o200;

/// Renews what is in the file, unless another command has just done so; nothing where the coordinator is not reached, which the
/// command itself tells.
pub(super) async fn renew(path: &Path, url: &str) -> Result<Option<Credentials>, Error> {
    // A link stays, and what it leads to is written.
    let path = &path.canonicalize()?;
    require_own(path)?;
    let _turn = turn(path).await?;
    let Some(access) = access::read(path).map_err(|failure| failure.error)? else { return Ok(None) };
    let Some(held) = access.credentials()? else { return Ok(None) };
    if !held.certificate().is_due(unix_seconds()) {
        return Ok(Some(held));
    }
    // Each certificate counts in the share of this user: what could not be kept is not asked for.
    write(path, access.clone())?;
    match enrolment::renew_if_due(url, &held).await {
        Ok(Some(renewed)) => {
            write(path, access.renewed(&renewed))?;
            Ok(Some(renewed))
        }
        Ok(None) | Err(EnrolmentError::Unreachable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A file that another user owns would become this one's, and one that its owner made read-only is to stay as it is.
fn require_own(path: &Path) -> Result<(), Error> {
    let metadata = path.metadata()?;
    if metadata.uid() != geteuid().as_raw() {
        return Err(anyhow!("the file is another user's"));
    }
    if metadata.mode() & OWNER_WRITES == 0 {
        return Err(anyhow!("the file is read-only"));
    }
    Ok(())
}

fn write(path: &Path, access: Access) -> Result<(), Error> {
    access::write(path, access).map(drop).map_err(|failure| failure.error)
}

/// The right to renew a file, until it is dropped. Others wait for it, and then read what was written.
async fn turn(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock = PathBuf::from(name);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock)?;
    let deadline = Instant::now() + TURN;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => sleep(RETRY).await,
            Err(Errno::WOULDBLOCK) => return Err(anyhow!("another command is renewing it")),
            Err(Errno::INTR) => {}
            // A file system without locks: at worst two commands renew it, and the last one is kept.
            Ok(()) | Err(Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS) => return Ok(file),
            Err(errno) => return Err(IoError::from(errno).into()),
        }
    }
}
