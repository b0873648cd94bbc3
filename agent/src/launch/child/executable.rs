//! Programs of our own in memory: instructions that the assembler placed in this binary, as an executable file without a
//! path. The host need not have a compiler.

use std::{ffi::CStr, io, os::fd::AsRawFd as _, os::fd::OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags};

/// Where the image lies in the program's memory: the usual place of a program that is not relocated.
const BASE: u64 = 0x40_0000;
/// Sizes of the two headers (System V ABI, "ELF Header" and "Program Header", 64 bits).
const HEADERS: (u16, u16) = (64, 56);
/// This architecture (System V ABI, `e_machine`): `EM_X86_64`, `EM_AARCH64`, or none, of which there are no instructions.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else {
    0
};

/// A file in memory that executes these instructions, named so where processes are listed.
pub(crate) fn executable_in_memory(name: &CStr, code: &[u8]) -> io::Result<OwnedFd> {
    let written = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?;
    let image = elf(code);
    let mut rest = image.as_slice();
    while !rest.is_empty() {
        let count = rustix::io::write(&written, rest)?;
        rest = &rest[count..];
    }
    // A file that is open for writing cannot be executed.
    let own = format!("/proc/self/fd/{}", written.as_raw_fd());
    Ok(rustix::fs::open(own, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// An executable of one segment: headers, then code.
fn elf(code: &[u8]) -> Vec<u8> {
    let entry = u64::from(HEADERS.0) + u64::from(HEADERS.1);
    let size = entry + code.len() as u64;
    let mut image = Vec::with_capacity(size as usize);
    image.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let (kind, version) = (2_u16, 1_u32);
    image.extend([kind.to_le_bytes(), MACHINE.to_le_bytes()].concat());
    image.extend(version.to_le_bytes());
    image.extend([BASE + entry, u64::from(HEADERS.0), 0].map(u64::to_le_bytes).concat());
    image.extend(0_u32.to_le_bytes());
    image.extend([HEADERS.0, HEADERS.1, 1, 0, 0, 0].map(u16::to_le_bytes).concat());
    let (load, readable_and_executable, page) = (1_u32, 5_u32, 0x1_0000_u64);
    image.extend([load, readable_and_executable].map(u32::to_le_bytes).concat());
    image.extend([0, BASE, BASE, size, size, page].map(u64::to_le_bytes).concat());
    image.extend(code);
    image
}
