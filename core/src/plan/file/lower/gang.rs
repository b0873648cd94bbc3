//! From the hosts of a run as they are written to the gangs of its benchmarks.

use super::Lowering;
use crate::experiment::KeyPath;
use crate::experiment::gang::{Gang, GangLauncher, ScalingSeries};
use crate::plan::file::form::{BenchmarkForm, GangLauncherForm, HostsForm};

impl Lowering<'_> {
    /// One gang for each number of hosts; none where the benchmark says nothing of hosts.
    pub(super) fn gangs(&mut self, place: &KeyPath, name: &str, form: &mut BenchmarkForm) -> Vec<Gang> {
        let (launcher, launch) = (form.launcher.take(), form.launch.take());
        let (ranks, law) = (form.ranks_per_host.take(), form.scaling.take());
        let times_ranks = form.time_ranks.take();
        let Some(hosts) = form.hosts.take() else {
            let given = [
                ("ranks_per_host", ranks.is_some()),
                ("launcher", launcher.is_some()),
                ("launch", launch.is_some()),
                ("scaling", law.is_some()),
                ("time_ranks", times_ranks.is_some()),
            ];
            for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                self.note(&place.at(key), || {
                    let cause = format!("[{place}] has `{key}` and no `hosts`");
                    (cause, "say on how many hosts each run is executed: hosts = 4".to_owned())
                });
            }
            return Vec::new();
        };
        let launcher = match (launcher, launch) {
            (None, None) => GangLauncher::None,
            (Some(GangLauncherForm::OpenMpi), None) => GangLauncher::OpenMpi,
            (Some(GangLauncherForm::Mpich), None) => GangLauncher::Mpich,
            (Some(GangLauncherForm::Srun), None) => GangLauncher::Srun,
            (None, Some(words)) => GangLauncher::Own(words),
            (Some(_), Some(_)) => {
                self.note(&place.at("launch"), || {
                    let cause = format!("[{place}] has both `launcher` and `launch`");
                    (cause, "keep one of them".to_owned())
                });
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
            HostsForm::Several(sizes) => {
                if sizes.is_empty() {
                    self.note(&place.at("hosts"), || {
                        ("there is no number of hosts".to_owned(), "write hosts = [1, 2, 4, 8]".to_owned())
                    });
                }
                (sizes, Some(ScalingSeries { name: name.to_owned(), law: law.unwrap_or_default() }))
            }
        };
        let ranks_per_host = ranks.unwrap_or(1);
        let gang = |hosts| Gang {
            hosts,
            ranks_per_host,
            launcher: launcher.clone(),
            times_ranks: times_ranks.unwrap_or(false),
            series: series.clone(),
        };
        sizes.into_iter().map(gang).collect()
    }
}
