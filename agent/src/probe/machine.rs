//! The machine: who made it, its board and firmware, and what it runs on if it is a guest.

use super::facts::Facts;
use super::processor::{CPUINFO, has_hypervisor_flag};
use super::system::{Reading, System};

/// What the firmware says of a PC or server.
pub(super) const FIRMWARE: &str = "sys/devices/virtual/dmi/id";
/// What the firmware says of a board with Arm or RISC-V.
pub(super) const DEVICE_TREE: &str = "sys/firmware/devicetree/base";

const FIRMWARE_FACTS: [(&str, &str); 8] = [
    ("machine.vendor", "sys_vendor"),
    ("machine.product", "product_name"),
    ("machine.product_version", "product_version"),
    ("machine.board_vendor", "board_vendor"),
    ("machine.board", "board_name"),
    ("machine.bios_vendor", "bios_vendor"),
    ("machine.bios_version", "bios_version"),
    ("machine.bios_date", "bios_date"),
];

/// Hypervisors by the words with which the firmware that they show begins.
const HYPERVISORS: [(&str, &str); 12] = [
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("Red Hat", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google", "google"),
    ("Microsoft Corporation", "hyper-v"),
    ("VMware", "vmware"),
    ("innotek", "virtualbox"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("Apple", "apple"),
];

pub(super) fn state(system: &System, facts: &mut Facts) {
    for (fact, file) in FIRMWARE_FACTS {
        facts.state(fact, system.line(&format!("{FIRMWARE}/{file}")));
    }
    facts.state("machine.model", system.property(&format!("{DEVICE_TREE}/model")));
    facts.state("machine.compatible", system.property(&format!("{DEVICE_TREE}/compatible")));
    facts.state("machine.hypervisor", hypervisor(system));
}

/// What this guest runs on; absent on the bare machine.
///
/// On x86 the processor says whether there is a hypervisor. On Arm nothing does but the names that it gives the machine,
/// and these are those of the cloud on its bare machines too, which end in `metal`.
fn hypervisor(system: &System) -> Reading {
    if let Some(kind) = system.line("sys/hypervisor/type")? {
        return Ok(Some(kind));
    }
    if let Some(compatible) = system.property(&format!("{DEVICE_TREE}/hypervisor/compatible"))? {
        return Ok(Some(compatible));
    }
    let cpuinfo = system.lines(CPUINFO)?.unwrap_or_default();
    let is_flagged = has_hypervisor_flag(&cpuinfo);
    if !is_flagged && cpuinfo.lines().any(|line| line.starts_with("flags")) {
        return Ok(None);
    }
    let read = |file: &str| system.line(&format!("{FIRMWARE}/{file}"));
    let product = read("product_name")?.unwrap_or_default();
    let names =
        [product.clone(), read("sys_vendor")?.unwrap_or_default(), read("bios_vendor")?.unwrap_or_default()];
    let known = HYPERVISORS.iter().find(|(word, _)| names.iter().any(|name| name.starts_with(word)));
    match known {
        Some((_, kind)) if is_flagged || !product.ends_with("metal") => Ok(Some((*kind).to_owned())),
        Some(_) | None => Ok(is_flagged.then(|| "unknown".to_owned())),
    }
}
