//! Whatever bytes come: they are refused or converted, and nothing panics.

use proptest::{collection::vec, prelude::*};
use prost::Message;
use speedup_core::agent::message::{AgentMessage, CoordinatorMessage};
use speedup_core::host::HostFacts;
use speedup_core::machine::event::{EndedAttempt, Event, Tally};
use speedup_core::machine::{Command, Explanation, Request};
use speedup_core::plan::Plan;
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_proto::convert::{Blob, ExperimentStatus, ExportPart, Malformed, Proposal, Submission};
use speedup_proto::{journal_payload, outbox_payload, v1};

use crate::strategy::any_value;

/// Decodes, converts, and asks of what came out what the heart would.
fn take<W: Message + Default, C: TryFrom<W, Error = Malformed>>(bytes: &[u8]) -> Option<C> {
    match C::try_from(W::decode(bytes).ok()?) {
        Ok(core) => Some(core),
        Err(malformed) => {
            assert!(!malformed.field.is_empty(), "{malformed}");
            None
        }
    }
}

fn take_as_everything(bytes: &[u8]) {
    take::<v1::AgentMessage, AgentMessage>(bytes);
    take::<v1::CoordinatorMessage, CoordinatorMessage>(bytes);
    take::<v1::SubmitRequest, Submission>(bytes);
    take::<v1::CheckRequest, Proposal>(bytes);
    take::<v1::StoredStatus, ExperimentStatus>(bytes);
    take::<v1::GetRequest, ExperimentId>(bytes);
    take::<v1::ChangeRequest, Request>(bytes);
    take::<v1::ExtendRequest, Command>(bytes);
    take::<v1::ExperimentStatus, ExperimentStatus>(bytes);
    take::<v1::Explanation, Explanation>(bytes);
    take::<v1::ExportChunk, ExportPart>(bytes);
    take::<v1::HostFacts, HostFacts>(bytes);
    take::<v1::Blob, Blob>(bytes);
    if let Some(tally) = take::<v1::Tally, Tally>(bytes) {
        tally.runs();
    }
    if let Some(plan) = take::<v1::Plan, Plan>(bytes) {
        (0..plan.runs()).for_each(|run| {
            plan.task(RunIndex(run));
        });
    }
    let _ = journal_payload::decode(journal_payload::VERSION, bytes);
    let _ = outbox_payload::decode(outbox_payload::VERSION, bytes);
}

/// Valid bytes with a few of them changed, removed or doubled.
pub(crate) fn mutated(valid: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let mutations = vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..5);
    (valid, mutations).prop_map(|(mut bytes, mutations)| {
        for (at, byte, how) in mutations {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

pub(crate) fn encoded_event() -> impl Strategy<Value = Vec<u8>> {
    any_value::<Event>().prop_map(|event| {
        let mut bytes = Vec::new();
        journal_payload::encode(&event, &mut bytes).unwrap();
        bytes
    })
}

fn encoded_message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any_value::<AgentMessage>().prop_map(|message| v1::AgentMessage::from(message).encode_to_vec()),
        any_value::<CoordinatorMessage>()
            .prop_map(|message| v1::CoordinatorMessage::from(message).encode_to_vec()),
        any_value::<Plan>().prop_map(|plan| v1::Plan::from(&plan).encode_to_vec()),
        any_value::<ExperimentStatus>()
            .prop_map(|status| v1::ExperimentStatus::from(&status).encode_to_vec()),
        any_value::<ExperimentStatus>().prop_map(|status| v1::StoredStatus::from(&status).encode_to_vec()),
        any_value::<Submission>().prop_map(|submission| v1::SubmitRequest::from(&submission).encode_to_vec()),
        any_value::<ExportPart>().prop_map(|part| v1::ExportChunk::from(&part).encode_to_vec()),
        any_value::<EndedAttempt>().prop_map(|attempt| v1::EndedAttempt::from(&attempt).encode_to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        take_as_everything(&bytes);
    }

    #[test]
    fn mutated_events_are_taken_or_refused(bytes in mutated(encoded_event())) {
        take_as_everything(&bytes);
    }

    #[test]
    fn mutated_messages_are_taken_or_refused(bytes in mutated(encoded_message())) {
        take_as_everything(&bytes);
    }
}
