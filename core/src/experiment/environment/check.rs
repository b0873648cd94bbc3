//! The bounds of an environment.

use super::{
    CpuChoice, Environment, MAX_DIRECTORY_LENGTH, MAX_DIRECTORY_PADDING, MAX_ENV_SIZE, MAX_GOVERNOR_BYTES,
    MAX_SETTLE, NICES, PRIORITIES, Scheduler, SizeChoice,
};
use crate::experiment::problem::{Fault, Problems};
use crate::value::cpu_set::MAX_CPUS;

impl Environment {
    /// Refuses each value outside its bounds, in the order of the keys of `[environment]`.
    pub(in crate::experiment) fn check_bounds(&self, problems: &mut Problems) {
        let mut refuse = |key, value, allowed| {
            problems.refuse(["environment", key], Fault::OutOfRange { value, allowed });
        };
        match &self.cpus {
            CpuChoice::Cores(0) => {
                refuse("cpus", "cores:0".to_owned(), format!("cores:1 to cores:{MAX_CPUS}"));
            }
            CpuChoice::List(cpus) if cpus.is_empty() => {
                refuse("cpus", "an empty list".to_owned(), "at least one CPU".to_owned());
            }
            CpuChoice::List(cpus) if cpus.iter().next_back() >= Some(MAX_CPUS) => {
                refuse("cpus", cpus.to_string(), format!("0 to {}", MAX_CPUS - 1));
            }
            CpuChoice::All | CpuChoice::Cores(_) | CpuChoice::NumaNode(_) | CpuChoice::List(_) => {}
        }
        if self.housekeeping >= MAX_CPUS {
            refuse("housekeeping", self.housekeeping.to_string(), format!("0 to {}", MAX_CPUS - 1));
        }
        if let Some(nice) = self.nice.filter(|nice| !(NICES.0..=NICES.1).contains(nice)) {
            refuse("nice", nice.to_string(), format!("{} to {}", NICES.0, NICES.1));
        }
        if let Some(scheduler @ (Scheduler::Fifo(priority) | Scheduler::RoundRobin(priority))) =
            self.scheduler
            && !(PRIORITIES.0..=PRIORITIES.1).contains(&priority)
        {
            let allowed = format!("a priority of {} to {}", PRIORITIES.0, PRIORITIES.1);
            refuse("scheduler", scheduler.to_string(), allowed);
        }
        let (key, size) = match self.env_size {
            SizeChoice::AsIs => ("env_bytes", 0),
            SizeChoice::Total(size) => ("env_bytes", size),
            SizeChoice::Random(most) => ("env_bytes_random", most),
        };
        if size > MAX_ENV_SIZE {
            refuse(key, size.to_string(), format!("0 to {MAX_ENV_SIZE}"));
        }
        let (key, length, allowed) = match self.directory_length {
            // What the plan leaves to the host is within bounds.
            SizeChoice::AsIs => ("directory_bytes", 1, 1..=1),
            SizeChoice::Total(length) => ("directory_bytes", length, 1..=MAX_DIRECTORY_LENGTH),
            SizeChoice::Random(most) => ("directory_bytes_random", most, 0..=MAX_DIRECTORY_PADDING),
        };
        if !allowed.contains(&length) {
            refuse(key, length.to_string(), format!("{} to {}", allowed.start(), allowed.end()));
        }
        if let Some(governor) = self.governor.as_ref().filter(|name| !is_governor(name)) {
            let allowed = format!("1 to {MAX_GOVERNOR_BYTES} letters, digits, _ and -, such as performance");
            refuse("governor", format!("{governor:.40?}"), allowed);
        }
        if self.settle > MAX_SETTLE {
            refuse("settle", self.settle.to_string(), format!("at most {MAX_SETTLE}"));
        }
    }
}

/// A governor's name is written to a file of the kernel, so it is a word.
fn is_governor(name: &str) -> bool {
    (1..=MAX_GOVERNOR_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
