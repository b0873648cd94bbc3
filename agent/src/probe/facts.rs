//! Facts as they are gathered.

use std::collections::BTreeMap;

use speedup_core::fingerprint::{Fact, Fingerprint, MAX_FACT_BYTES};

use super::system::Reading;

/// The facts that were found so far.
#[derive(Debug, Default)]
pub(super) struct Facts(BTreeMap<String, Fact>);

impl Facts {
    /// States what a reading gave, absence included.
    pub(super) fn state(&mut self, name: &str, reading: Reading) {
        let fact = match reading {
            Ok(Some(value)) => Fact::Value(within_bounds(value)),
            Ok(None) => Fact::Absent,
            Err(why) => Fact::Unreadable(within_bounds(why)),
        };
        self.0.insert(name.to_owned(), fact);
    }

    /// States what is known already.
    pub(super) fn keep(&mut self, name: &str, fact: &Fact) {
        self.0.insert(name.to_owned(), fact.clone());
    }

    /// States it unless it is absent: what only some kinds of machines have is not told of the others.
    pub(super) fn state_if_there(&mut self, name: &str, reading: Reading) {
        if !matches!(reading, Ok(None)) {
            self.state(name, reading);
        }
    }

    pub(super) fn into_fingerprint(self) -> Fingerprint {
        Fingerprint::new(self.0).expect("values are cut, and each reader states a bounded number of facts")
    }
}

/// What is too long keeps its beginning and the hash of the whole, so that no difference is lost.
fn within_bounds(text: String) -> String {
    if text.len() <= MAX_FACT_BYTES {
        return text;
    }
    let hash = format!(" ... BLAKE3 {}", blake3::hash(text.as_bytes()).to_hex());
    format!("{}{hash}", &text[..text.floor_char_boundary(MAX_FACT_BYTES - hash.len())])
}

/// How often each value occurs, in the order in which they first do: `4 x performance, 4 x powersave`; a value that all
/// share stands alone.
pub(super) fn tally(values: impl IntoIterator<Item = String>) -> Option<String> {
    let mut counts: BTreeMap<String, (usize, u32)> = BTreeMap::new();
    for (at, value) in values.into_iter().enumerate() {
        counts.entry(value).or_insert((at, 0)).1 += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (first, _))| *first);
    if let [(value, _)] = counts.as_slice() {
        return Some(value.clone());
    }
    let counted: Vec<String> =
        counts.iter().map(|(value, (_, count))| format!("{count} x {value}")).collect();
    (!counted.is_empty()).then(|| counted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_still_differs() {
        let long = |end: &str| within_bounds(format!("{}{end}", "é".repeat(MAX_FACT_BYTES)));
        assert!(long("a").len() <= MAX_FACT_BYTES && long("a").starts_with("éé"));
        assert_ne!(long("a"), long("b"));
        let just = "x".repeat(MAX_FACT_BYTES);
        assert_eq!(within_bounds(just.clone()), just);
    }

    #[test]
    fn a_tally_counts_only_what_differs() {
        let tally = |values: &[&str]| tally(values.iter().map(ToString::to_string));
        assert_eq!(tally(&[]), None);
        assert_eq!(tally(&["a", "a"]).as_deref(), Some("a"));
        assert_eq!(tally(&["b", "a", "b"]).as_deref(), Some("2 x b, 1 x a"));
    }
}
