//! Software beside the kernel: the release of the system, its C library, and this program.

use memchr::memmem;

use super::{facts::Facts, system::Reading, system::System};

/// Where distributions keep the C library of GNU; the first that is there counts.
const GNU_LIBRARIES: [&str; 10] = [
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "usr/lib/aarch64-linux-gnu/libc.so.6",
    "usr/lib/arm-linux-gnueabihf/libc.so.6",
    "usr/lib/riscv64-linux-gnu/libc.so.6",
    "usr/lib/powerpc64le-linux-gnu/libc.so.6",
    "lib/x86_64-linux-gnu/libc.so.6",
    "lib/aarch64-linux-gnu/libc.so.6",
    "lib/arm-linux-gnueabihf/libc.so.6",
    "lib64/libc.so.6",
    "lib/libc.so.6",
];
/// With what the C library of GNU begins to say which it is.
const GNU: &[u8] = b"GNU C Library ";
const MAX_SENTENCE: usize = 256;
/// The other C library in wide use, which does not say it: its file's hash does.
const MUSL: [&str; 4] = [
    "lib/ld-musl-x86_64.so.1",
    "lib/ld-musl-aarch64.so.1",
    "lib/ld-musl-armhf.so.1",
    "lib/ld-musl-riscv64.so.1",
];
/// Where the release of the system is told, the first before the second.
const RELEASE: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];

/// The fact that is the program.
pub(super) const PROGRAM: &str = "speedup.binary";

pub(super) fn state(system: &System, facts: &mut Facts) {
    let release = first(&RELEASE, |file| system.lines(file));
    let told = |key: &str| release.clone().map(|text| text.and_then(|text| variable(&text, key)));
    facts.state("os.id", told("ID"));
    facts.state("os.version", told("VERSION_ID"));
    facts.state("os.libc", libc(system));
}

/// The program that this process is.
pub(super) fn state_program(system: &System, facts: &mut Facts) {
    let hash = system.hash("proc/self/exe").map(|hash| hash.map(|hash| format!("BLAKE3 {hash}")));
    facts.state(PROGRAM, hash);
}

fn libc(system: &System) -> Reading {
    let gnu = |file: &str| {
        let Some(bytes) = system.shared_object(file)? else { return Ok(None) };
        sentence(&bytes).map(Some).ok_or_else(|| format!("/{file}: does not say which version it is"))
    };
    if let Some(sentence) = first(&GNU_LIBRARIES, gnu)? {
        return Ok(Some(sentence));
    }
    first(&MUSL, |file| Ok(system.hash(file)?.map(|hash| format!("musl, BLAKE3 {hash}"))))
}

/// What the first file says that is there.
fn first(files: &[&str], read: impl Fn(&str) -> Reading) -> Reading {
    files.iter().map(|file| read(file)).find(|read| !matches!(read, Ok(None))).unwrap_or(Ok(None))
}

/// `GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36`
fn sentence(library: &[u8]) -> Option<String> {
    // The words stand elsewhere too; the sentence is the one with a version.
    for at in memmem::find_iter(library, GNU) {
        let rest = &library[at..];
        let end = rest.iter().take(MAX_SENTENCE).position(|byte| !(b' '..=b'~').contains(byte));
        let text = String::from_utf8_lossy(&rest[..end.unwrap_or(MAX_SENTENCE.min(rest.len()))]);
        if text.contains("version ") {
            return Some(text.trim_end_matches('.').to_owned());
        }
    }
    None
}

/// The value of a line `KEY=value` or `KEY="value"`.
fn variable(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
    let value = value.trim().trim_matches(['"', '\'']).replace(|c: char| c.is_control(), "\u{fffd}");
    (!value.is_empty()).then_some(value)
}
