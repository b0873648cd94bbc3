//! Readings of the host. The files are opened once and read from their beginning each time, which costs a fraction of
//! opening them; what a host does not have is found out once. Where one run follows another, what the host was like after the first is
//! what it is like before the second: only what is judged between two readings is read again.

use std::{
    fs, fs::File, os::unix::fs::FileExt as _, path::Path, path::PathBuf, time::Duration, time::Instant,
};

use speedup_core::run::disturbance::TICK_NS;
use speedup_core::run::reading::{CpuTime, Frequency, Load, Pressure, Reading, Throttled};
use speedup_core::run::record::RestReading;
use speedup_core::value::cpu_set::CpuSet;
use speedup_core::value::time::Span;

use super::{file::line, topology::Topology};

/// Most CPUs whose frequency is read, evenly spread over those of the run: before Linux 5.18 the kernel waits 10 ms for
/// that of an idle one.
const MAX_FREQUENCIES: usize = 8;
/// Most CPUs whose throttling is read: each is a file.
const MAX_THROTTLES: usize = 64;
/// Most sensors of temperature: of each package one tells enough, and some take a millisecond.
const MAX_SENSORS: usize = 8;
/// How long the state of a host serves once it was read, where nothing was executed: from a report to the next run of an agent whose
/// coordinator is near.
const RECENT: Duration = Duration::from_millis(2);
/// Drivers that measure the processor itself.
const SENSOR_DRIVERS: [&str; 5] = ["coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors"];

/// The instruments for the CPUs of a run.
#[derive(Debug)]
pub(super) struct Instruments {
    cpus: CpuSet,
    load: Gauge,
    pressure_cpu: Gauge,
    pressure_memory: Gauge,
    pressure_io: Gauge,
    cpu_time: Gauge,
    memory: Gauge,
    frequencies: Vec<Gauge>,
    /// The highest frequencies that these CPUs offer.
    highest: Vec<Gauge>,
    temperatures: Vec<Gauge>,
    core_throttles: Vec<Gauge>,
    package_throttles: Vec<Gauge>,
    /// Where a file's content is put.
    room: Vec<u8>,
    /// What was read last, and when.
    last: Option<(Instant, State)>,
}

/// What a host is like at a moment, and is told with a run. It is not judged: it says nothing of what happened in between.
#[derive(Clone, Copy, Debug)]
struct State {
    load: Option<Load>,
    runnable: Option<u32>,
    temperature_mc: Option<i32>,
    available_bytes: Option<u64>,
    cached_bytes: Option<u64>,
}

/// A file that is read again and again, if it is there.
#[derive(Debug)]
struct Gauge(Option<File>);

impl Instruments {
    /// Opens them in the tree of files at `root`.
    pub(super) fn open(root: &Path, topology: &Topology, cpus: &CpuSet) -> Self {
        let of_cpu = |cpu: u32, file: &str| root.join(format!("sys/devices/system/cpu/cpu{cpu}/{file}"));
        let of_some = |most: usize, file| {
            let step = cpus.len().div_ceil(most).max(1);
            let gauges = cpus.iter().step_by(step).map(|cpu| Gauge::open(&of_cpu(cpu, file)));
            gauges.filter(Gauge::is_there).collect::<Vec<_>>()
        };
        let mut packages: Vec<(u64, u32)> =
            cpus.iter().filter_map(|cpu| Some((topology.cpu(cpu)?.package, cpu))).collect();
        packages.sort_unstable();
        packages.dedup_by_key(|(package, _)| *package);
        let package =
            |(_, cpu): &(u64, u32)| Gauge::open(&of_cpu(*cpu, "thermal_throttle/package_throttle_count"));
        Self {
            cpus: cpus.clone(),
            load: Gauge::open(&root.join("proc/loadavg")),
            pressure_cpu: Gauge::open(&root.join("proc/pressure/cpu")),
            pressure_memory: Gauge::open(&root.join("proc/pressure/memory")),
            pressure_io: Gauge::open(&root.join("proc/pressure/io")),
            cpu_time: Gauge::open(&root.join("proc/stat")),
            memory: Gauge::open(&root.join("proc/meminfo")),
            frequencies: of_some(MAX_FREQUENCIES, "cpufreq/scaling_cur_freq"),
            highest: of_some(MAX_FREQUENCIES, "cpufreq/cpuinfo_max_freq"),
            temperatures: sensors(root).iter().map(|path| Gauge::open(path)).collect(),
            core_throttles: of_some(MAX_THROTTLES, "thermal_throttle/core_throttle_count"),
            package_throttles: packages.iter().map(package).filter(Gauge::is_there).collect(),
            room: vec![0; 4_096],
            last: None,
        }
    }

    /// The CPUs that they are for.
    pub(super) fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// How far the host has come to rest; that it waited is the reader's to say.
    pub(super) fn rest(&mut self) -> RestReading {
        let reading = self.read();
        let highest: Vec<u64> =
            self.highest.iter().filter_map(|gauge| gauge.number(&mut self.room)).collect();
        let mean = |frequency: Frequency| frequency.mean_khz;
        let share = reading.frequency.map(mean).zip(frequency(&highest).map(mean));
        RestReading {
            waited: Span(0),
            load_percent: reading.load.map(|load| load.one_percent),
            temperature_mc: reading.temperature_mc,
            frequency_percent: share
                .and_then(|(now, highest)| now.saturating_mul(100).checked_div(highest)?.try_into().ok()),
        }
    }

    pub(super) fn read(&mut self) -> Reading {
        let state = self.state();
        self.last = Some((Instant::now(), state));
        self.with(state)
    }

    /// One reading, with the state that was read last if that was just now.
    pub(super) fn read_on(&mut self) -> Reading {
        match self.last.filter(|(at, _)| at.elapsed() <= RECENT) {
            Some((_, state)) => self.with(state),
            None => self.read(),
        }
    }

    /// Something is done to the host: what was read of it tells nothing any more.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    fn state(&mut self) -> State {
        let room = &mut self.room;
        let (load, runnable) = self.load.text(room).map_or((None, None), load);
        let temperatures = self.temperatures.iter().filter_map(|gauge| gauge.number::<i32>(room));
        let temperature_mc = temperatures.max();
        let (available_bytes, cached_bytes) = self.memory.text(room).map_or((None, None), memory);
        State { load, runnable, temperature_mc, available_bytes, cached_bytes }
    }

    fn with(&mut self, state: State) -> Reading {
        let room = &mut self.room;
        let State { load, runnable, temperature_mc, available_bytes, cached_bytes } = state;
        let frequencies: Vec<u64> = self.frequencies.iter().filter_map(|gauge| gauge.number(room)).collect();
        let throttles = |gauges: &[Gauge], room: &mut Vec<u8>| {
            gauges.iter().filter_map(|gauge| gauge.number::<u64>(room)).fold(0, u64::saturating_add)
        };
        let counts_throttles = !self.core_throttles.is_empty() || !self.package_throttles.is_empty();
        let throttled = counts_throttles.then(|| Throttled {
            core: throttles(&self.core_throttles, room),
            package: throttles(&self.package_throttles, room),
        });
        Reading {
            load,
            runnable,
            pressure_cpu: self.pressure_cpu.text(room).and_then(pressure),
            pressure_memory: self.pressure_memory.text(room).and_then(pressure),
            pressure_io: self.pressure_io.text(room).and_then(pressure),
            // Last, so that the least of the reading itself is counted before the run and the most after it.
            cpu_time: self.cpu_time.text(room).and_then(|text| cpu_time(text, &self.cpus)),
            frequency: frequency(&frequencies),
            temperature_mc,
            throttled,
            available_bytes,
            cached_bytes,
        }
    }
}

impl Gauge {
    fn open(path: &Path) -> Self {
        let file = File::open(path).ok();
        // Some files are there and cannot be read: no driver stands behind them.
        Self(file.filter(|file| file.read_at(&mut [0], 0).is_ok()))
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// What the file says now. Files of the kernel are made anew at each read from the beginning, and give all that there is room for.
    fn text<'r>(&self, room: &'r mut Vec<u8>) -> Option<&'r str> {
        let file = self.0.as_ref()?;
        let mut length = 0;
        loop {
            if length == room.len() {
                room.resize(length * 2, 0);
            }
            match file.read_at(&mut room[length..], length as u64) {
                Ok(read) => {
                    length += read;
                    if length < room.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        std::str::from_utf8(&room[..length]).ok()
    }

    fn number<N: std::str::FromStr>(&self, room: &mut Vec<u8>) -> Option<N> {
        self.text(room)?.trim().parse().ok()
    }
}

/// `1.37 0.80 0.45 2/345 6789`.
fn load(text: &str) -> (Option<Load>, Option<u32>) {
    let mut words = text.split_ascii_whitespace();
    let mut average = || hundredths(words.next()?);
    let averages = average().zip(average()).zip(average());
    let load = averages.map(|((one_percent, five_percent), fifteen_percent)| Load {
        one_percent,
        five_percent,
        fifteen_percent,
    });
    (load, words.next().and_then(|tasks| tasks.split_once('/')?.0.parse().ok()))
}

/// A number with two decimals, in hundredths.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.')?;
    let (whole, decimals): (u32, u32) = (whole.parse().ok()?, decimals.get(..2)?.parse().ok()?);
    whole.checked_mul(100)?.checked_add(decimals)
}

/// `some avg10=1.23 avg60=0.50 avg300=0.10 total=123456`.
fn pressure(text: &str) -> Option<Pressure> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let field = |name: &str| some.split_ascii_whitespace().find_map(|word| word.strip_prefix(name));
    Some(Pressure { recent: hundredths(field("avg10=")?)?, total_us: field("total=")?.parse().ok()? })
}

/// The lines `cpuN user nice system idle iowait irq softirq steal …` of the CPUs, in ticks. Time of guests is within user
/// and nice.
fn cpu_time(text: &str, cpus: &CpuSet) -> Option<CpuTime> {
    let mut sum = CpuTime { busy_ns: 0, iowait_ns: 0, stolen_ns: 0 };
    let mut found = 0;
    for line in text.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if !number.is_some_and(|number| cpus.contains(number)) {
            continue;
        }
        let mut ticks = [0_u64; 8];
        for tick in &mut ticks {
            *tick = words.next()?.parse().ok()?;
        }
        let [user, nice, system, _idle, iowait, irq, softirq, steal] = ticks;
        let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
        let add = |sum: &mut u64, ticks: u64| *sum = sum.saturating_add(ticks.saturating_mul(TICK_NS));
        add(&mut sum.busy_ns, busy);
        add(&mut sum.iowait_ns, iowait);
        add(&mut sum.stolen_ns, steal);
        found += 1;
    }
    (found == cpus.len() && found > 0).then_some(sum)
}

/// Available memory, and that of files, in bytes.
fn memory(text: &str) -> (Option<u64>, Option<u64>) {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
    };
    (field("MemAvailable:"), field("Cached:"))
}

fn frequency(frequencies: &[u64]) -> Option<Frequency> {
    let sum = frequencies.iter().copied().fold(0, u64::saturating_add);
    Some(Frequency {
        min_khz: *frequencies.iter().min()?,
        mean_khz: sum / frequencies.len() as u64,
        max_khz: *frequencies.iter().max()?,
    })
}

/// The sensors of the processor: those of its own driver or, where it has none, the kernel's thermal zones.
fn sensors(root: &Path) -> Vec<PathBuf> {
    let below = |directory: &str, is_one: fn(&str) -> bool| {
        let entries = fs::read_dir(root.join(directory)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_one))
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        paths
    };
    let of_driver = below("sys/class/hwmon", |name| name.starts_with("hwmon")).into_iter();
    let of_driver = of_driver
        .filter(|at| line(&at.join("name")).is_some_and(|name| SENSOR_DRIVERS.contains(&name.as_str())))
        .map(|at| at.join("temp1_input"))
        .filter(|path| path.exists());
    let mut found: Vec<PathBuf> = of_driver.collect();
    if found.is_empty() {
        let zones = below("sys/class/thermal", |name| name.starts_with("thermal_zone")).into_iter();
        let of_processor = |kind: &str| kind == "x86_pkg_temp" || kind.starts_with("cpu");
        found = zones
            .filter(|at| line(&at.join("type")).is_some_and(|kind| of_processor(&kind)))
            .map(|at| at.join("temp"))
            .collect();
    }
    found.truncate(MAX_SENSORS);
    found
}

#[cfg(test)]
mod tests;
