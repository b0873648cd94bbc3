//! A siege: many connections of one address that say nothing, or the beginning of something, and are made anew as soon as they
//! are ended.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::pool::eventually;

/// How long a connection may take to be made: the kernel's queue may be full of others.
const CONNECT: Duration = Duration::from_secs(1);
/// How often all of them are looked at.
const LOOK: Duration = Duration::from_millis(1);

/// A siege until it is dropped.
#[derive(Debug)]
pub struct Siege {
    is_over: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
    besieging: Option<JoinHandle<()>>,
}

impl Siege {
    /// This many connections to an address, each of which says this and no more. Begins when all of them have been made.
    pub fn of(address: &str, connections: usize, says: &'static [u8]) -> Self {
        raise_open_files();
        let address: SocketAddr = address.parse().expect("an address");
        let (is_over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let besieging = std::thread::spawn({
            let (is_over, made) = (is_over.clone(), made.clone());
            move || besiege(address, connections, says, &is_over, &made)
        });
        let siege = Self { is_over, made, besieging: Some(besieging) };
        eventually("all connections were made", || (siege.made() >= connections).then_some(()));
        siege
    }

    /// How many connections were made so far, those after others were ended included.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
}

impl Drop for Siege {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(besieging) = self.besieging.take() {
            // It has panicked if this fails, which was shown.
            let _ = besieging.join();
        }
    }
}

fn besiege(address: SocketAddr, most: usize, says: &[u8], is_over: &AtomicBool, made: &AtomicUsize) {
    let mut streams: Vec<TcpStream> = Vec::with_capacity(most);
    while !is_over.load(Ordering::Relaxed) {
        streams.retain_mut(is_open);
        while streams.len() < most && !is_over.load(Ordering::Relaxed) {
            // Nobody listens while a coordinator starts anew.
            let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT) else { break };
            // It may have been ended already.
            if stream.set_nonblocking(true).is_ok() && stream.write_all(says).is_ok() {
                streams.push(stream);
            }
            made.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(LOOK);
    }
}

fn is_open(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// As many open files as this process may have: tests run in one.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("more open files");
}
