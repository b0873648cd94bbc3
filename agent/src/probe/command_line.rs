//! The kernel's command line, without what belongs to one machine alone.

/// Parameters that name this machine's disks, addresses, keys or boot entry, and settle nothing of how fast it is. A
/// trailing dot stands for all of a family.
const PER_MACHINE: [&str; 24] = [
    "BOOTIF",
    "BOOT_IMAGE",
    "bootdev",
    "cloud-config-url",
    "cryptdevice",
    "ds",
    "hostname",
    "ifname",
    "initrd",
    "ip",
    "iscsi_initiator",
    "nameserver",
    "netroot",
    "nfsroot",
    "ostree",
    "rd.iscsi.",
    "rd.luks.",
    "rd.lvm.",
    "rd.md.",
    "resume",
    "resume_offset",
    "root",
    "systemd.hostname",
    "systemd.machine_id",
];

/// What machines of one kind share of it, in its order, which counts for the kernel.
pub(super) fn shared(line: &str) -> Option<String> {
    let words = words(line);
    let shared: Vec<&str> = words.into_iter().filter(|word| !is_per_machine(word)).collect();
    (!shared.is_empty()).then(|| shared.join(" "))
}

/// Words, of which quotes keep the space within.
fn words(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let ends = |c: char| {
        is_quoted ^= c == '"';
        !is_quoted && c.is_whitespace()
    };
    line.split(ends).filter(|word| !word.is_empty()).collect()
}

fn is_per_machine(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let name = name.trim_matches('"');
    let is_named = PER_MACHINE.iter().any(|known| match known.strip_suffix('.') {
        Some(family) => name.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')),
        None => name == *known,
    });
    is_named || names_one_thing(value)
}

/// Whether it holds a UUID or the address of a network card, whatever the parameter: no two machines share these.
fn names_one_thing(value: &str) -> bool {
    holds(value, '-', &[8, 4, 4, 4, 12]) || holds(value, ':', &[2; 6])
}

/// Whether it holds so many hexadecimal numbers with so many digits each in a row.
fn holds(value: &str, between: char, digits: &[usize]) -> bool {
    let mut pieces = value.split(|c: char| !(c.is_ascii_hexdigit() || c == between));
    pieces.any(|piece| {
        let lengths: Vec<usize> = piece.split(between).map(str::len).collect();
        lengths.windows(digits.len()).any(|window| window == digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_machines_share_stays_in_order() {
        let line = "BOOT_IMAGE=/vmlinuz-6.1.0-18-amd64 root=UUID=0a1b2c3d-0000-4000-8000-00000000000f ro quiet \
                    isolcpus=2-7 mitigations=off ip=10.0.0.7::10.0.0.1 rd.luks.uuid=luks-1 rd.luksish=1 \
                    dyndbg=\"file a b +p\" -- --level 3";
        let shared = shared(line);
        let expected =
            "ro quiet isolcpus=2-7 mitigations=off rd.luksish=1 dyndbg=\"file a b +p\" -- --level 3";
        assert_eq!(shared.as_deref(), Some(expected));
    }

    #[test]
    fn names_of_one_thing_go_whatever_their_parameter() {
        for word in [
            "smsc95xx.macaddr=DC:A6:32:01:02:03",
            "crypt=UUID=0a1b2c3d-0000-4000-8000-00000000000f:rest",
            "x=PARTUUID=0A1B2C3D-0000-4000-8000-00000000000F",
        ] {
            assert_eq!(shared(word), None, "{word}");
        }
        for word in ["crashkernel=512M", "nohz_full=1-3,5", "memmap=10:20:30", "hugepages=64", "a=1-2-3-4-5"]
        {
            assert_eq!(shared(word).as_deref(), Some(word));
        }
    }

    #[test]
    fn nothing_shared_is_absent() {
        assert_eq!(shared("root=/dev/sda1  initrd=/i"), None);
        assert_eq!(shared(" "), None);
        assert_eq!(shared("\"root=a b\" \"open").as_deref(), Some("\"open"));
    }
}
