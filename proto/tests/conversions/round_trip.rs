//! What goes out comes back: core → message → bytes → message → core is the identity.

use speedup_core::value::id::HostId;
use std::fmt::Debug;

use proptest::prelude::*;
use prost::Message;
use speedup_core::{machine::event::Change, machine::event::Event, value::time::Timestamp};
use speedup_proto::{convert::Malformed, convert::NotKept, encoded, journal_payload, outbox_payload, v1};

use crate::strategy;

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
    fn experiment(experiment in strategy::experiment()) {
        comes_back(&experiment, &v1::Experiment::from(&experiment));
    }

    #[test]
    fn plan(plan in strategy::plan()) {
        comes_back(&plan, &v1::Plan::from(&plan));
    }

    #[test]
    fn lease(lease in strategy::lease()) {
        comes_back(&lease, &v1::Lease::from(&lease));
    }

    #[test]
    fn record(record in strategy::record()) {
        comes_back(&record, &v1::Record::from(&record));
    }

    #[test]
    fn ended_attempt(attempt in strategy::ended_attempt()) {
        comes_back(&attempt, &v1::EndedAttempt::from(&attempt));
    }

    #[test]
    fn outlook(outlook in strategy::outlook()) {
        comes_back(&outlook, &v1::Outlook::from(&outlook));
    }

    #[test]
    fn agent_message(message in strategy::agent_message()) {
        comes_back::<v1::AgentMessage, _>(&message, &message.clone().into());
    }

    #[test]
    fn coordinator_message(message in strategy::coordinator_message()) {
        comes_back::<v1::CoordinatorMessage, _>(&message, &message.clone().into());
    }

    #[test]
    fn report(report in strategy::report()) {
        let sent = encoded::SentReport::from(&report);
        comes_back(&report, &sent);
        prop_assert_eq!(sent.record, Some(v1::Record::from(&report.record).encode_to_vec().into()));
    }

    #[test]
    fn tally(tally in strategy::tally()) {
        comes_back(&tally, &v1::Tally::from(&tally));
    }

    #[test]
    fn status(status in strategy::status()) {
        comes_back(&status, &v1::ExperimentStatus::from(&status));
        comes_back(&status, &v1::StoredStatus::from(&status));
    }

    #[test]
    fn submission(submission in strategy::submission()) {
        comes_back(&submission, &v1::SubmitRequest::from(&submission));
    }

    #[test]
    fn explanation(explanation in strategy::explanation()) {
        comes_back(&explanation, &v1::Explanation::from(&explanation));
    }

    #[test]
    fn export_part(part in strategy::export_part()) {
        comes_back(&part, &v1::ExportChunk::from(&part));
    }

    #[test]
    fn event(event in strategy::event()) {
        let mut bytes = Vec::new();
        prop_assert_eq!(journal_payload::encode(&event, &mut bytes), Ok(()));
        prop_assert!(event.change.is_kept());
        prop_assert_eq!(journal_payload::decode(journal_payload::VERSION, &bytes), Ok(event));
    }

    #[test]
    fn outbox_entry(entry in strategy::outbox_entry()) {
        let mut bytes = Vec::new();
        outbox_payload::encode(&entry, &mut bytes);
        prop_assert_eq!(outbox_payload::decode(outbox_payload::VERSION, &bytes), Ok(entry));
    }

    #[test]
    fn a_borrowed_report_is_the_same_entry(report in strategy::report()) {
        let (mut borrowed, mut owned) = (Vec::new(), Vec::new());
        outbox_payload::encode_report(&report, &mut borrowed);
        outbox_payload::encode(&speedup_proto::convert::OutboxEntry::Report(Box::new(report)), &mut owned);
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
