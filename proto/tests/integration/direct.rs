//! Attempts and events that are read without messages are what the messages give, and wrong in the same words; those that are
//! written without have the bytes of the messages.

use proptest::prelude::*;
use prost::Message;
use speedup_core::machine::event::{EndedAttempt, Event};
use speedup_proto::encoded::ExportAttempts;
use speedup_proto::journal::v1 as journal;
use speedup_proto::{convert, journal_payload, payload::PayloadError, v1};

use crate::{hostile::encoded_event, hostile::mutated, strategy::any_value};

fn encoded_attempt() -> impl Strategy<Value = Vec<u8>> {
    any_value::<EndedAttempt>().prop_map(|attempt| v1::EndedAttempt::from(&attempt).encode_to_vec())
}

/// Reads an attempt of an export both ways.
fn compare_attempt(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let by_messages = v1::EndedAttempt::decode(bytes.as_slice());
    let attempts = ExportAttempts { attempts: vec![bytes.into()] };
    let read = attempts.read().next().unwrap();
    match by_messages {
        Ok(wire) => match EndedAttempt::try_from(wire) {
            Ok(attempt) => prop_assert_eq!(read, Ok(attempt)),
            Err(malformed) => {
                let told = read.unwrap_err();
                prop_assert_eq!(told.why, malformed.why);
                prop_assert_eq!(told.field, format!("attempts.attempts[0].{}", malformed.field));
            }
        },
        Err(error) => {
            let told = read.unwrap_err().to_string();
            prop_assert!(told.starts_with("attempts.attempts[0].message: "), "{}", told);
            prop_assert!(told.ends_with(&error.to_string()), "{}", told);
        }
    }
    Ok(())
}

/// Reads an event of the journal both ways.
fn compare_event(bytes: &[u8]) -> Result<(), TestCaseError> {
    let read = journal_payload::decode(journal_payload::VERSION, bytes);
    match journal::Event::decode(bytes).map(Event::try_from) {
        // As text: a plan may have numbers that are none, which are not equal to themselves.
        Ok(Ok(event)) => prop_assert_eq!(format!("{read:?}"), format!("{:?}", Ok::<_, PayloadError>(event))),
        Ok(Err(malformed)) => {
            let told = read.unwrap_err();
            prop_assert!(
                matches!(&told, PayloadError::Malformed { source, .. } if *source == malformed),
                "{told}"
            );
        }
        Err(error) => {
            let told = read.unwrap_err();
            prop_assert!(matches!(&told, PayloadError::Bytes { source, .. } if *source == error), "{told}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn attempts_are_written_as_messages(attempt in any_value::<EndedAttempt>()) {
        prop_assert_eq!(convert::encoded_attempt(&attempt), v1::EndedAttempt::from(&attempt).encode_to_vec());
    }

    #[test]
    fn events_are_written_as_messages(event in any_value::<Event>()) {
        let mut bytes = Vec::new();
        journal_payload::encode(&event, &mut bytes).unwrap();
        prop_assert_eq!(bytes, journal::Event::try_from(&event).unwrap().encode_to_vec());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn attempts(bytes in encoded_attempt()) {
        compare_attempt(bytes)?;
    }

    #[test]
    fn mutated_attempts(bytes in mutated(encoded_attempt())) {
        compare_attempt(bytes)?;
    }

    /// Two messages on end are one, of which each field is merged.
    #[test]
    fn attempts_on_end(first in encoded_attempt(), second in encoded_attempt()) {
        compare_attempt([first, second].concat())?;
    }

    #[test]
    fn events(bytes in encoded_event()) {
        compare_event(&bytes)?;
    }

    #[test]
    fn mutated_events(bytes in mutated(encoded_event())) {
        compare_event(&bytes)?;
    }

    #[test]
    fn events_on_end(first in encoded_event(), second in encoded_event()) {
        compare_event(&[first, second].concat())?;
    }
}
