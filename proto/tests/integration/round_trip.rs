//! What goes out comes back: core → message → bytes → message → core is the identity.

use speedup_core::value::id::HostId;
use std::fmt::Debug;

use proptest::prelude::*;
use prost::Message;
use speedup_core::agent::message::{AgentMessage, AttemptReport, CoordinatorMessage};
use speedup_core::experiment::Experiment;
use speedup_core::machine::event::{Change, EndedAttempt, Event, Tally};
use speedup_core::machine::{Explanation, Outlook};
use speedup_core::run::{lease::Lease, record::Record};
use speedup_core::{plan::Plan, value::time::Timestamp};
use speedup_proto::convert::{ExperimentStatus, ExportPart, Malformed, NotKept, OutboxEntry, Submission};
use speedup_proto::{encoded, journal_payload, outbox_payload, v1};

use crate::strategy::any_value;

fn comes_back<W, C>(core: &C, wire: &W)
where
    W: Message + Default + PartialEq,
    C: TryFrom<W, Error = Malformed> + PartialEq + Debug,
{
    let again = W::decode(wire.encode_to_vec().as_slice()).unwrap();
    assert!(again == *wire, "the bytes hold the message");
    assert_eq!(C::try_from(again).as_ref(), Ok(core));
}

proptest! {
    #[test]
    fn experiment(experiment in any_value::<Experiment>()) {
        comes_back(&experiment, &v1::Experiment::from(&experiment));
    }

    #[test]
    fn plan(plan in any_value::<Plan>()) {
        comes_back(&plan, &v1::Plan::from(&plan));
    }

    #[test]
    fn lease(lease in any_value::<Lease>()) {
        comes_back(&lease, &v1::Lease::from(&lease));
    }

    #[test]
    fn record(record in any_value::<Record>()) {
        comes_back(&record, &v1::Record::from(&record));
    }

    #[test]
    fn ended_attempt(attempt in any_value::<EndedAttempt>()) {
        comes_back(&attempt, &v1::EndedAttempt::from(&attempt));
    }

    #[test]
    fn outlook(outlook in any_value::<Outlook>()) {
        comes_back(&outlook, &v1::Outlook::from(&outlook));
    }

    #[test]
    fn agent_message(message in any_value::<AgentMessage>()) {
        comes_back::<v1::AgentMessage, _>(&message, &message.clone().into());
    }

    #[test]
    fn coordinator_message(message in any_value::<CoordinatorMessage>()) {
        comes_back::<v1::CoordinatorMessage, _>(&message, &message.clone().into());
    }

    #[test]
    fn report(report in any_value::<AttemptReport>()) {
        let sent = encoded::SentReport::from(&report);
        comes_back(&report, &sent);
        prop_assert_eq!(sent.record, Some(v1::Record::from(&report.record).encode_to_vec().into()));
    }

    #[test]
    fn tally(tally in any_value::<Tally>()) {
        comes_back(&tally, &v1::Tally::from(&tally));
    }

    #[test]
    fn status(status in any_value::<ExperimentStatus>()) {
        comes_back(&status, &v1::ExperimentStatus::from(&status));
        comes_back(&status, &v1::StoredStatus::from(&status));
    }

    #[test]
    fn submission(submission in any_value::<Submission>()) {
        comes_back(&submission, &v1::SubmitRequest::from(&submission));
    }

    #[test]
    fn explanation(explanation in any_value::<Explanation>()) {
        comes_back(&explanation, &v1::Explanation::from(&explanation));
    }

    #[test]
    fn export_part(part in any_value::<ExportPart>()) {
        comes_back(&part, &v1::ExportChunk::from(&part));
    }

    #[test]
    fn event(event in any_value::<Event>()) {
        let mut bytes = Vec::new();
        prop_assert_eq!(journal_payload::encode(&event, &mut bytes), Ok(()));
        prop_assert!(event.change.is_kept());
        prop_assert_eq!(journal_payload::decode(journal_payload::VERSION, &bytes), Ok(event));
    }

    #[test]
    fn outbox_entry(entry in any_value::<OutboxEntry>()) {
        let mut bytes = Vec::new();
        outbox_payload::encode(&entry, &mut bytes);
        prop_assert_eq!(outbox_payload::decode(outbox_payload::VERSION, &bytes), Ok(entry));
    }

    #[test]
    fn a_borrowed_report_is_the_same_entry(report in any_value::<AttemptReport>()) {
        let (mut borrowed, mut owned) = (Vec::new(), Vec::new());
        outbox_payload::encode_report(&report, &mut borrowed);
        outbox_payload::encode(&OutboxEntry::Report(Box::new(report)), &mut owned);
        prop_assert_eq!(borrowed, owned);
    }
}

#[test]
fn what_the_journal_does_not_keep_is_not_encoded() {
    let host: HostId = "h1".parse().unwrap();
    for change in
        [Change::HostAsked { host: host.clone() }, Change::HostPassed { host: host.clone(), until: None }]
    {
        let mut bytes = Vec::new();
        assert!(!change.is_kept());
        let event = Event { at: Timestamp(1), change };
        assert_eq!(journal_payload::encode(&event, &mut bytes), Err(NotKept));
        assert!(bytes.is_empty());
    }
}
