//! What each step of a run costs at least on this machine, by the system calls alone.

use std::{fs::File, io::Write as _, os::unix::fs::FileExt as _, path::Path, time::Duration, time::Instant};

use rustix::time::{ClockId, clock_gettime};
use speedup_agent::selftest::Floor;
use speedup_tests::pool::Pool;
use tonic_health::{pb::HealthCheckRequest, pb::health_client::HealthClient};

const TIMES: usize = 300;
/// Bytes of the records of a run in the journal, in round numbers.
const RECORD: [u8; 400] = [0x5a; 400];

/// Medians, in microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Floors {
    /// `vfork`, `execve` of `/bin/true`, `wait4`.
    pub(crate) process: f64,
    /// A record appended to a file, and `fdatasync`.
    pub(crate) sync: f64,
    /// A record written where the file has zeros, and `fdatasync`.
    pub(crate) sync_in_place: f64,
    /// A thread that sleeps and is woken: its processor time.
    pub(crate) wake: f64,
    /// A question to the coordinator and its answer, by gRPC over mutual TLS.
    pub(crate) round_trip: f64,
}

/// Takes them, on the disk of `directory` and at the coordinator of `pool`.
pub(crate) fn floors(directory: &Path, pool: &Pool) -> Floors {
    let floor = Floor::new(Path::new("/bin/true")).expect("a path");
    let mut file = File::create(directory.join("floor")).expect("a file");
    let zeros = File::create(directory.join("zeros")).expect("a file");
    zeros.write_all_at(&[0; RECORD.len() * TIMES], 0).expect("it is written");
    zeros.sync_all().expect("it is synced");
    let mut offsets = (0..).step_by(RECORD.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut health = HealthClient::new(runtime.block_on(pool.channel(None)));
    let mut ask = || runtime.block_on(health.check(HealthCheckRequest::default())).expect("an answer");
    Floors {
        process: median_us(|| _ = floor.execute().expect("it is executed")),
        sync: median_us(|| {
            file.write_all(&RECORD).expect("it is written");
            file.sync_data().expect("it is synced");
        }),
        sync_in_place: median_us(|| {
            zeros.write_all_at(&RECORD, offsets.next().expect("a place")).expect("it is written");
            zeros.sync_data().expect("it is synced");
        }),
        wake: wake_us(),
        round_trip: median_us(|| drop(ask())),
    }
}

/// The mean processor time, since a single one is too short for its clock on some machines.
fn wake_us() -> f64 {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
    let before = used();
    (0..TIMES).for_each(|_| std::thread::sleep(Duration::from_micros(500)));
    (used() - before).as_secs_f64() * 1e6 / TIMES as f64
}

fn median_us(mut step: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..TIMES)
        .map(|_| {
            let begin = Instant::now();
            step();
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[TIMES / 2]
}
