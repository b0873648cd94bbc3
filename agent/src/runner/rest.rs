//! The wait until a host has come to rest, before anything of a run is executed.

use std::{sync::atomic::Ordering, time::Duration, time::Instant};

use speedup_core::{experiment::Rest, run::record::RestReading, value::time::Span};

use super::{NotExecuted, RunExecution, interrupted, wait};

/// How often a host is looked at that has not come to rest. Linux renews its load averages every five seconds; heat goes
/// sooner.
const REST_LOOK: Duration = Duration::from_secs(1);

/// Why a host has not come to rest.
#[derive(Debug, PartialEq, Eq)]
enum Unrest {
    Beyond(String),
    /// The host does not tell.
    Unreadable(&'static str),
}

impl RunExecution<'_> {
    /// Waits until the host is within the plan's bounds, as long as the plan has patience.
    pub(super) fn rest(&mut self, rest: &Rest) -> Result<RestReading, NotExecuted> {
        let begun = Instant::now();
        let patience = Duration::from(rest.patience);
        loop {
            let reading = self.runner.surroundings.rest();
            let waited = begun.elapsed();
            match unrest(rest, &reading) {
                None => {
                    let waited = Span(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
                    return Ok(RestReading { waited, ..reading });
                }
                Some(Unrest::Unreadable(what)) => {
                    return Err(NotExecuted::through_plan(format!(
                        "the plan waits until {what} is within a bound, but this host does not report it"
                    )));
                }
                Some(Unrest::Beyond(how)) if waited >= patience => {
                    return Err(NotExecuted::through_plan(format!(
                        "the host did not become idle within {}: {how}",
                        rest.patience
                    )));
                }
                Some(Unrest::Beyond(_)) => {}
            }
            wait(REST_LOOK.min(patience.saturating_sub(waited)), self.stop);
            if self.stop.load(Ordering::Acquire) {
                return Err(interrupted());
            }
        }
    }
}

/// What keeps the host from having rested. What it does not tell comes first: no patience helps there.
fn unrest(rest: &Rest, reading: &RestReading) -> Option<Unrest> {
    let load = rest.load_percent.map(|most| {
        let read = reading.load_percent.ok_or(Unrest::Unreadable("the load"))?;
        within(read <= most, || {
            format!("its load is {}, and the bound is {}", hundredths(read), hundredths(most))
        })
    });
    let temperature = rest.temperature_mc.map(|most| {
        let read = reading.temperature_mc.ok_or(Unrest::Unreadable("the processor's temperature"))?;
        within(read <= most, || {
            format!("the processor has {} °C, and the bound is {} °C", thousandths(read), thousandths(most))
        })
    });
    let frequency = rest.frequency_percent.map(|least| {
        let read = reading.frequency_percent.ok_or(Unrest::Unreadable("the CPUs' frequency"))?;
        within(read >= least, || {
            format!("the CPUs run at {read} % of their maximum frequency, and the bound is {least} %")
        })
    });
    let found =
        || [&load, &temperature, &frequency].into_iter().flatten().filter_map(|one| one.as_ref().err());
    let unreadable = found().find_map(|unrest| match unrest {
        Unrest::Unreadable(what) => Some(Unrest::Unreadable(what)),
        Unrest::Beyond(_) => None,
    });
    let beyond: Vec<&str> = found()
        .filter_map(|unrest| match unrest {
            Unrest::Beyond(how) => Some(how.as_str()),
            Unrest::Unreadable(_) => None,
        })
        .collect();
    unreadable.or_else(|| (!beyond.is_empty()).then(|| Unrest::Beyond(beyond.join("; "))))
}

fn within(is_within: bool, how: impl FnOnce() -> String) -> Result<(), Unrest> {
    if is_within { Ok(()) } else { Err(Unrest::Beyond(how())) }
}

fn hundredths(number: u32) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

fn thousandths(number: i32) -> String {
    format!("{:.1}", f64::from(number) / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Rest = Rest {
        idle: Span(0),
        load_percent: Some(50),
        temperature_mc: Some(45_000),
        frequency_percent: Some(90),
        patience: Span(0),
    };
    const AT_THEM: RestReading = RestReading {
        waited: Span(0),
        load_percent: Some(50),
        temperature_mc: Some(45_000),
        frequency_percent: Some(90),
    };

    fn beyond(how: &str) -> Option<Unrest> {
        Some(Unrest::Beyond(how.to_owned()))
    }

    #[test]
    fn a_host_has_rested_at_its_bounds_and_not_beyond_them() {
        assert_eq!(unrest(&BOUNDS, &AT_THEM), None);
        let loaded = RestReading { load_percent: Some(51), ..AT_THEM };
        assert_eq!(unrest(&BOUNDS, &loaded), beyond("its load is 0.51, and the bound is 0.50"));
        let hot = RestReading { temperature_mc: Some(45_100), ..AT_THEM };
        assert_eq!(unrest(&BOUNDS, &hot), beyond("the processor has 45.1 °C, and the bound is 45.0 °C"));
        let slow = RestReading { frequency_percent: Some(89), ..loaded };
        let both = "its load is 0.51, and the bound is 0.50; \
            the CPUs run at 89 % of their maximum frequency, and the bound is 90 %";
        assert_eq!(unrest(&BOUNDS, &slow), beyond(both));
    }

    #[test]
    fn a_bound_on_what_cannot_be_read_is_not_met() {
        for (unread, what) in [
            (RestReading { load_percent: None, ..AT_THEM }, "the load"),
            (RestReading { temperature_mc: None, ..AT_THEM }, "the processor's temperature"),
            (
                RestReading { frequency_percent: None, load_percent: Some(99), ..AT_THEM },
                "the CPUs' frequency",
            ),
        ] {
            assert_eq!(unrest(&BOUNDS, &unread), Some(Unrest::Unreadable(what)));
        }
        let idle_only = Rest { load_percent: None, temperature_mc: None, frequency_percent: None, ..BOUNDS };
        assert_eq!(unrest(&idle_only, &RestReading::default()), None, "nothing of it was asked");
    }
}
