//! Which readings mark a run, and that absent ones never do.

use super::*;
use crate::run::reading::{CpuTime, Frequency, Throttled};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A second on two CPUs, of which the run used one.
fn window() -> Window {
    Window {
        elapsed_ns: SECOND,
        cpus: 2,
        run_ns: SECOND,
        agent_ns: 1_000_000,
        run_used_devices: false,
        frequency_is_held: false,
    }
}

fn reading(busy_ns: u64, stolen_ns: u64) -> Reading {
    Reading { cpu_time: Some(CpuTime { busy_ns, iowait_ns: 0, stolen_ns }), ..Reading::default() }
}

fn stalled(total_us: u64) -> Option<Pressure> {
    Some(Pressure { recent: 0, total_us })
}

fn codes(before: &Reading, after: &Reading, window: &Window) -> Vec<&'static str> {
    judge(before, after, window).iter().map(Disturbance::code).collect()
}

#[test]
fn a_quiet_run_has_no_mark() {
    let after = reading(6 * SECOND + 20_000_000, 0);
    assert_eq!(judge(&reading(5 * SECOND, 0), &after, &window()), []);
    assert_eq!(judge(&Reading::default(), &Reading::default(), &window()), []);
}

#[test]
fn load_of_others_is_what_neither_the_run_nor_the_agent_used() {
    let after = reading(6 * SECOND + 101_000_000, 0);
    let found = judge(&reading(5 * SECOND, 0), &after, &window());
    assert_eq!(found, [Disturbance::OtherLoad { ns: 100_000_000 }]);
    assert!(found[0].words().contains("100.0 ms"), "{}", found[0].words());
    // Two ticks of each CPU are beyond what the kernel tells.
    let within = reading(6 * SECOND + 41_000_000, 0);
    assert_eq!(codes(&reading(5 * SECOND, 0), &within, &window()), [""; 0]);
    // A percent of a long run is more than the ticks.
    let long = Window { elapsed_ns: 100 * SECOND, run_ns: 0, agent_ns: 0, ..window() };
    assert_eq!(codes(&reading(0, 0), &reading(2 * SECOND, 0), &long), [""; 0]);
    assert_eq!(codes(&reading(0, 0), &reading(2 * SECOND + 1_000_000, 0), &long), ["other_load"]);
}

#[test]
fn stolen_time_marks_from_a_tick_and_a_thousandth_of_the_run() {
    let steal = |ns| codes(&reading(0, 5), &reading(0, 5 + ns), &window());
    assert_eq!(steal(TICK_NS), ["stolen"]);
    assert_eq!(steal(TICK_NS - 1), [""; 0]);
    let long = Window { elapsed_ns: 100 * SECOND, ..window() };
    assert_eq!(codes(&reading(0, 0), &reading(0, TICK_NS), &long), [""; 0]);
}

#[test]
fn a_throttled_processor_is_told_with_its_count() {
    let throttled =
        |core, package| Reading { throttled: Some(Throttled { core, package }), ..Reading::default() };
    let found = judge(&throttled(7, 1), &throttled(9, 2), &window());
    assert_eq!(found, [Disturbance::Throttled { count: 3 }]);
    assert_eq!(codes(&throttled(7, 1), &throttled(7, 1), &window()), [""; 0]);
}

#[test]
fn pressure_marks_only_what_the_run_cannot_have_caused() {
    let before = Reading { pressure_cpu: stalled(0), pressure_io: stalled(0), ..reading(0, 0) };
    let after = Reading { pressure_cpu: stalled(50_000), pressure_io: stalled(50_000), ..reading(SECOND, 0) };
    assert_eq!(codes(&before, &after, &window()), ["pressure_io"]);
    let devices = Window { run_used_devices: true, ..window() };
    assert_eq!(codes(&before, &after, &devices), [""; 0]);
    let loaded = Reading { cpu_time: reading(2 * SECOND, 0).cpu_time, ..after };
    assert_eq!(codes(&before, &loaded, &devices), ["pressure_cpu", "other_load"]);

    let memory = |total_us| Reading { pressure_memory: stalled(total_us), ..Reading::default() };
    let found = judge(&memory(5), &memory(10_006), &devices);
    assert_eq!(found, [Disturbance::Pressure { resource: Resource::Memory, ns: 10_001_000 }]);
    assert_eq!(codes(&memory(5), &memory(10_005), &devices), [""; 0]);
}

#[test]
fn a_frequency_is_judged_where_it_is_meant_to_stand_still() {
    let at = |mean_khz| {
        let frequency = Frequency { min_khz: 1, mean_khz, max_khz: u64::MAX };
        Reading { frequency: Some(frequency), ..Reading::default() }
    };
    let held = Window { frequency_is_held: true, ..window() };
    assert_eq!(codes(&at(3_000_000), &at(2_900_000), &window()), [""; 0]);
    let found = judge(&at(3_000_000), &at(2_900_000), &held);
    assert_eq!(found, [Disturbance::FrequencyChanged { before_khz: 3_000_000, after_khz: 2_900_000 }]);
    assert_eq!(codes(&at(3_000_000), &at(2_950_000), &held), [""; 0]);
}

prop_compose! {
    fn any_reading()(
        cpu in any::<Option<(u64, u64, u64)>>(),
        pressure in any::<[Option<(u32, u64)>; 3]>(),
        throttled in any::<Option<(u32, u32)>>(),
        mean_khz in any::<Option<u64>>(),
    ) -> Reading {
        let pressure = pressure.map(|read| read.map(|(recent, total_us)| Pressure { recent, total_us }));
        Reading {
            cpu_time: cpu.map(|(busy_ns, iowait_ns, stolen_ns)| CpuTime { busy_ns, iowait_ns, stolen_ns }),
            pressure_cpu: pressure[0],
            pressure_memory: pressure[1],
            pressure_io: pressure[2],
            throttled: throttled.map(|(core, package)| Throttled { core: core.into(), package: package.into() }),
            frequency: mean_khz.map(|mean_khz| Frequency { min_khz: 0, mean_khz, max_khz: mean_khz }),
            ..Reading::default()
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_read_each_kind_is_told_at_most_once(
        before in any_reading(),
        after in any_reading(),
        (elapsed_ns, cpus, run_ns, agent_ns) in any::<(u64, u32, u64, u64)>(),
        (run_used_devices, frequency_is_held) in any::<(bool, bool)>(),
    ) {
        let window = Window { elapsed_ns, cpus, run_ns, agent_ns, run_used_devices, frequency_is_held };
        let mut codes = codes(&before, &after, &window);
        codes.sort_unstable();
        prop_assert!(codes.is_sorted_by(|earlier, later| earlier < later));
        prop_assert_eq!(judge(&before, &before, &window), []);
        prop_assert_eq!(judge(&before, &Reading::default(), &window), []);
    }
}
