//! The user as whom programs execute, where the owner of the host names one.
//!
//! The change happens in the child, which shares the agent's memory. That is no door: on a change of credentials the
//! kernel makes the shared memory undumpable, so that no process of that user can trace the child, and all signals are
//! blocked until the child is the program. The C library's own calls would change every thread of the agent.
#![expect(unsafe_code, reason = "users are looked up by the C library, and changed past it")]

use std::{ffi::CStr, ffi::CString, ffi::c_int, io, mem, os::unix::ffi::OsStrExt, path::Path, ptr};

use thiserror::Error;

use crate::launch::errno;

/// Room for an entry of the user database: names, home and shell of one user.
const ENTRY_BYTES: usize = 64 << 10;
/// Most groups of a user: Linux's `NGROUPS_MAX`.
const MAX_GROUPS: usize = 65_536;
/// Whether the C library is inside the program.
const HAS_C_LIBRARY: bool = cfg!(target_feature = "crt-static");

/// A user with its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    uid: libc::uid_t,
    gid: libc::gid_t,
    groups: Vec<libc::gid_t>,
}

/// Why programs cannot execute as a user.
#[derive(Debug, Error)]
pub enum UserError {
    #[error("there is no user {0:?}")]
    Unknown(String),
    #[error("cannot look up the user {name:?}")]
    Lookup {
        /// Who was looked up.
        name: String,
        source: io::Error,
    },
    #[error("may not execute programs as {0:?}")]
    NotPermitted(String),
}

speedup_core::hints! { UserError:
    Self::Unknown(_) if HAS_C_LIBRARY =>
        "this program looks users up in /etc/passwd alone: add the user there, or name another with --user",
    Self::Unknown(_) => "add the user to this host, or name another with --user",
    Self::Lookup { .. } => "check the host's user database (getent passwd)",
    Self::NotPermitted(_) => "start the agent as root, or as that user without --user",
}

impl User {
    /// A user by name or number, with its groups as the database has them.
    pub fn named(name: &str) -> Result<Self, UserError> {
        let lookup = |source| UserError::Lookup { name: name.to_owned(), source };
        let unknown = || UserError::Unknown(name.to_owned());
        let c_name = CString::new(name).map_err(|_| unknown())?;
        let number = name.parse::<libc::uid_t>().ok();
        let (user, login) = entry(&c_name, number).map_err(lookup)?.ok_or_else(unknown)?;
        let user = Self { groups: groups(&login, user.gid), ..user };
        if user.is_reachable() { Ok(user) } else { Err(UserError::NotPermitted(name.to_owned())) }
    }

    /// Whether this process may become the user: it has the privilege, or is the user already.
    fn is_reachable(&self) -> bool {
        let privileged = rustix::process::geteuid().is_root();
        privileged || rustix::process::geteuid().as_raw() == self.uid
    }

    /// Whether a change is needed.
    fn is_this_process(&self) -> bool {
        rustix::process::geteuid().as_raw() == self.uid && !rustix::process::geteuid().is_root()
    }

    /// The login name of this process's user, where the database of users knows one.
    pub fn own_login() -> Option<String> {
        let (_, login) = entry(c"", Some(rustix::process::getuid().as_raw())).ok()??;
        login.into_string().ok().filter(|login| !login.is_empty())
    }

    /// Gives a file or directory to the user.
    pub fn own(&self, path: &Path) -> io::Result<()> {
        if self.is_this_process() {
            return Ok(());
        }
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: a C string and two numbers; does not follow a link at the end.
        let owned = unsafe { libc::lchown(path.as_ptr(), self.uid, self.gid) };
        if owned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Becomes the user for good: groups, then group, then user, while there is the privilege. Safe to call between
    /// clone and `execve`.
    pub(in crate::launch) fn become_in_child(&self) -> rustix::io::Result<()> {
        if self.is_this_process() {
            return Ok(());
        }
        let (uid, gid) = (self.uid, self.gid);
        // SAFETY: reads the groups of our own, so many as told; otherwise numbers only. Straight to the kernel, which
        // changes this thread, the only one of the child.
        unsafe {
            errno::check(libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()))?;
            errno::check(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
            errno::check(libc::syscall(libc::SYS_setresuid, uid, uid, uid))
        }
    }
}

/// A user without its groups, and its login name.
fn entry(name: &CStr, number: Option<libc::uid_t>) -> io::Result<Option<(User, CString)>> {
    // SAFETY: zeroes are a valid passwd.
    let mut found = unsafe { mem::zeroed::<libc::passwd>() };
    let mut room = vec![0; ENTRY_BYTES];
    let mut result = ptr::null_mut();
    let (into, at, bytes) = (&raw mut found, room.as_mut_ptr(), room.len());
    // SAFETY: the entry points into the room, of the length told, and both are ours.
    let errno: c_int = unsafe {
        match number {
            Some(uid) => libc::getpwuid_r(uid, into, at, bytes, &raw mut result),
            None => libc::getpwnam_r(name.as_ptr(), into, at, bytes, &raw mut result),
        }
    };
    match (errno, result.is_null()) {
        (0, false) => {
            // SAFETY: the database has filled in a C string, which lies in the room.
            let login = unsafe { CStr::from_ptr(found.pw_name) }.to_owned();
            Ok(Some((User { uid: found.pw_uid, gid: found.pw_gid, groups: Vec::new() }, login)))
        }
        (0 | libc::ENOENT, true) => Ok(None),
        (errno, _) => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn groups(login: &CStr, gid: libc::gid_t) -> Vec<libc::gid_t> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = c_int::try_from(groups.len()).unwrap_or(c_int::MAX);
        // SAFETY: writes at most so many groups as told to the vector of our own.
        let listed = unsafe { libc::getgrouplist(login.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let needed = usize::try_from(count).unwrap_or(0);
        if listed >= 0 || groups.len() >= MAX_GROUPS {
            groups.truncate(needed);
            return groups;
        }
        groups.resize((groups.len() * 2).max(needed).min(MAX_GROUPS), 0);
    }
}

/// Makes look-ups independent of the host's shared libraries, where the C library is inside the program. To be called
/// before there is a second thread and before the first look-up.
///
/// `/etc/nsswitch.conf` may name other services (LDAP, mDNS, systemd). A program with the C library inside would load
/// their shared libraries and the host's own C library beside its own, which works only where both are of the same
/// version and may crash elsewhere. So what that file says is not followed there: users and hosts are looked up in files and in
/// DNS, which such a program has inside.
pub fn settle_name_service() {
    #[cfg(target_feature = "crt-static")]
    for (database, services) in
        [(c"hosts", c"files dns"), (c"passwd", c"files"), (c"group", c"files"), (c"initgroups", c"files")]
    {
        unsafe extern "C" {
            /// Of glibc's `nss.h`; not in the crate `libc`.
            fn __nss_configure_lookup(
                database: *const std::ffi::c_char,
                services: *const std::ffi::c_char,
            ) -> std::ffi::c_int;
        }
        // SAFETY: two C strings, which the library copies what it needs of; there is one thread.
        let _ = unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}
