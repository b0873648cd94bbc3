//! From the hosts of a run as they are written to the gangs of its benchmarks.

use super::Lowering;
use crate::experiment::KeyPath;
use crate::experiment::gang::{Gang, GangLauncher, ScalingSeries};
use crate::plan::file::form::{BenchmarkForm, GangLauncherForm, HostsForm};

impl Lowering<'_> {
    /// One gang for each number of hosts; none where the benchmark says nothing of hosts.
    pub(super) fn gangs(&mut self, place: &KeyPath, name: &str, form: &mut BenchmarkForm) -> Vec<Gang> {
        let Some(hosts) = form.hosts.take() else {
            self.note_without_hosts(place, form);
            return Vec::new();
        };
        let law = form.scaling.take();
        let launcher = match (form.launcher.take(), form.launch.take()) {
            (None, None) => GangLauncher::None,
            (Some(GangLauncherForm::OpenMpi), None) => GangLauncher::OpenMpi,
            (Some(GangLauncherForm::Mpich), None) => GangLauncher::Mpich,
            (Some(GangLauncherForm::Srun), None) => GangLauncher::Srun,
            (None, Some(words)) => GangLauncher::Own(words),
            (Some(_), Some(_)) => {
                self.note_both(place, "launcher", "launch");
                GangLauncher::None
            }
        };
        let (sizes, series) = match hosts {
            HostsForm::One(hosts) => {
                if law.is_some() {
                    self.note(&place.at("scaling"), || {
                        let cause = format!("[{place}] has `scaling` and one number of hosts");
                        (cause, "give several: hosts = [1, 2, 4, 8]".to_owned())
                    });
                }
                (vec![hosts], None)
            }
            // A list is a scaling series, also with a single number.
            HostsForm::Several(sizes) => {
                if sizes.is_empty() {
                    self.note(&place.at("hosts"), || {
                        ("there is no number of hosts".to_owned(), "write hosts = [1, 2, 4, 8]".to_owned())
                    });
                }
                (sizes, Some(ScalingSeries { name: name.to_owned(), law: law.unwrap_or_default() }))
            }
        };
        let mut gangs = Vec::with_capacity(sizes.len());
        for hosts in sizes {
            gangs.push(Gang {
                hosts,
                ranks_per_host: form.ranks_per_host.unwrap_or(1),
                launcher: launcher.clone(),
                times_ranks: form.time_ranks.unwrap_or(false),
                series: series.clone(),
            });
        }
        gangs
    }

    fn note_without_hosts(&mut self, place: &KeyPath, form: &BenchmarkForm) {
        for (key, is_given) in [
            ("ranks_per_host", form.ranks_per_host.is_some()),
            ("launcher", form.launcher.is_some()),
            ("launch", form.launch.is_some()),
            ("scaling", form.scaling.is_some()),
            ("time_ranks", form.time_ranks.is_some()),
        ] {
            if is_given {
                self.note(&place.at(key), || {
                    let cause = format!("[{place}] has `{key}` and no `hosts`");
                    (cause, "say on how many hosts each run is executed: hosts = 4".to_owned())
                });
            }
        }
    }
}
