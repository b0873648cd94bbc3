//! Readings of other machines, and of this one.

use super::*;
use crate::surroundings::tree::Tree;

fn read(tree: &Tree, cpus: &str) -> Reading {
    let topology = Topology::read(tree.root());
    Instruments::open(tree.root(), &topology, &cpus.parse().unwrap()).read()
}

fn full() -> Tree {
    let stat: String = (0..16).map(|cpu| format!("cpu{cpu} 10 2 3 500 7 1 4 {cpu} 0 0\n")).collect();
    Tree::two_packages()
        .with("proc/loadavg", "1.37 0.80 12.05 2/345 6789\n")
        .with(
            "proc/pressure/cpu",
            "some avg10=1.23 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.00 total=9\n",
        )
        .with("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n")
        .with("proc/stat", format!("cpu 1 1 1 1 1 1 1 1 1 1\n{stat}intr 12345 0 0\nctxt 99\n"))
        .with(
            "proc/meminfo",
            "MemTotal: 1000 kB\nMemAvailable:  600 kB\nCached:   200 kB\nSwapCached: 5 kB\n",
        )
        .with("sys/class/hwmon/hwmon0/name", "nvme\n")
        .with("sys/class/hwmon/hwmon0/temp1_input", "90000\n")
        .with("sys/class/hwmon/hwmon1/name", "coretemp\n")
        .with("sys/class/hwmon/hwmon1/temp1_input", "45000\n")
        .with("sys/class/hwmon/hwmon2/name", "coretemp\n")
        .with("sys/class/hwmon/hwmon2/temp1_input", "47000\n")
}

#[test]
fn everything_that_a_host_tells_is_read() {
    let reading = read(&full(), "3-4");
    assert_eq!(reading.load, Some(Load { one_percent: 137, five_percent: 80, fifteen_percent: 1_205 }));
    assert_eq!(reading.runnable, Some(2));
    assert_eq!(reading.pressure_cpu, Some(Pressure { recent: 123, total_us: 123_456 }));
    assert_eq!(reading.pressure_memory, Some(Pressure { recent: 0, total_us: 7 }));
    assert_eq!(reading.pressure_io, None, "this kernel does not tell");
    let expected = CpuTime { busy_ns: 2 * 20 * TICK_NS, iowait_ns: 2 * 7 * TICK_NS, stolen_ns: 7 * TICK_NS };
    assert_eq!(reading.cpu_time, Some(expected));
    let expected = Frequency { min_khz: 2_003_000, mean_khz: 2_003_500, max_khz: 2_004_000 };
    assert_eq!(reading.frequency, Some(expected));
    assert_eq!(reading.temperature_mc, Some(47_000), "the warmest of the processor, not the disk's");
    assert_eq!(reading.throttled, Some(Throttled { core: 7, package: 201 }), "each package once");
    assert_eq!((reading.available_bytes, reading.cached_bytes), (Some(600 << 10), Some(200 << 10)));
}

#[test]
fn rest_is_read_of_the_cpus_of_the_run() {
    let rest = |tree: &Tree, cpus: &str| {
        let topology = Topology::read(tree.root());
        Instruments::open(tree.root(), &topology, &cpus.parse().unwrap()).rest()
    };
    let tree = (0..16).fold(full(), |tree, cpu| {
        let highest = if cpu < 8 { "4000000\n" } else { "2000000\n" };
        tree.with(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"), highest)
    });
    let expected = RestReading {
        waited: Span(0),
        load_percent: Some(137),
        temperature_mc: Some(47_000),
        frequency_percent: Some(50),
    };
    assert_eq!(rest(&tree, "3-4"), expected);
    assert_eq!(rest(&tree, "3-4,11-12").frequency_percent, Some(66), "2 004 to 2 012 of 2 000 and 4 000 MHz");
    assert_eq!(rest(&full(), "3-4").frequency_percent, None, "nothing says what the CPUs offer");
    let zero = full().with("sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "0\n");
    assert_eq!(rest(&zero, "3").frequency_percent, None);
    assert_eq!(rest(&Tree::new(), "0-3"), RestReading::default());
}

#[test]
fn what_a_host_does_not_tell_is_absent() {
    assert_eq!(read(&Tree::new(), "0-3"), Reading::default());
    let odd = Tree::new()
        .with("proc/loadavg", "much\n")
        .with("proc/pressure/cpu", "some avg10=nan total=x\n")
        .with("proc/stat", "cpu0 1 2 3\n")
        .with("proc/meminfo", "MemAvailable: 99999999999999999999 kB\nCached: 1 MB\n")
        .with("sys/class/thermal/thermal_zone0/type", "battery\n")
        .with("sys/class/thermal/thermal_zone0/temp", "30000\n");
    assert_eq!(read(&odd, "0"), Reading::default());
}

#[test]
fn frequencies_of_many_cpus_are_those_of_some_evenly_spread() {
    // CPUs 0, 2, … 14, of which CPU n has 2 GHz and n MHz.
    let expected = Frequency { min_khz: 2_000_000, mean_khz: 2_007_000, max_khz: 2_014_000 };
    assert_eq!(read(&full(), "0-15").frequency, Some(expected));
}

#[test]
fn the_time_of_cpus_is_known_for_all_of_them_or_not_at_all() {
    assert!(read(&full(), "0-15").cpu_time.is_some());
    assert_eq!(read(&full(), "0-16").cpu_time, None);
    let most = format!("cpu0 {0} {0} {0} {0} {0} {0} {0} {0}\n", u64::MAX);
    let read = read(&Tree::new().with("proc/stat", most), "0").cpu_time;
    assert_eq!(read, Some(CpuTime { busy_ns: u64::MAX, iowait_ns: u64::MAX, stolen_ns: u64::MAX }));
}

#[test]
fn boards_have_thermal_zones() {
    let tree = Tree::big_little()
        .with("sys/class/thermal/thermal_zone0/type", "battery\n")
        .with("sys/class/thermal/thermal_zone0/temp", "60000\n")
        .with("sys/class/thermal/thermal_zone1/type", "cpu-big-thermal\n")
        .with("sys/class/thermal/thermal_zone1/temp", "-5000\n");
    assert_eq!(read(&tree, "0-7").temperature_mc, Some(-5_000));
}

#[test]
fn readings_follow_the_files() {
    let tree = full();
    let topology = Topology::read(tree.root());
    let mut instruments = Instruments::open(tree.root(), &topology, &"3-4".parse().unwrap());
    assert_eq!(instruments.read().temperature_mc, Some(47_000));
    let tree = tree.with("sys/class/hwmon/hwmon1/temp1_input", "81000\n");
    assert_eq!(instruments.read().temperature_mc, Some(81_000));
    drop(tree);
}

#[test]
fn this_host_counts_the_time_of_its_cpus() {
    let root = Path::new("/");
    let cpus = crate::launch::allowed().unwrap();
    let mut instruments = Instruments::open(root, &Topology::read(root), &cpus);
    let (first, second) = (instruments.read(), instruments.read());
    let (first, second) = (first.cpu_time.unwrap(), second.cpu_time.unwrap());
    assert!(first.busy_ns > 0 && second.busy_ns >= first.busy_ns);
}
