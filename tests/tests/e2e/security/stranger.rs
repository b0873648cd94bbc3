//! Strangers at the agents' door: garbage, oversized and out-of-order messages, reports of runs that were never given.

use std::{io::Read as _, io::Write as _, net::TcpStream};

use prost::Message as _;
use speedup_access::Role;
use speedup_proto::{encoded::SentReport, v1, v1::agents_client::AgentsClient};
use speedup_tests::{pool::PATIENCE, pool::Pool, pool::eventually, wire::join};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{Code, Status, transport::Channel};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::SPEEDUP;

type Answer = Result<v1::CoordinatorMessage, Status>;

/// A client with the certificate of a host.
async fn client_of(pool: &Pool, host: &str) -> AgentsClient<Channel> {
    AgentsClient::new(pool.channel_of(host, Role::Agent).await)
}

/// Says messages in one session of this host; gives all that was answered until the session ended.
async fn session(pool: &Pool, host: &str, messages: Vec<v1::AgentMessage>) -> Vec<Answer> {
    let mut client = client_of(pool, host).await;
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

fn report(lease: u64) -> v1::AgentMessage {
    let record =
        v1::Record { outcome: Some(v1::record::Outcome::Measured(v1::Measured {})), ..Default::default() };
    let record = v1::Record { stdout: Some(stream()), stderr: Some(stream()), ..record };
    let record = Some(record.encode_to_vec().into());
    message(v1::agent_message::Message::Report(SentReport { lease, executed_by: 1, record }))
}

fn stream() -> v1::StreamOutput {
    v1::StreamOutput { bytes: 0, blake3: vec![0; 32], kept: Vec::new() }
}

fn code(answers: &[Answer]) -> Option<Code> {
    answers.last()?.as_ref().err().map(Status::code)
}

/// On threads of its own, so that connections end while the test waits for processes.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_turned_away_and_the_service_goes_on() {
    let pool = Pool::start(SPEEDUP, 1);

    let empty = session(&pool, "a", vec![v1::AgentMessage { message: None }]).await;
    assert_eq!(code(&empty), Some(Code::InvalidArgument), "{empty:?}");

    let early = session(&pool, "a", vec![report(0)]).await;
    assert_eq!(code(&early), Some(Code::FailedPrecondition), "{early:?}");

    let nameless = session(&pool, "a", vec![join("")]).await;
    assert_eq!(code(&nameless), Some(Code::InvalidArgument), "{nameless:?}");

    let huge = session(&pool, "a", vec![join(&"x".repeat(8 << 20))]).await;
    assert_eq!(code(&huge), Some(Code::OutOfRange), "{huge:?}");

    // A second Join ends the session without a word.
    let twice = session(&pool, "twice", vec![join("twice"), join("twice")]).await;
    assert!(twice.iter().all(Result::is_ok), "{twice:?}");

    let claimed = session(&pool, "host-0", vec![join("host-0")]).await;
    let turned_away = |answer: &Answer| {
        let message = answer.as_ref().ok().and_then(|answer| answer.message.as_ref());
        matches!(message, Some(v1::coordinator_message::Message::TurnedAway(_)))
    };
    assert!(claimed.iter().any(turned_away), "the host has an agent already: {claimed:?}");

    never_given(&pool).await;
    garbage(&pool);

    // The class of most hosts is the one that an experiment takes: theirs must not be.
    eventually("the strangers are gone", || {
        let hosts = pool.json(&["hosts", "list"])?;
        let connected = hosts.as_array()?.iter().filter(|host| host["connected"] == true);
        (connected.count() == 1).then_some(())
    });
    let plan = "[experiment]\nname = \"after\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
        [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n";
    pool.finish(plan);
}

/// Bytes that are no HTTP, and HTTP that is no gRPC.
fn garbage(pool: &Pool) {
    let address = pool.url().replace("https://", "");
    for bytes in
        [&[0xA5_u8; 4_096][..], b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xFF\xFF\xFF"]
    {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // Whatever is answered, the connection ends; a reset, even while this is written, is an end as well.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

#[tokio::test]
async fn the_standard_services_answer() {
    let pool = Pool::without_agents(SPEEDUP);
    let channel = pool.channel(None).await;
    let mut health = HealthClient::new(channel.clone());
    for service in ["speedup.v1.Experiments", "speedup.v1.Hosts", "speedup.v1.Agents"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = health.check(request).await.expect("an answer").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let mut reflection = ServerReflectionClient::new(channel);
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection.server_reflection_info(tokio_stream::iter([list])).await.expect("an answer");
    let answer = answers.into_inner().next().await.expect("one").expect("a message");
    let Some(MessageResponse::ListServicesResponse(listed)) = answer.message_response else {
        panic!("services are listed: {answer:?}");
    };
    let names: Vec<String> = listed.service.into_iter().map(|service| service.name).collect();
    for service in ["speedup.v1.Experiments", "speedup.v1.Hosts", "speedup.v1.Agents", "speedup.v1.Analysis"]
    {
        assert!(names.iter().any(|name| name == service), "{service} is among {names:?}");
    }
}

/// A report of a lease that was never given is refused and changes nothing.
async fn never_given(pool: &Pool) {
    let mut client = client_of(pool, "liar").await;
    // Open until the end of this function: the connection is not closed while there may be more to say.
    let (_open, more) = tokio::sync::mpsc::channel(1);
    let up = tokio_stream::iter(vec![join("liar"), report(4_711)]).chain(ReceiverStream::new(more));
    let mut down = client.session(up).await.expect("a session").into_inner();
    let welcome = down.next().await.expect("an answer").expect("a message");
    assert!(matches!(welcome.message, Some(v1::coordinator_message::Message::Welcome(_))), "{welcome:?}");
    let refused = down.next().await.expect("an answer").expect("a message");
    match refused.message {
        Some(v1::coordinator_message::Message::Refused(refused)) => assert_eq!(refused.lease, 4_711),
        other => panic!("not refused: {other:?}"),
    }
}
