//! The access file: how commands and agents find the coordinator that was started on this machine, or on another with the
//! same home directory, and what they are let in with. Whoever can read it may do what it was written for.

use std::{fs, path::Path, path::PathBuf};

use anyhow::{Error, anyhow};
use serde::{Deserialize, Serialize};
use speedup_access::{Credentials, private_file};
use speedup_core::value::hint::Hinted;

use crate::{connection::directories, exit::failure::Failure};

/// The coordinator that has no other name.
pub(crate) const DEFAULT: &str = "default";
/// Longest name of a coordinator: it is part of file names.
const MAX_NAME_BYTES: usize = 64;
/// Most access files that are looked through for an address.
const MAX_FILES: usize = 1_000;

/// What an access file says. Fields of newer releases are passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Where the coordinator is, as `https://127.0.0.1:7077`.
    pub(crate) address: String,
    /// Its process, so that it removes no file of its successor; none in a file that was enrolled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    /// What one is let in with; nothing where there is no TLS.
    #[serde(flatten)]
    credentials: Option<Parts>,
    /// Where it is on its own machine, if that is another address: names that others know it by may not resolve there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local: Option<Local>,
}

/// Where a coordinator is on its own machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Local {
    address: String,
    /// Which network of which boot of which machine that is an address in.
    network: String,
}

/// The network in which this process lives: machines that share a home directory have boot ids of their own, and containers of
/// one machine have their own loopback.
fn network() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Parts {
    authority: String,
    certificate: String,
    key: String,
}

impl Parts {
    fn new(credentials: &Credentials) -> Self {
        Self {
            authority: credentials.authority_pem().to_owned(),
            certificate: credentials.certificate_pem().to_owned(),
            key: credentials.key_pem().to_owned(),
        }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Whether a text can be the name of a coordinator: then it is no address.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(fits)
}

/// Where the file of a coordinator is, unless `chosen`.
pub(crate) fn path(chosen: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    match name {
        DEFAULT => directories::or_state(chosen, "access.toml"),
        name => directories::or_state(chosen, &format!("access/{name}.toml")),
    }
}

/// Where a command that measures on a data directory writes its access file.
pub(crate) fn within(data: &Path) -> PathBuf {
    data.join("access.toml")
}

/// Whether a command that measures on a data directory serves it: its access file is there, and its process is.
pub(crate) fn is_served(data: &Path) -> bool {
    let process = read(&within(data)).ok().flatten().and_then(|access| access.process);
    process.is_some_and(|process| Path::new(&format!("/proc/{process}")).exists())
}

/// The access file in the state directory that is for this address; else that of the default coordinator, which a tunnel
/// may lead to.
pub(crate) fn for_address(address: &str) -> Result<Option<PathBuf>, Failure> {
    let usual = path(None, DEFAULT)?;
    let access = read(&usual)?;
    if access.as_ref().is_some_and(|access| access.is_at(address)) {
        return Ok(Some(usual));
    }
    let named = fs::read_dir(directories::or_state(None, "access")?).into_iter().flatten().flatten();
    for entry in named.take(MAX_FILES) {
        // One that cannot be read is another coordinator's trouble.
        if let Ok(Some(access)) = read(&entry.path())
            && access.is_at(address)
        {
            return Ok(Some(entry.path()));
        }
    }
    Ok(access.map(|_| usual))
}

/// What the file says, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<Access>, Failure> {
    let text = private_file::read(path).map_err(|error| {
        let hint = error.hint();
        refused(path, Error::new(error)).hint_if(hint)
    })?;
    let Some(text) = text else { return Ok(None) };
    let access: Access = toml::from_str(&text).map_err(|error| refused(path, Error::new(error)))?;
    access.credentials().map_err(|error| refused(path, error))?;
    Ok(Some(access))
}

fn refused(path: &Path, error: Error) -> Failure {
    let error = error.context(format!("cannot read the access file {}", path.display()));
    Failure { hint: None, ..Failure::usage(error) }
}

impl Access {
    /// One of a coordinator of this process.
    pub(crate) fn for_this_process(address: String, credentials: Option<&Credentials>) -> Self {
        Self { process: Some(std::process::id()), ..Self::enrolled(address, credentials) }
    }

    /// The same, which commands on this machine reach at another address.
    pub(crate) fn reached_locally(self, address: String) -> Self {
        if address == self.address {
            return Self { local: None, ..self };
        }
        Self { local: network().map(|network| Local { address, network }), ..self }
    }

    fn is_at(&self, address: &str) -> bool {
        self.address == address || self.way() == address
    }

    /// Where this process reaches it.
    pub(crate) fn way(&self) -> &str {
        let local = self.local.as_ref().filter(|local| network().as_ref() == Some(&local.network));
        local.map_or(&self.address, |local| &local.address)
    }

    /// One for a coordinator elsewhere.
    pub(crate) fn enrolled(address: String, credentials: Option<&Credentials>) -> Self {
        Self { address, process: None, local: None, credentials: credentials.map(Parts::new) }
    }

    /// The same with other credentials.
    pub(crate) fn renewed(self, credentials: &Credentials) -> Self {
        Self { credentials: Some(Parts::new(credentials)), ..self }
    }

    pub(crate) fn credentials(&self) -> Result<Option<Credentials>, Error> {
        let Some(Parts { authority, certificate, key }) = &self.credentials else { return Ok(None) };
        Ok(Some(Credentials::new(authority, certificate, key)?))
    }
}

/// A written access file; removed when the coordinator ends as it should.
#[derive(Clone, Debug)]
pub(crate) struct WrittenAccess {
    path: PathBuf,
    access: Access,
}

/// Writes the file at once or not at all; only its owner can read it.
pub(crate) fn write(path: &Path, access: Access) -> Result<WrittenAccess, Failure> {
    let failed = |error: Error| {
        let text = format!("cannot write the access file {}", path.display());
        Failure::infrastructure(error.context(text)).hint("choose another place with --access-file")
    };
    let text = toml::to_string(&access).map_err(|error| failed(error.into()))?;
    private_file::write(path, &text).map_err(|error| failed(error.into()))?;
    Ok(WrittenAccess { path: path.to_owned(), access })
}

impl WrittenAccess {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Writes the file again where it does not say this. After a failure the old one stands, to be renewed later.
    pub(crate) fn renewed(self, access: Access) -> Result<Self, Failure> {
        if read(&self.path).ok().flatten().as_ref() == Some(&access) {
            return Ok(self);
        }
        write(&self.path, access)
    }

    /// Removes the file, unless another coordinator has written its own since.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        if read(&self.path)?.as_ref() != Some(&self.access) {
            return Ok(());
        }
        fs::remove_file(&self.path).map_err(|error| {
            let text = format!("cannot remove the access file {}", self.path.display());
            Failure::infrastructure(Error::new(error).context(text))
        })
    }
}

pub(crate) fn name(text: &str) -> Result<String, Error> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(anyhow!("a name has 1 to {MAX_NAME_BYTES} letters, digits, - and _"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn plain(address: &str) -> Access {
        Access::for_this_process(address.to_owned(), None)
    }

    #[test]
    fn what_is_written_is_read_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/access.toml");
        assert_eq!(read(&path).unwrap(), None);
        let written = write(&path, plain("http://127.0.0.1:7077")).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().address, "http://127.0.0.1:7077");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        written.remove().unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn who_is_in_the_same_network_takes_the_local_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        let access = plain("http://login1:7077").reached_locally("http://127.0.0.1:7077".to_owned());
        write(&path, access.clone()).unwrap();
        let read = read(&path).unwrap().unwrap();
        assert_eq!(read, access);
        assert_eq!(read.way(), "http://127.0.0.1:7077");
        let local = read.local.map(|local| Local { network: "another".to_owned(), ..local });
        let elsewhere = Access { local, ..access };
        assert_eq!(elsewhere.way(), "http://login1:7077");
        assert_eq!(plain("http://a:1").reached_locally("http://a:1".to_owned()), plain("http://a:1"));
    }

    #[test]
    fn what_is_unchanged_is_not_written_and_what_cannot_be_written_is_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/access.toml");
        let written = write(&path, plain("http://127.0.0.1:1")).unwrap();
        let inode = || fs::metadata(&path).map(|seen| std::os::unix::fs::MetadataExt::ino(&seen)).unwrap();
        let before = inode();
        let written = written.renewed(plain("http://127.0.0.1:1")).unwrap();
        assert_eq!(inode(), before);
        fs::rename(path.parent().unwrap(), directory.path().join("away")).unwrap();
        fs::write(path.parent().unwrap(), "in the way").unwrap();
        let renewed = plain("http://127.0.0.1:2");
        written.clone().renewed(renewed.clone()).unwrap_err();
        fs::remove_file(path.parent().unwrap()).unwrap();
        written.renewed(renewed.clone()).unwrap();
        assert_eq!(read(&path).unwrap(), Some(renewed));
    }

    #[test]
    fn the_file_of_a_successor_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        let written = write(&path, plain("http://127.0.0.1:1")).unwrap();
        write(&path, plain("http://127.0.0.1:2")).unwrap();
        written.remove().unwrap();
        assert_eq!(read(&path).unwrap().unwrap().address, "http://127.0.0.1:2");
    }

    #[test]
    fn a_damaged_file_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        for damaged in
            ["address = ", "address = \"https://a:1\"\nauthority = \"\"\ncertificate = \"\"\nkey = \"\""]
        {
            private_file::write(&path, damaged).unwrap();
            assert!(read(&path).unwrap_err().error.to_string().contains("access.toml"));
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.toml");
        write(&path, plain("http://127.0.0.1:1")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let failure = read(&path).unwrap_err();
        assert!(failure.hint.unwrap().contains("chmod 600"));
    }

    #[test]
    fn names_are_no_addresses() {
        assert!(is_name("default") && is_name("cluster-2_b"));
        for address in ["", "127.0.0.1:7077", "login:7077", "https://login", "a/b", "..", &"x".repeat(65)] {
            assert!(!is_name(address), "{address}");
        }
    }
}
