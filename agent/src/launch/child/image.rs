//! What `execve` is handed: the program's path, its arguments and its environment, ready as C strings.

use std::{
    ffi::CStr, ffi::CString, ffi::OsStr, ffi::OsString, ffi::c_char, io, iter, os::unix::ffi::OsStrExt,
    os::unix::ffi::OsStringExt, path::Path, path::PathBuf, ptr,
};

use rustix::{fs::Access, fs::AtFlags, fs::CWD, io::Errno};

use crate::launch::{command::LaunchCommand, failure::LaunchError};

/// Where programs are looked up when the environment has no `PATH`, as `execvp` does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Owns the strings; the vectors of pointers point into them and end in null.
#[derive(Debug)]
pub(in crate::launch) struct Image {
    program: CString,
    directory: CString,
    /// The program's path, then its arguments.
    argv: Strings,
    env: Strings,
}

impl Image {
    pub(in crate::launch) fn prepare(command: &LaunchCommand) -> Result<Self, LaunchError> {
        let name = command.argv.first().filter(|name| !name.is_empty()).ok_or(LaunchError::Empty)?;
        let argv = command.argv.iter().map(|argument| c_string(argument)).collect::<Result<Vec<_>, _>>()?;
        let env = command.env.iter().map(variable).collect::<Result<Vec<_>, _>>()?;
        let directory = c_string(command.directory.as_os_str())?;
        let program = c_string(resolve(name, command)?.as_os_str())?;
        let argv = iter::once(program.clone()).chain(argv).collect();
        Ok(Self { program, directory, argv: Strings::new(argv), env: Strings::new(env) })
    }

    pub(in crate::launch) fn program(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.program.as_bytes()))
    }

    pub(in crate::launch) fn program_c(&self) -> &CStr {
        &self.program
    }

    pub(in crate::launch) fn directory_c(&self) -> &CStr {
        &self.directory
    }

    /// Ends in null, as `execve` wants it.
    pub(in crate::launch) fn argv(&self) -> &[*const c_char] {
        &self.argv.pointers[1..]
    }

    /// The program's path, then its arguments. Ends in null.
    pub(in crate::launch) fn argv_after_program(&self) -> &[*const c_char] {
        &self.argv.pointers
    }

    /// Ends in null, as `execve` wants it.
    pub(in crate::launch) fn env(&self) -> &[*const c_char] {
        &self.env.pointers
    }
}

/// C strings and the null-terminated vector of pointers to them.
#[derive(Debug)]
struct Strings {
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

impl Strings {
    fn new(owned: Vec<CString>) -> Self {
        // A CString's bytes are on the heap: moving the vector of them leaves the pointers right.
        let pointers = owned.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Self { pointers, _owned: owned }
    }
}

/// The file that a command would execute now, as this process sees it.
pub(crate) fn program_of(command: &LaunchCommand) -> Result<PathBuf, LaunchError> {
    let name = command.argv.first().filter(|name| !name.is_empty()).ok_or(LaunchError::Empty)?;
    Ok(command.directory.join(resolve(name, command)?))
}

/// The program's path as seen from the working directory.
fn resolve(name: &OsStr, command: &LaunchCommand) -> Result<PathBuf, LaunchError> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = command.env.iter().find(|(key, _)| key == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value.as_os_str());
    let mut refused = None;
    for entry in std::env::split_paths(path) {
        // A bare name would be looked up by nobody: an empty entry means the working directory.
        let entry = if entry.as_os_str().is_empty() { PathBuf::from(".") } else { entry };
        let candidate = entry.join(name);
        match executable(&command.directory.join(&candidate)) {
            Ok(()) => return Ok(candidate),
            Err(Errno::ACCESS) => refused = refused.or(Some(candidate)),
            Err(_) => {}
        }
    }
    Err(match refused {
        Some(program) => LaunchError::NotExecutable { program, source: io::Error::from(Errno::ACCESS) },
        None => LaunchError::NotFound { program: PathBuf::from(name) },
    })
}

fn executable(path: &Path) -> Result<(), Errno> {
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS)?;
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::stat(path)?.st_mode);
    if kind.is_file() { Ok(()) } else { Err(Errno::ACCESS) }
}

fn c_string(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Unpassable {
        what: text.to_string_lossy().into_owned(),
        reason: "it has a NUL byte",
    })
}

fn variable((key, value): &(OsString, OsString)) -> Result<CString, LaunchError> {
    if key.is_empty() || key.as_bytes().contains(&b'=') {
        let what = format!("the variable {key:?}");
        return Err(LaunchError::Unpassable { what, reason: "a name is not empty and has no =" });
    }
    let mut entry = key.clone().into_vec();
    entry.push(b'=');
    entry.extend_from_slice(value.as_bytes());
    c_string(OsStr::from_bytes(&entry))
}
