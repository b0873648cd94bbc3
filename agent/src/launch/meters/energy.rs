//! Energy, by the RAPL counters of the kernel's power capping: read before the start and after the end.
//!
//! They count for the host, not for the program: whatever else runs there is in the figure, and so is what the agent
//! does between the two readings. They step about once a millisecond. A counter begins anew at
//! `max_energy_range_uj`; what that may hide is refused (see [`Domain::spent`]).
//! Source: the kernel's `Documentation/power/powercap/powercap.rst`.

use std::{io, path::Path, path::PathBuf};

use speedup_core::experiment::metric::{Absence, Metric};

use super::{absence_of, read_number};
use crate::launch::execution::MetricReadings;

/// Where the domains lie.
const CLASS: &str = "sys/class/powercap";
/// Names of the domains that stand for a package; `intel-rapl-mmio` would show the same packages again. AMD's processors
/// are under this name too.
const PACKAGES: &str = "intel-rapl:";
/// The most power a package is taken to draw where the host does not say, in watts.
const MOST_WATTS: u64 = 1_000;
/// A package may exceed its stated maximum for seconds, never by so many times.
const EXCESS: u64 = 2;

/// The domains whose counters were read.
#[derive(Debug, Default)]
pub(in crate::launch) struct Energy(Vec<Domain>);

#[derive(Debug)]
struct Domain {
    metric: Metric,
    counter: PathBuf,
    before_uj: u64,
    range_uj: u64,
    most_watts: u64,
}

impl Energy {
    /// Reads the counters of the wanted metrics on the host whose files are under `root`.
    pub(in crate::launch) fn begin(root: &Path, wanted: &[Metric], readings: &mut MetricReadings) -> Self {
        let mut domains = Vec::new();
        for metric in [Metric::EnergyPackage, Metric::EnergyDram] {
            if wanted.contains(&metric) {
                match found(root, metric) {
                    Ok(found) => domains.extend(found),
                    Err(absence) => readings.is_absent(metric, absence),
                }
            }
        }
        Self(domains)
    }

    /// Reads them again after a run of so long; the packages together.
    pub(in crate::launch) fn end(self, wall_ns: u64, readings: &mut MetricReadings) {
        for domain in self.0 {
            match domain.spent(wall_ns) {
                Ok(spent) => *readings.values.entry(domain.metric).or_default() += spent,
                Err(absence) => readings.is_absent(domain.metric, absence),
            }
        }
        // A sum of which a part is missing is none.
        readings.values.retain(|metric, _| !readings.absent.contains_key(metric));
    }
}

impl Domain {
    /// Microjoules since the first reading: `after - before`, or `after - before + range` when the counter began anew.
    /// If it could have done so twice, by the most power that the domain may draw, the energy is not known.
    fn spent(&self, wall_ns: u64) -> Result<u64, Absence> {
        let after_uj = read_number(&self.counter)?;
        let most_uj = u128::from(wall_ns) * u128::from(self.most_watts) / 1_000;
        if most_uj >= u128::from(self.range_uj) {
            return Err(Absence::Wrapped);
        }
        Ok(match after_uj.checked_sub(self.before_uj) {
            Some(spent) => spent,
            None => (after_uj + self.range_uj).saturating_sub(self.before_uj),
        })
    }
}

/// The domains of a metric, at least one, all readable.
fn found(root: &Path, metric: Metric) -> Result<Vec<Domain>, Absence> {
    let class = root.join(CLASS);
    let mut domains = Vec::new();
    for entry in listed(&class)? {
        // `intel-rapl:0` is a package or the platform, `intel-rapl:0:1` a part of the first.
        let is_part = |id: &str| id.contains(':');
        let is_candidate =
            entry.strip_prefix(PACKAGES).is_some_and(|id| is_part(id) == (metric == Metric::EnergyDram));
        let directory = class.join(&entry);
        if is_candidate && is_of(&directory, metric)? {
            domains.push(Domain::read(metric, &directory)?);
        }
    }
    if domains.is_empty() { Err(Absence::Unsupported) } else { Ok(domains) }
}

impl Domain {
    fn read(metric: Metric, directory: &Path) -> Result<Self, Absence> {
        let counter = directory.join("energy_uj");
        let stated = read_number(&directory.join("constraint_0_max_power_uw")).unwrap_or(0) / 1_000_000;
        Ok(Self {
            metric,
            before_uj: read_number(&counter)?,
            counter,
            range_uj: read_number(&directory.join("max_energy_range_uj"))?,
            most_watts: if stated == 0 { MOST_WATTS } else { stated * EXCESS },
        })
    }
}

fn listed(class: &Path) -> Result<Vec<String>, Absence> {
    let missing_or = |error: io::Error| absence_of("list the power domains", &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(class).map_err(missing_or)? {
        names.extend(entry.map_err(missing_or)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn is_of(directory: &Path, metric: Metric) -> Result<bool, Absence> {
    let name = std::fs::read_to_string(directory.join("name"));
    let name = name.map_err(|error| absence_of("read the name of a power domain", &error))?;
    Ok(if metric == Metric::EnergyDram { name.trim() == "dram" } else { name.starts_with("package") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct Host(tempfile::TempDir);

    impl Host {
        /// Domains with their names, counters and ranges.
        fn with(domains: &[(&str, &str, u64, u64)]) -> Self {
            let host = Self(tempfile::tempdir().unwrap());
            for (id, name, counter, range) in domains {
                let directory = host.0.path().join(CLASS).join(id);
                std::fs::create_dir_all(&directory).unwrap();
                std::fs::write(directory.join("name"), format!("{name}\n")).unwrap();
                std::fs::write(directory.join("max_energy_range_uj"), format!("{range}\n")).unwrap();
                host.set(id, *counter);
            }
            host
        }

        fn set(&self, id: &str, counter: u64) {
            std::fs::write(self.0.path().join(CLASS).join(id).join("energy_uj"), format!("{counter}\n"))
                .unwrap();
        }

        fn measure(&self, wall_ns: u64, change: impl FnOnce(&Self)) -> MetricReadings {
            let mut readings = MetricReadings::default();
            let wanted = [Metric::Wall, Metric::EnergyPackage, Metric::EnergyDram];
            let energy = Energy::begin(self.0.path(), &wanted, &mut readings);
            change(self);
            energy.end(wall_ns, &mut readings);
            readings
        }
    }

    const RANGE: u64 = 262_143_328_850;

    #[test]
    fn packages_are_summed_and_neither_the_platform_nor_a_mirror_is_counted() {
        let host = Host::with(&[
            ("intel-rapl:0", "package-0", 100, RANGE),
            ("intel-rapl:0:0", "core", 5, RANGE),
            ("intel-rapl:0:1", "dram", 7, RANGE),
            ("intel-rapl:1", "package-1", RANGE - 10, RANGE),
            ("intel-rapl:1:1", "dram", 1, RANGE),
            ("intel-rapl:2", "psys", 9, RANGE),
            ("intel-rapl-mmio:0", "package-0", 100, RANGE),
        ]);
        let readings = host.measure(1_000_000_000, |host| {
            host.set("intel-rapl:0", 1_100);
            // It began anew.
            host.set("intel-rapl:1", 20);
            host.set("intel-rapl:0:1", 10);
            host.set("intel-rapl:2", 999_999);
            host.set("intel-rapl-mmio:0", 1_100);
        });
        assert_eq!(
            readings.values,
            BTreeMap::from([(Metric::EnergyPackage, 1_030), (Metric::EnergyDram, 3)])
        );
        assert!(readings.absent.is_empty());
    }

    #[test]
    fn what_a_second_wrap_could_hide_is_not_known() {
        let host = Host::with(&[("intel-rapl:0", "package-0", 0, RANGE)]);
        // A thousand watts fill the range in 262 s.
        assert_eq!(host.measure(262_000_000_000, |_| ()).values[&Metric::EnergyPackage], 0);
        let readings = host.measure(263_000_000_000, |_| ());
        assert_eq!(readings.absent[&Metric::EnergyPackage], Absence::Wrapped);
        assert!(readings.values.is_empty());
        // A small processor takes longer.
        let limit = host.0.path().join(CLASS).join("intel-rapl:0/constraint_0_max_power_uw");
        std::fs::write(limit, "15000000\n").unwrap();
        assert_eq!(host.measure(8_000_000_000_000, |_| ()).values.len(), 1);
    }

    #[test]
    fn a_host_without_counters_says_so() {
        let host = Host(tempfile::tempdir().unwrap());
        let readings = host.measure(1, |_| ());
        assert_eq!(readings.absent[&Metric::EnergyPackage], Absence::Unsupported);
        assert_eq!(readings.absent[&Metric::EnergyDram], Absence::Unsupported);
        let host = Host::with(&[("intel-rapl:0", "package-0", 1, RANGE)]);
        let readings = host.measure(1, |_| ());
        assert_eq!(readings.absent, BTreeMap::from([(Metric::EnergyDram, Absence::Unsupported)]));
    }

    #[test]
    fn a_counter_that_goes_or_holds_no_number_is_unreadable() {
        let host =
            Host::with(&[("intel-rapl:0", "package-0", 1, RANGE), ("intel-rapl:1", "package-1", 1, RANGE)]);
        let counter = host.0.path().join(CLASS).join("intel-rapl:1/energy_uj");
        let readings = host.measure(1, |_| std::fs::write(&counter, "soon\n").unwrap());
        assert!(
            matches!(readings.absent[&Metric::EnergyPackage], Absence::Unreadable { .. }),
            "{readings:?}"
        );
        assert!(readings.values.is_empty(), "no part of a sum: {readings:?}");
        std::fs::write(&counter, "5\n").unwrap();
        let readings = host.measure(1, |_| std::fs::remove_file(&counter).unwrap());
        assert_eq!(readings.absent[&Metric::EnergyPackage], Absence::Unsupported);
        assert!(readings.values.is_empty());
    }
}
