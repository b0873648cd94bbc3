//! Laws of fingerprints and of the ids that are hashes.

use std::collections::BTreeMap;

use proptest::{collection::btree_map, prelude::*};

use super::*;

fn value(text: &str) -> Fact {
    Fact::Value(text.to_owned())
}

fn unreadable(why: &str) -> Fact {
    Fact::Unreadable(why.to_owned())
}

fn fingerprint<const N: usize>(facts: [(&str, Fact); N]) -> Fingerprint {
    Fingerprint::new(facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect()).unwrap()
}

fn any_fact() -> impl Strategy<Value = Fact> {
    prop_oneof!["[ab]{0,2}".prop_map(Fact::Value), Just(Fact::Absent), "[ab]{0,2}".prop_map(Fact::Unreadable)]
}

fn any_fingerprint() -> impl Strategy<Value = Fingerprint> {
    btree_map("[ab]{0,2}", any_fact(), 0..5).prop_map(|facts| Fingerprint::new(facts).unwrap())
}

/// Whoever changes the encoding gives it a new version: classes are pinned by experiments that are kept.
#[test]
fn the_encoding_of_a_class_is_fixed() {
    assert_eq!(Fingerprint::default().class().to_string(), EMPTY_CLASS);
    let facts = [("cpu.model", value("A")), ("cpu.turbo", unreadable("no")), ("x", Fact::Absent)];
    assert_eq!(fingerprint(facts).class().to_string(), SOME_CLASS);
    let hardware = HardwareId::from_marks([("serial", "1"), ("address", "02:00")]).unwrap();
    assert_eq!(hardware.to_string(), SOME_HARDWARE);
}

const EMPTY_CLASS: &str = "8c8fdc5d2de2caf0d6e4ca3ed4e2a3cc";
const SOME_CLASS: &str = "06751ae1aa9de21f1e70601b8ec473fe";
const SOME_HARDWARE: &str = "aeb23ad90d2dde9f7658df717680f178";

#[test]
fn unreadable_is_neither_a_value_nor_absent() {
    let facts = [value(""), Fact::Absent, unreadable("")];
    for (at, here) in facts.iter().enumerate() {
        for (of, there) in facts.iter().enumerate() {
            let (here, there) = (fingerprint([("a", here.clone())]), fingerprint([("a", there.clone())]));
            assert_eq!(here.class() == there.class(), at == of, "{here:?} {there:?}");
            assert_eq!(here.differences(&there).is_empty(), at == of, "{here:?} {there:?}");
        }
    }
}

#[test]
fn why_a_fact_cannot_be_read_tells_no_host_from_another() {
    let hosts = ["Permission denied", "Input/output error"].map(|why| fingerprint([("a", unreadable(why))]));
    assert_eq!(hosts[0].class(), hosts[1].class());
    assert_eq!(hosts[0].differences(&hosts[1]), []);
    assert_eq!(hosts[0].unreadable().collect::<Vec<_>>(), [("a", "Permission denied")]);
}

#[test]
fn a_difference_says_what_is_here_and_what_is_there() {
    let here = fingerprint([("a", value("1")), ("b", value("2")), ("c", Fact::Absent)]);
    let there = fingerprint([("a", value("1")), ("b", unreadable("no")), ("d", value("4"))]);
    let difference = |fact: &str, here, there| Difference { fact: fact.to_owned(), here, there };
    let expected = [difference("b", value("2"), unreadable("no")), difference("d", Fact::Absent, value("4"))];
    assert_eq!(here.differences(&there), expected);
}

#[test]
fn facts_are_bounded() {
    let many = |count: usize| (0..count).map(|fact| (fact.to_string(), Fact::Absent)).collect();
    assert!(Fingerprint::new(many(MAX_FACTS)).is_ok());
    assert_eq!(Fingerprint::new(many(MAX_FACTS + 1)), Err(FingerprintError::TooMany(MAX_FACTS + 1)));
    let long = |bytes: usize| [("a".to_owned(), unreadable(&"x".repeat(bytes)))].into();
    assert!(Fingerprint::new(long(MAX_FACT_BYTES)).is_ok());
    let bytes = MAX_FACT_BYTES + 1;
    let refused = FingerprintError::TooLong { name: "a".to_owned(), bytes };
    assert_eq!(Fingerprint::new(long(bytes)), Err(refused));
    let name = "n".repeat(bytes);
    let told = FingerprintError::TooLong { name: "n".repeat(64), bytes };
    assert_eq!(Fingerprint::new([(name, Fact::Absent)].into()), Err(told));
}

#[test]
fn json_has_a_text_nothing_or_a_reason() {
    let facts = fingerprint([("a", value("1")), ("b", Fact::Absent), ("c", unreadable("no"))]);
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(json, r#"{"a":"1","b":null,"c":{"unreadable":"no"}}"#);
    assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), facts);
    assert!(serde_json::from_str::<Fingerprint>(r#"{"a": 1}"#).is_err());
}

#[test]
fn ids_have_one_text() {
    let class = Fingerprint::default().class();
    let text = class.to_string();
    assert_eq!(text.parse(), Ok(class));
    assert_eq!(format!("{class:.12}"), text[..12]);
    let uneven = &text[1..];
    for wrong in ["", uneven, &text.to_uppercase(), &format!("{text}00"), &text.replace('e', "g"), "é"] {
        assert_eq!(wrong.parse::<ClassId>(), Err(HashIdError), "{wrong}");
    }
}

#[test]
fn hardware_is_known_by_its_marks_in_any_order() {
    assert_eq!(HardwareId::from_marks([]), None);
    let marks = [("a", "1"), ("b", "2")];
    let id = HardwareId::from_marks(marks);
    assert_eq!(HardwareId::from_marks([marks[1], marks[0], marks[1]]), id);
    assert_ne!(HardwareId::from_marks([("a", "2"), ("b", "1")]), id);
    assert_ne!(HardwareId::from_marks([("a1", ""), ("b", "2")]), id);
}

proptest! {
    #[test]
    fn a_class_is_what_has_no_differences(here in any_fingerprint(), there in any_fingerprint()) {
        prop_assert_eq!(here.class() == there.class(), here.differences(&there).is_empty());
        let mirrored = there.differences(&here);
        let back: Vec<Difference> = mirrored
            .into_iter()
            .map(|Difference { fact, here, there }| Difference { fact, here: there, there: here })
            .collect();
        prop_assert_eq!(here.differences(&there), back);
    }

    #[test]
    fn one_change_is_one_difference(
        here in any_fingerprint(), name in "[ab]{0,2}", fact in any_fact()
    ) {
        let mut facts: BTreeMap<String, Fact> = here.clone().into();
        facts.insert(name.clone(), fact.clone());
        let there = Fingerprint::new(facts).unwrap();
        let expected: Vec<String> = if here.get(&name).is_like(&fact) { vec![] } else { vec![name] };
        let named: Vec<String> = here.differences(&there).into_iter().map(|d| d.fact).collect();
        prop_assert_eq!(here.class() == there.class(), expected.is_empty());
        prop_assert_eq!(named, expected);
    }
}
