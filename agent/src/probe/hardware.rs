//! Which hardware this is: the serial numbers of firmware and board, and the addresses that its network cards were made
//! with. They are hashed here and told to nobody.

use std::collections::BTreeMap;

use serde::Serialize;
use speedup_core::fingerprint::HardwareId;

use super::{machine::DEVICE_TREE, machine::FIRMWARE, system::Reading, system::System};

const CARDS: &str = "sys/class/net";
/// What their addresses are called among the marks.
const CARD: &str = "network address";
/// The bit of an address's first byte that says that nobody assigned it: virtual machines are made with such ones, and many
/// of them with the same.
const LOCAL: u8 = 0x02;
/// How Linux calls an address that the card was made with, rather than a random one or another's.
const PERMANENT: &str = "0";
/// What makers write where a serial number should be; machines share it.
const NO_SERIALS: [&str; 12] = [
    "to be filled by o.e.m.",
    "default string",
    "system serial number",
    "base board serial number",
    "not specified",
    "not applicable",
    "not available",
    "none",
    "n/a",
    "unknown",
    "03000200-0400-0500-0006-000700080009",
    "123456789",
];

/// What is known of which hardware this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hardware {
    /// The hash of all marks; nothing without any.
    pub id: Option<HardwareId>,
    /// The hash of those that makers give to no other machine; nothing without any.
    pub machine: Option<HardwareId>,
    /// How many marks of each kind it rests on.
    pub marks: BTreeMap<&'static str, usize>,
    /// The kinds that could not be read, with the reasons: without them another user of this host gets another id.
    pub unreadable: BTreeMap<&'static str, String>,
}

impl Hardware {
    pub(super) fn of(system: &System) -> Self {
        let firmware = |file: &str| system.line(&format!("{FIRMWARE}/{file}"));
        let serials = [
            ("product uuid", firmware("product_uuid")),
            ("product serial", firmware("product_serial")),
            ("board serial", firmware("board_serial")),
            ("device tree serial", system.property(&format!("{DEVICE_TREE}/serial-number"))),
        ];
        let serials = serials
            .map(|(kind, serial)| (kind, serial.map(|serial| serial.filter(|serial| is_serial(serial)))));
        let found = serials.map(|(kind, serial)| (kind, serial.map(Vec::from_iter)));
        let cards = (CARD, addresses(system));
        let (mut marks, mut unreadable) = (Vec::new(), BTreeMap::new());
        for (kind, found) in found.into_iter().chain([cards]) {
            match found {
                Ok(found) => marks.extend(found.into_iter().map(|mark| (kind, mark.to_lowercase()))),
                Err(why) => drop(unreadable.insert(kind, why)),
            }
        }
        let all = || marks.iter().map(|(kind, mark)| (*kind, mark.as_str()));
        let id = HardwareId::from_marks(all());
        let machine = HardwareId::from_marks(all().filter(|(kind, mark)| *kind != CARD || is_makers(mark)));
        let mut counts = BTreeMap::new();
        for (kind, _) in marks {
            *counts.entry(kind).or_default() += 1;
        }
        Self { id, machine, marks: counts, unreadable }
    }
}

/// Whether it is a serial number, and not what stands in its place.
fn is_serial(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_filler = text.chars().all(|c| matches!(c, '0' | 'f' | '-' | '.' | ' ' | 'x'));
    !is_filler && !NO_SERIALS.contains(&text.as_str())
}

/// Whether an address was assigned to the maker of the card, and to nobody else.
fn is_makers(address: &str) -> bool {
    let first = address.split([':', '-']).next().and_then(|byte| u8::from_str_radix(byte, 16).ok());
    first.is_some_and(|byte| byte & LOCAL == 0)
}

/// The addresses of the cards that belong to the machine.
fn addresses(system: &System) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for card in system.names(CARDS)?.unwrap_or_default() {
        found.extend(address(system, &format!("{CARDS}/{card}"))?);
    }
    Ok(found)
}

/// Not of bridges and tunnels, which have no device; not of the parts of a card that are given to guests; not of what
/// hangs on USB, which can be plugged into another machine.
fn address(system: &System, card: &str) -> Reading {
    let is_virtual = !system.has(&format!("{card}/device"))?;
    if is_virtual || system.has(&format!("{card}/device/physfn"))? {
        return Ok(None);
    }
    if system.link(&format!("{card}/device/subsystem"))?.as_deref() == Some("usb") {
        return Ok(None);
    }
    // A card in a bond bears the bond's address, and keeps its own here.
    let own = system.line(&format!("{card}/bonding_slave/perm_hwaddr"))?;
    let is_permanent = system.line(&format!("{card}/addr_assign_type"))?.is_none_or(|kind| kind == PERMANENT);
    let address = match own {
        Some(own) => Some(own),
        None if is_permanent => system.line(&format!("{card}/address"))?,
        None => None,
    };
    Ok(address.filter(|address| address.chars().any(|c| c.is_ascii_hexdigit() && c != '0')))
}
