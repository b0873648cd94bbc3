//! Whatever comes over the network: every method of the API, over its real connection and through its real door, and the
//! forms and queries of the web page. It is answered or refused, nothing panics, and the service goes on.

use std::collections::BTreeMap;

use prost::bytes::{Buf as _, BufMut as _};
use speedup_access::Role;
use speedup_core::value::seed::{Seed, below};
use speedup_tests::{plan::trivial, pool::Pool, wire::Api, wire::Method};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::{SPEEDUP, security::page::Browser};

/// How often each method is called.
const CALLS: usize = 60;
/// How often each route of the page is asked.
const ASKED: usize = 12;
/// What says nothing before there is something to say.
const SILENT: &str = "/speedup.v1.Experiments/WatchUndecided";

/// Messages as the bytes they are.
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}

/// Calls a method; gives the code it ends with, as far as its first answer.
async fn call(channel: &Channel, method: &Method, messages: Vec<Vec<u8>>) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.expect("the coordinator is there");
    let path = PathAndQuery::try_from(method.path.as_str()).expect("a path");
    let asked = Request::new(tokio_stream::iter(messages));
    let mut answers = client.streaming(asked, path, Raw).await?.into_inner();
    if method.path != SILENT {
        answers.message().await?;
    }
    Ok(())
}

/// Whether a refusal is one that was meant: a bug is a code that nobody chose, or a broken stream.
fn is_meant(status: &Status) -> bool {
    match status.code() {
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unauthenticated => true,
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::Internal
        | Code::Unimplemented
        | Code::Unavailable
        | Code::DataLoss => false,
    }
}

fn is_undecodable(status: &Status) -> bool {
    status.code() == Code::InvalidArgument && status.message().contains("failed to decode Protobuf message")
}

fn is_agents(method: &Method) -> bool {
    method.path.contains(".Agents/") || method.path.ends_with("Files/Get")
}

#[tokio::test]
async fn every_method_takes_or_refuses_whatever_is_sent() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let experiment = pool.submit(&trivial("fuzzed", 2), &["--wait-for-hosts"]);
    let api = Api::described(vec![experiment]);
    let admin = pool.channel(None).await;
    let agent = pool.channel_of("elsewhere", Role::Agent).await;
    let mut random = Seed(20_261_122).child("fuzz");
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    for method in api.methods() {
        let channel = if is_agents(method) { &agent } else { &admin };
        let reached = reached.entry(&method.path).or_default();
        for number in 0..CALLS {
            let messages = if method.streams_in { 1 + below(3, &mut random) } else { 1 };
            let messages: Vec<Vec<u8>> =
                (0..messages).map(|_| api.bytes(&method.input, &mut random)).collect();
            let sent = format!("{} call {number}: {messages:02x?}", method.path);
            match call(channel, method, messages).await {
                Ok(()) => *reached += 1,
                Err(status) => {
                    assert!(is_meant(&status), "{status:?}: {sent}");
                    *reached += usize::from(!is_undecodable(&status));
                }
            }
        }
    }
    // By the description, so that a method that is new is called as well; and past the decoding of its message.
    assert_eq!(reached.len(), api.methods().len(), "each method once");
    assert!(reached.len() >= 41, "{reached:?}");
    assert!(reached.values().all(|reached| *reached > CALLS / 10), "{reached:?}");
    assert!(
        reached.values().any(|reached| *reached < CALLS),
        "some were no messages, and told so: {reached:?}"
    );
    goes_on(&mut pool);
}

#[test]
fn every_route_of_the_page_takes_or_refuses_whatever_is_sent() {
    const WORDS: [&str; 12] = [
        "",
        "x",
        "0",
        "-1",
        "18446744073709551616",
        "%00",
        "%ff%fe",
        "..%2f..%2fetc%2fpasswd",
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "%F0%9F%92%A5",
        "a=b&a=c&&==",
        "[[[[",
    ];
    let mut pool = Pool::without_agents(SPEEDUP);
    let experiment = pool.submit(&trivial("fuzzed", 2), &["--wait-for-hosts"]);
    let browser = Browser::of(&pool, &pool.access_file());
    let token = browser.get("/").form_token().to_owned();
    let mut random = Seed(20_261_122).child("page");
    let mut word = || WORDS[below(WORDS.len() as u64, &mut random) as usize];
    for _ in 0..ASKED {
        let of = |word: &str| if word.is_empty() { experiment.clone() } else { word.to_owned() };
        let asked = [
            format!("/?page={}", word()),
            format!("/experiments/{}?page={}", of(word()), word()),
            format!("/experiments/{}/report?page={}", of(word()), word()),
            format!("/hosts?after={}", word()),
            format!("/hosts/find?host={}&{}", word(), word()),
            format!("/hosts/of/{}", word()),
            format!("/events?before={}", word()),
            format!("/access?{}={}", word(), word()),
            format!("/sign-in?link={}", word()),
            format!("/{}/{}", word(), word()),
        ];
        for path in asked {
            let answer = browser.get(&path);
            assert!((200..500).contains(&answer.code), "{path}: {}", answer.head);
            let is_shown = answer.header("content-type").is_none_or(|kind| kind.starts_with("text/html"));
            assert!(!is_shown || !answer.body.contains("<script>alert"), "{path}: {}", answer.head);
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
        let sent = [
            (
                format!("/experiments/{}/{}", of(word()), word()),
                format!("token={token}&{}={}", word(), word()),
            ),
            (format!("/experiments/{}/pause", of(word())), format!("token={}&token={}", word(), word())),
            (format!("/hosts/of/{}/{}", word(), word()), format!("token={token}&reason={}", word())),
            ("/sign-in".to_owned(), format!("link={}", word())),
            ("/sign-out".to_owned(), format!("token={}", word())),
        ];
        for (path, form) in sent {
            let answer = browser.post(&path, &form);
            assert!((200..500).contains(&answer.code), "{path} {form}: {}", answer.head);
        }
    }
    assert_eq!(browser.get("/").code, 200, "the session still holds");
    goes_on(&mut pool);
}

/// Nothing panicked, and the next plan is carried out.
fn goes_on(pool: &mut Pool) {
    let log = pool.logged("coordinator");
    assert!(!log.contains("panicked") && !log.contains(" ERROR "), "{log}");
    pool.add_agent();
    pool.wait_for_hosts(1);
    let experiment = pool.submit(&trivial("fuzzed", 2), &["--wait-for-hosts"]);
    pool.wait_for(&experiment);
}
