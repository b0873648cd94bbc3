//! Strangers at the agents' door: garbage, oversized and out-of-order messages, reports of runs that were never given.

use speedup_proto::v1;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_tests::pool::{Pool, eventually};
use tokio_stream::StreamExt as _;
use tonic::{Code, Status};

use crate::SPEEDUP;

type Answer = Result<v1::CoordinatorMessage, Status>;

/// Says messages in one session; gives all that was answered until the session ended.
async fn session(pool: &Pool, messages: Vec<v1::AgentMessage>) -> Vec<Answer> {
    let mut client = AgentsClient::connect(pool.url()).await.expect("a connection");
    // The stream stays open after the messages, so that it is the coordinator that ends the session.
    let up = tokio_stream::iter(messages).chain(tokio_stream::pending());
    match client.session(up).await {
        Ok(down) => down.into_inner().collect().await,
        Err(status) => vec![Err(status)],
    }
}

fn message(message: v1::agent_message::Message) -> v1::AgentMessage {
    v1::AgentMessage { message: Some(message) }
}

fn join(host: &str) -> v1::AgentMessage {
    let facts = v1::HostFacts { host: host.to_owned(), boot: "boot".to_owned(), ..Default::default() };
    message(v1::agent_message::Message::Join(v1::Join {
        facts: Some(facts),
        agent: vec![7; 16],
        agent_epoch: 1,
    }))
}

fn report(lease: u64) -> v1::AgentMessage {
    let record =
        v1::Record { outcome: Some(v1::record::Outcome::Measured(v1::Measured {})), ..Default::default() };
    let record = v1::Record { stdout: Some(stream()), stderr: Some(stream()), ..record };
    message(v1::agent_message::Message::Report(v1::Report { lease, executed_by: 1, record: Some(record) }))
}

fn stream() -> v1::StreamOutput {
    v1::StreamOutput { bytes: 0, blake3: vec![0; 32], kept: Vec::new() }
}

fn code(answers: &[Answer]) -> Option<Code> {
    answers.last()?.as_ref().err().map(Status::code)
}

#[tokio::test]
async fn strangers_are_turned_away_and_the_service_goes_on() {
    let pool = Pool::start(SPEEDUP, 1);

    let empty = session(&pool, vec![v1::AgentMessage { message: None }]).await;
    assert_eq!(code(&empty), Some(Code::InvalidArgument), "{empty:?}");

    let early = session(&pool, vec![report(0)]).await;
    assert_eq!(code(&early), Some(Code::FailedPrecondition), "{early:?}");

    let nameless = session(&pool, vec![join("")]).await;
    assert_eq!(code(&nameless), Some(Code::InvalidArgument), "{nameless:?}");

    let huge = session(&pool, vec![join(&"x".repeat(8 << 20))]).await;
    assert_eq!(code(&huge), Some(Code::OutOfRange), "{huge:?}");

    // A second Join ends the session without a word.
    let twice = session(&pool, vec![join("twice"), join("twice")]).await;
    assert!(twice.iter().all(Result::is_ok), "{twice:?}");

    let claimed = session(&pool, vec![join("host-0")]).await;
    let turned_away = |answer: &Answer| {
        let message = answer.as_ref().ok().and_then(|answer| answer.message.as_ref());
        matches!(message, Some(v1::coordinator_message::Message::TurnedAway(_)))
    };
    assert!(claimed.iter().any(turned_away), "the host has an agent already: {claimed:?}");

    never_given(&pool).await;

    let plan = "[experiment]\nname = \"after\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
        [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n";
    let experiment = pool.submit(plan, &[]);
    eventually("the service goes on", || pool.is_finished(&experiment).then_some(()));
}

/// A report of a lease that was never given is refused and changes nothing.
async fn never_given(pool: &Pool) {
    let mut client = AgentsClient::connect(pool.url()).await.expect("a connection");
    let up = tokio_stream::iter(vec![join("liar"), report(4_711)]).chain(tokio_stream::pending());
    let mut down = client.session(up).await.expect("a session").into_inner();
    let welcome = down.next().await.expect("an answer").expect("a message");
    assert!(matches!(welcome.message, Some(v1::coordinator_message::Message::Welcome(_))), "{welcome:?}");
    let refused = down.next().await.expect("an answer").expect("a message");
    match refused.message {
        Some(v1::coordinator_message::Message::Refused(refused)) => assert_eq!(refused.lease, 4_711),
        other => panic!("not refused: {other:?}"),
    }
}
