//! What decides on the frequency and on sleep: drivers, governors, turbo. Never the frequency itself.

use super::{facts::Facts, system::Reading, system::System, topology::of_each_cpu};

const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn state(system: &System, facts: &mut Facts) {
    facts.state("cpu.driver", of_each_cpu(system, "cpufreq/scaling_driver"));
    facts.state("cpu.governor", of_each_cpu(system, "cpufreq/scaling_governor"));
    facts.state("cpu.energy_preference", of_each_cpu(system, "cpufreq/energy_performance_preference"));
    facts.state("cpu.driver_mode", driver_mode(system));
    facts.state("cpu.turbo", turbo(system));
    facts.state("cpu.idle_driver", system.line(&format!("{CPUS}/cpuidle/current_driver")));
    facts.state("cpu.idle_governor", idle_governor(system));
}

fn driver_mode(system: &System) -> Reading {
    let intel = system.line(&format!("{CPUS}/intel_pstate/status"))?;
    if intel.is_some() { Ok(intel) } else { system.line(&format!("{CPUS}/amd_pstate/status")) }
}

/// Intel's driver says whether turbo is off; the others whether boost is on, for all CPUs or each policy.
fn turbo(system: &System) -> Reading {
    let no_turbo = format!("{CPUS}/intel_pstate/no_turbo");
    let boost = format!("{CPUS}/cpufreq/boost");
    for (file, on) in [(no_turbo, "0"), (boost, "1")] {
        match system.line(&file)?.as_deref() {
            None => {}
            Some(value @ ("0" | "1")) => return Ok(Some(if value == on { "on" } else { "off" }.to_owned())),
            Some(_) => return Err(format!("/{file}: is neither 0 nor 1")),
        }
    }
    let each = of_each_cpu(system, "cpufreq/boost")?;
    Ok(each.map(|value| match value.as_str() {
        "0" => "off".to_owned(),
        "1" => "on".to_owned(),
        mixed => format!("boost of policies: {mixed}"),
    }))
}

/// Kernels before 5.8 name it in a file that only tells.
fn idle_governor(system: &System) -> Reading {
    let governor = system.line(&format!("{CPUS}/cpuidle/current_governor"))?;
    if governor.is_some() {
        Ok(governor)
    } else {
        system.line(&format!("{CPUS}/cpuidle/current_governor_ro"))
    }
}
