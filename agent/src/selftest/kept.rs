//! The result of the last selftest, in the agent's state directory.
//!
//! It holds for one boot and one release: another kernel or another timer is another instrument.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};
use speedup_core::value::id::BootId;

use super::Selftest;

const FILE: &str = "selftest.json";
const RELEASE: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    release: String,
    boot: BootId,
    selftest: Selftest,
}

/// The last selftest, if it was of this boot and this release. A file that cannot be read is none.
pub fn read(state: &Path, boot: &BootId) -> Option<Selftest> {
    let text = std::fs::read(state.join(FILE)).ok()?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    (kept.release == RELEASE && kept.boot == *boot).then_some(kept.selftest)
}

/// Keeps a selftest; whole or not at all.
///
/// # Errors
/// When the state directory cannot be written to.
pub fn write(state: &Path, boot: &BootId, selftest: &Selftest) -> io::Result<()> {
    let kept = Kept { release: RELEASE.to_owned(), boot: boot.clone(), selftest: selftest.clone() };
    speedup_journal::private::create_directories(state)?;
    let aside = state.join(format!("{FILE}.new"));
    std::fs::write(&aside, serde_json::to_vec_pretty(&kept)?)?;
    std::fs::rename(aside, state.join(FILE))
}
