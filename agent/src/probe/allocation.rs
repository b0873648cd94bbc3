//! The allocation: by which job, pod or container an engine has given this host out. A new one on the same machine is a new
//! allocation; a process that is started again within it is not.
//!
//! In their order: a job of Slurm and a pod of Kubernetes are told by the environment, a pod and a container by the files
//! that the container's engine mounts and by the names of control groups, where these are seen from inside.

use speedup_core::value::id::{AllocationId, MAX_ID_BYTES};

use super::system::System;

/// Where a pod finds its own id, if its description says so (`fieldRef: metadata.uid`).
const POD_UID: &str = "POD_UID";
/// Names of control groups, of this process and of the first one that it sees.
const GROUPS: [&str; 2] = ["proc/self/cgroup", "proc/1/cpuset"];
/// What is mounted, and from where.
const MOUNTS: &str = "proc/self/mountinfo";
/// Files that engines mount into each container, out of a directory with its id.
const MOUNTED: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];
/// Hexadecimal digits of a container's id, with Docker, Podman, containerd and CRI-O.
const CONTAINER_DIGITS: usize = 64;
/// The lengths of the words of a pod's id, which is a UUID.
const UUID_WORDS: [usize; 5] = [8, 4, 4, 4, 12];

/// The allocation, if an engine has given this host out.
pub(super) fn allocation(system: &System, variable: impl Fn(&str) -> Option<String>) -> Option<AllocationId> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let found = slurm(variable).or_else(|| variable(POD_UID).map(|uid| format!("pod:{uid}")));
    let found = found.or_else(|| container(system))?;
    match id(&found).parse() {
        Ok(allocation) => Some(allocation),
        Err(error) => {
            tracing::warn!("the allocation {found:?} is no id: {error}");
            None
        }
    }
}

/// A job, an element of an array of jobs, and how often Slurm has put it back into the queue: it keeps its number then.
fn slurm(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let job = variable("SLURM_JOB_ID").or_else(|| variable("SLURM_JOBID"))?;
    let array = variable("SLURM_ARRAY_JOB_ID").zip(variable("SLURM_ARRAY_TASK_ID"));
    let restarts = variable("SLURM_RESTART_COUNT").filter(|count| count != "0");
    let parts = [
        Some("slurm".to_owned()),
        variable("SLURM_CLUSTER_NAME"),
        Some(job),
        array.map(|(job, task)| format!("{job}_{task}")),
        restarts.map(|count| format!("restart-{count}")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(":"))
}

/// A pod before a container: containers of one pod share its host, and one that is started again has a new id.
fn container(system: &System) -> Option<String> {
    let read = |file: &str| system.lines(file).ok().flatten();
    let mounts = read(MOUNTS).unwrap_or_default();
    let sources = mounts.lines().filter_map(source_of_engine).map(str::to_owned);
    let groups = GROUPS.into_iter().filter_map(read);
    let places: Vec<String> = sources.chain(groups).collect();
    let pod = places.iter().find_map(|place| pod_uid(place)).map(|uid| format!("pod:{uid}"));
    pod.or_else(|| places.iter().find_map(|place| container_id(place)).map(|id| format!("container:{id}")))
}

/// From where one of the files comes that engines mount: `ID PARENT DEVICE SOURCE TARGET …`.
fn source_of_engine(mount: &str) -> Option<&str> {
    let mut words = mount.split(' ').skip(3);
    let (source, target) = (words.next()?, words.next()?);
    MOUNTED.contains(&target).then_some(source)
}

/// `…/pods/1b4e28ba-2fa1-11d2-883f-0016d3cca427/…`, or in a control group's name `…pod1b4e28ba_2fa1_…`.
fn pod_uid(text: &str) -> Option<String> {
    let uid = |rest: &str| {
        let rest = rest.strip_prefix("s/").unwrap_or(rest);
        let word: String = rest.chars().take_while(|c| c.is_ascii_hexdigit() || "-_".contains(*c)).collect();
        let word = word.replace('_', "-");
        word.split('-').map(str::len).eq(UUID_WORDS).then_some(word)
    };
    text.match_indices("pod").find_map(|(at, pod)| uid(&text[at + pod.len()..]))
}

/// A word of as many hexadecimal digits as a container's id has, and of none more.
fn container_id(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == CONTAINER_DIGITS)
}

fn id(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._:-".contains(c) { c } else { '-' };
    text.chars().map(allowed).take(MAX_ID_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINER: &str = "4f7c1c1a1d3f0e6b5a2948c7d6e5f40312233445566778899aabbccddeeff001";

    fn found(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<String> {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = tree.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let allocation = allocation(&System::at(tree.path()).unwrap(), variable);
        allocation.map(|allocation| allocation.as_str().to_owned())
    }

    fn of_slurm(more: &[(&str, &str)]) -> Option<String> {
        found(&[&[("SLURM_JOB_ID", "77")], more].concat(), &[])
    }

    #[test]
    fn a_job_of_slurm_is_new_when_it_was_put_back_into_the_queue() {
        assert_eq!(of_slurm(&[]).as_deref(), Some("slurm:77"));
        assert_eq!(of_slurm(&[("SLURM_RESTART_COUNT", "0")]).as_deref(), Some("slurm:77"));
        assert_eq!(of_slurm(&[("SLURM_RESTART_COUNT", "2")]).as_deref(), Some("slurm:77:restart-2"));
        let of_array =
            [("SLURM_CLUSTER_NAME", "blue/gene"), ("SLURM_ARRAY_JOB_ID", "70"), ("SLURM_ARRAY_TASK_ID", "7")];
        assert_eq!(of_slurm(&of_array).as_deref(), Some("slurm:blue-gene:77:70_7"));
        assert_eq!(found(&[("SLURM_JOBID", "5")], &[]).as_deref(), Some("slurm:5"));
        assert_eq!(found(&[("SLURM_JOB_ID", ""), ("SLURM_CLUSTER_NAME", "blue")], &[]), None);
    }

    #[test]
    fn a_pod_is_known_by_its_environment_its_mounts_or_its_groups() {
        let uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
        let pod = format!("pod:{uid}");
        assert_eq!(found(&[("POD_UID", uid)], &[]).as_ref(), Some(&pod));
        let mounts = format!(
            "22 1 0:21 / /proc rw - proc proc rw\n\
             29 1 8:1 /var/lib/kubelet/pods/{uid}/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
             30 1 8:1 /run/containerd/{CONTAINER}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
        );
        assert_eq!(found(&[], &[(MOUNTS, &mounts)]).as_ref(), Some(&pod));
        let group = format!(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-{CONTAINER}.scope\n",
            uid.replace('-', "_")
        );
        assert_eq!(found(&[], &[(GROUPS[0], &group)]).as_ref(), Some(&pod));
        let plain = format!("4:memory:/kubepods/besteffort/pod{uid}/{CONTAINER}\n");
        assert_eq!(found(&[], &[(GROUPS[0], &plain)]).as_ref(), Some(&pod));
    }

    #[test]
    fn a_container_is_known_by_its_groups_or_mounts() {
        let container = format!("container:{CONTAINER}");
        let docker = format!("12:cpuset:/docker/{CONTAINER}\n0::/system.slice/docker-{CONTAINER}.scope\n");
        assert_eq!(found(&[], &[(GROUPS[0], &docker)]).as_ref(), Some(&container));
        let first = format!("/docker/{CONTAINER}\n");
        assert_eq!(found(&[], &[(GROUPS[0], "0::/\n"), (GROUPS[1], &first)]).as_ref(), Some(&container));
        let mounts = format!(
            "30 1 8:1 /var/lib/docker/containers/{CONTAINER}/hostname /etc/hostname rw - ext4 x rw\n"
        );
        assert_eq!(found(&[], &[(MOUNTS, &mounts)]).as_ref(), Some(&container));
    }

    #[test]
    fn a_bare_machine_has_no_allocation() {
        assert_eq!(found(&[], &[]), None);
        // Containers that it serves are mounted on it, but not as its own files; a pod's name needs an id.
        let mounts =
            format!("30 1 0:50 / /var/lib/docker/overlay2/{CONTAINER}/merged rw - overlay overlay rw\n");
        let groups = "0::/user.slice/user-1000.slice/podman-1.scope\n1:x:/tripod/pods/\n";
        assert_eq!(found(&[], &[(MOUNTS, &mounts), (GROUPS[0], groups), (GROUPS[1], "/\n")]), None);
    }
}
