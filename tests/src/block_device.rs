//! A block device that loses power: all that was flushed is there afterwards, and of what was written since, any part.
//!
//! ```text
//! ext4 ─► loop device ─► one file of a file system in user space ─► this process
//! ```
//!
//! The loop driver passes each write on before it reports it as done, and each flush of the device as an fsync of the file:
//! so this process knows exactly what the device has promised, and can take a cut at any moment while the file system
//! above is in use. It speaks the kernel's FUSE protocol (`linux/fuse.h`) itself, for one file and the calls that a loop
//! device makes. It needs root, `/dev/fuse`, loop devices, and `mkfs.ext4`, `losetup`, `mount` and `umount`.

use std::{
    ffi::OsStr, fs::File, io::Read as _, io::Write as _, path::Path, path::PathBuf, process::Command,
    process::Output, process::Stdio, sync::Arc, sync::Condvar, sync::Mutex, sync::MutexGuard,
    sync::PoisonError, thread::JoinHandle, time::Duration, time::Instant,
};

use rand_chacha::ChaCha8Rng;
use rustix::io::Errno;
use speedup_core::value::seed::below;
use tempfile::TempDir;

/// What is written or not as a whole: a page of the file system, as disks with physical blocks of this size do it.
const BLOCK: usize = 4_096;
/// Most bytes of one write.
const MAX_WRITE: u32 = 1 << 20;
/// How long a device may have nothing to do before the power is cut nevertheless.
const IDLE: Duration = Duration::from_secs(2);
/// How often it is tried again to take a device down.
const GLANCE: Duration = Duration::from_millis(5);
/// The number of the root directory, and of the one file in it.
const NODES: [u64; 2] = [1, 2];
/// The name of the file.
const NAME: &str = "disk";

/// What a device with nothing but an empty file system holds.
///
/// # Errors
/// When the file system cannot be made.
pub fn empty_ext4(bytes: u64) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(NAME);
    let sized = File::create(&path).and_then(|file| file.set_len(bytes));
    sized.map_err(|error| error.to_string())?;
    // All is initialised now, so that nothing but those who use it writes later.
    let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    run("mkfs.ext4", ["-q".as_ref(), "-E".as_ref(), options.as_ref(), path.as_os_str()])?;
    std::fs::read(&path).map_err(|error| error.to_string())
}

/// A mounted file system on a device that can lose power. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct BlockDevice {
    state: Arc<Shared>,
    mounted_at: PathBuf,
    loop_device: Option<String>,
    server: Option<JoinHandle<()>>,
    folder: TempDir,
}

/// What the device holds, and what tells whoever waits that it stands still.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

/// What the device has promised, and what it has not.
#[derive(Debug, Default)]
struct State {
    /// All that was written before the last flush.
    durable: Vec<u8>,
    /// Written since, in order.
    pending: Vec<(usize, Vec<u8>)>,
    /// What a read gives.
    current: Vec<u8>,
    flushes: u64,
    writes: u64,
    /// Writes and flushes until the device stands still, the last one done and not answered.
    until_stop: Option<u64>,
    is_stopped: bool,
}

/// What has become of what was written since the last flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All of it is there.
    There,
    /// Nothing of it is there.
    Gone,
    /// What was written first is there, up to some write.
    Begun,
    /// Some writes are there as a whole.
    Scattered,
    /// Of each write some blocks are there.
    Torn,
}

impl Fate {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::There, Self::Gone, Self::Begun, Self::Scattered, Self::Torn];
}

/// A moment at which the power was cut.
#[derive(Debug)]
pub struct PowerCut {
    /// What the device holds when the power is back.
    pub image: Vec<u8>,
    /// How many writes were not flushed.
    pub pending: usize,
    /// How many flushes there were before.
    pub flushes: u64,
    /// How many writes there were before.
    pub writes: u64,
}

impl BlockDevice {
    /// Mounts what a device holds at a directory, as ext4.
    ///
    /// # Errors
    /// When this machine cannot, or what it holds is no file system.
    pub fn mount(image: Vec<u8>, at: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let fuse = File::options().read(true).write(true).open("/dev/fuse");
        let fuse = fuse.map_err(|error| format!("/dev/fuse: {error}"))?;
        // The command that mounts has it as its standard input.
        let given = fuse.try_clone().map_err(|error| error.to_string())?;
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "-o", options, "speedup-disk"]).arg(folder.path()).stdin(given);
        succeed("mount", mount.output())?;
        let length = image.len() as u64;
        let state = State { durable: image.clone(), current: image, ..State::default() };
        let state = Arc::new(Shared { state: Mutex::new(state), stopped: Condvar::new() });
        let served = Server { fuse, state: state.clone(), length };
        let server = std::thread::Builder::new().name("disk".to_owned()).spawn(move || served.run());
        let server = server.map_err(|error| error.to_string())?;
        let mut device =
            Self { state, mounted_at: at.to_owned(), loop_device: None, server: Some(server), folder };
        let file = device.folder.path().join(NAME);
        let attached = run("losetup", ["--find".as_ref(), "--show".as_ref(), file.as_os_str()])?;
        let name = attached.trim().to_owned();
        device.loop_device = Some(name.clone());
        run("mount", ["-t".as_ref(), "ext4".as_ref(), OsStr::new(&name), at.as_os_str()])?;
        Ok(device)
    }

    /// Cuts the power, for a copy, after so many more writes and flushes, or when there are none for a while. What `known`
    /// gives is from before the cut. The device itself stands still until [`BlockDevice::go_on`].
    pub fn cut<T>(
        &self,
        operations: u64,
        fate: Fate,
        random: &mut ChaCha8Rng,
        known: impl FnOnce() -> T,
    ) -> (PowerCut, T) {
        let mut state = self.state.lock();
        state.until_stop = Some(operations);
        let waited = self.state.stopped.wait_timeout_while(state, IDLE, |state| !state.is_stopped);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let known = known();
        (state.until_stop, state.is_stopped) = (None, true);
        (state.after_power_cut(fate, random), known)
    }

    /// Lets the device go on after a cut.
    pub fn go_on(&self) {
        self.state.lock().is_stopped = false;
        self.state.stopped.notify_all();
    }

    /// How many writes and flushes there were.
    pub fn operations(&self) -> u64 {
        let state = self.state.lock();
        state.writes + state.flushes
    }
}

impl State {
    fn after_power_cut(&self, fate: Fate, random: &mut ChaCha8Rng) -> PowerCut {
        let mut image = self.durable.clone();
        let begun = below(1 + self.pending.len() as u64, random) as usize;
        for (number, (offset, bytes)) in self.pending.iter().enumerate() {
            let whole = below(2, random) == 0;
            for (block, written) in bytes.chunks(BLOCK).enumerate() {
                let is_there = match fate {
                    Fate::There => true,
                    Fate::Gone => false,
                    Fate::Begun => number < begun,
                    Fate::Scattered => whole,
                    Fate::Torn => below(2, random) == 0,
                };
                if is_there {
                    let at = offset + block * BLOCK;
                    image[at..at + written.len()].copy_from_slice(written);
                }
            }
        }
        PowerCut { image, pending: self.pending.len(), flushes: self.flushes, writes: self.writes }
    }

    /// Counts a write or a flush that was done.
    fn done(&mut self) {
        if let Some(left) = &mut self.until_stop {
            *left = left.saturating_sub(1);
            self.is_stopped = *left == 0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as the device stands still.
    fn wait(&self, state: MutexGuard<'_, State>) {
        if state.is_stopped {
            self.stopped.notify_all();
            drop(self.stopped.wait_while(state, |state| state.is_stopped));
        }
    }
}

impl Drop for BlockDevice {
    fn drop(&mut self) {
        self.go_on();
        // What is not there any more need not be undone; a test that fails stands on other words than these.
        let _ = run("umount", ["-q".as_ref(), self.mounted_at.as_os_str()]);
        if let Some(name) = self.loop_device.take() {
            let _ = run("losetup", ["--detach".as_ref(), OsStr::new(&name)]);
        }
        // The kernel lets go of the loop device's file a moment after the command has returned.
        let deadline = Instant::now() + IDLE;
        let mut ended = run("umount", [self.folder.path().as_os_str()]);
        while ended.is_err() && Instant::now() < deadline {
            std::thread::park_timeout(GLANCE);
            ended = run("umount", [self.folder.path().as_os_str()]);
        }
        if let (Ok(_), Some(server)) = (ended, self.server.take()) {
            let _ = server.join();
        }
    }
}

fn run<const N: usize>(program: &str, arguments: [&OsStr; N]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    succeed(program, output)
}

fn succeed(program: &str, output: std::io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Answers the kernel, one request at a time: so writes and flushes are recorded in the order in which they were done.
struct Server {
    fuse: File,
    state: Arc<Shared>,
    length: u64,
}

/// The calls that a loop device and those who mount make (`enum fuse_opcode`).
mod call {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const BATCH_FORGET: u32 = 42;
}

/// Bytes before what a request says (`struct fuse_in_header`), and before what a write brings (`struct fuse_write_in`).
const HEADER: usize = 40;
const WRITE_HEADER: usize = 40;
/// The protocol that is spoken here, and that writes may have more than a page, in as many pages.
const VERSION: [u32; 2] = [7, 31];
const LARGE_WRITES: u32 = 1 << 5 | 1 << 22;
/// Writes come here at once, and not when the kernel's cache likes to.
const UNCACHED: u32 = 1;

impl Server {
    fn run(mut self) {
        let mut buffer = vec![0; MAX_WRITE as usize + BLOCK];
        loop {
            let read = match self.fuse.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => return,
                // A request that was taken back before it was read.
                Err(_) => continue,
            };
            let request = &buffer[..read];
            let (opcode, unique) = (u32_at(request, 4), u64_at(request, 8));
            if matches!(opcode, call::FORGET | call::BATCH_FORGET) {
                continue;
            }
            let (error, body) = match self.answer(opcode, u64_at(request, 16), &request[HEADER..]) {
                Ok(body) => (0, body),
                Err(errno) => (-errno.raw_os_error(), Vec::new()),
            };
            let mut answer = Vec::with_capacity(16 + body.len());
            answer.extend((16 + body.len() as u32).to_ne_bytes());
            answer.extend(error.to_ne_bytes());
            answer.extend(unique.to_ne_bytes());
            answer.extend(body);
            // Whoever asked may have gone.
            let _ = self.fuse.write(&answer);
        }
    }

    fn answer(&self, opcode: u32, node: u64, said: &[u8]) -> Result<Vec<u8>, Errno> {
        match opcode {
            call::INIT => Ok(init()),
            call::LOOKUP if said == [NAME.as_bytes(), b"\0"].concat() => Ok(self.entry()),
            call::LOOKUP => Err(Errno::NOENT),
            call::GETATTR => Ok([&for_ever()[..], &[0; 4], &self.attributes(node)].concat()),
            call::OPEN => Ok([&[0; 8][..], &UNCACHED.to_ne_bytes(), &[0; 4]].concat()),
            call::READ => {
                let (offset, size) = (u64_at(said, 8) as usize, u32_at(said, 16) as usize);
                let state = self.state.lock();
                let end = state.current.len().min(offset.saturating_add(size));
                Ok(state.current.get(offset..end).unwrap_or_default().to_vec())
            }
            call::WRITE => self.write(u64_at(said, 8) as usize, &said[WRITE_HEADER..]),
            call::FSYNC => {
                let mut state = self.state.lock();
                let State { durable, pending, .. } = &mut *state;
                for (offset, bytes) in pending.drain(..) {
                    durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
                state.flushes += 1;
                state.done();
                self.state.wait(state);
                Ok(Vec::new())
            }
            call::STATFS => Ok(vec![0; 80]),
            call::RELEASE | call::FLUSH => Ok(Vec::new()),
            _ => Err(Errno::NOSYS),
        }
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut state = self.state.lock();
        let place = state.current.get_mut(offset..offset + bytes.len()).ok_or(Errno::NOSPC)?;
        place.copy_from_slice(bytes);
        state.pending.push((offset, bytes.to_vec()));
        state.writes += 1;
        state.done();
        self.state.wait(state);
        Ok([(bytes.len() as u32).to_ne_bytes(), [0; 4]].concat())
    }

    /// `struct fuse_entry_out` of the file.
    fn entry(&self) -> Vec<u8> {
        let [validity, nanoseconds] = [[u64::from(u32::MAX); 2], [0; 2]];
        let head = [NODES[1], 0, validity[0], validity[1], nanoseconds[0]];
        [head.map(u64::to_ne_bytes).concat(), self.attributes(NODES[1])].concat()
    }

    /// `struct fuse_attr`.
    fn attributes(&self, node: u64) -> Vec<u8> {
        let (length, mode) = if node == NODES[1] { (self.length, 0o100_600) } else { (0, 0o040_700) };
        let numbers = [node, length, length / 512, 0, 0, 0].map(u64::to_ne_bytes).concat();
        let small: [u32; 10] = [0, 0, 0, mode, 1, 0, 0, 0, BLOCK as u32, 0];
        [numbers, small.map(u32::to_ne_bytes).concat()].concat()
    }
}

/// How long attributes hold: seconds, and nanoseconds.
fn for_ever() -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&u64::from(u32::MAX).to_ne_bytes());
    bytes
}

/// `struct fuse_init_out`.
fn init() -> Vec<u8> {
    let [major, minor] = VERSION;
    let (background, congested) = (64_u32, 48_u32);
    let pages = MAX_WRITE / BLOCK as u32;
    let words: [u32; 16] = [
        major,
        minor,
        MAX_WRITE,
        LARGE_WRITES,
        background | congested << 16,
        MAX_WRITE,
        1,
        pages,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    words.map(u32::to_ne_bytes).concat()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use speedup_core::value::seed::Seed;

    use super::*;

    /// What was synced outlasts every cut; what was not is there or not.
    #[test]
    fn what_was_synced_is_there_after_any_cut() {
        let image = empty_ext4(16 << 20);
        let at = tempfile::tempdir().unwrap();
        let mounted = image.and_then(|image| BlockDevice::mount(image, at.path()));
        let device = match mounted {
            Ok(device) => device,
            Err(why) => return crate::skip(&why),
        };
        let random = &mut Seed(1).child("cuts");
        let mut file = File::create_new(at.path().join("file")).unwrap();
        file.write_all(b"synced").unwrap();
        file.sync_all().unwrap();
        file.write_all(&[7; 1 << 20]).unwrap();
        assert!(device.operations() > 0);
        for fate in Fate::ALL {
            let (cut, ()) = device.cut(1, fate, random, || ());
            device.go_on();
            let after = tempfile::tempdir().unwrap();
            let again = BlockDevice::mount(cut.image, after.path()).unwrap();
            let read = std::fs::read(after.path().join("file")).unwrap();
            assert!(read.starts_with(b"synced"), "{fate:?}: {} bytes", read.len());
            let below = again.folder.path().to_owned();
            drop(again);
            let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
            for left in [after.path(), &below] {
                assert!(!mounts.contains(&left.display().to_string()), "nothing stays mounted: {mounts}");
            }
        }
    }

    /// A device that forgot what it had promised is noticed: the proof stands on it.
    #[test]
    fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
        let pending = vec![(0, vec![1; 2 * BLOCK]), (2 * BLOCK, vec![2; BLOCK])];
        let state = State { durable: vec![0; 4 * BLOCK], pending, ..State::default() };
        let random = &mut Seed(1).child("cuts");
        let mut seen = |fate| {
            let images = (0..64).map(|_| state.after_power_cut(fate, random).image);
            let mut images: Vec<Vec<u8>> =
                images.map(|image| image.chunks(BLOCK).map(|block| block[0]).collect()).collect();
            images.sort();
            images.dedup();
            images
        };
        assert_eq!(seen(Fate::There), [[1, 1, 2, 0]]);
        assert_eq!(seen(Fate::Gone), [[0, 0, 0, 0]]);
        assert_eq!(seen(Fate::Begun), [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 2, 0]]);
        assert_eq!(seen(Fate::Scattered), [[0, 0, 0, 0], [0, 0, 2, 0], [1, 1, 0, 0], [1, 1, 2, 0]]);
        assert_eq!(seen(Fate::Torn).len(), 8);
    }
}
