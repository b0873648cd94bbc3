//! What many have in common is not taken by one: whoever takes all that he may keeps nobody else out.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use prost::Message as _;
use speedup_access::{Credentials, Identity, Reach, Role, Serial, Signing, unix_seconds};
use speedup_journal::{Journal, JournalId, Options, PayloadVersion};
use speedup_proto::{
    journal::v1 as stored, v1, v1::access_client::AccessClient, v1::experiments_client::ExperimentsClient,
    v1::files_client::FilesClient,
};
use speedup_tests::{output::failed, output::stderr, output::succeeded, pool::Pool, pool::credentials_in};
use tokio::task::JoinSet;
use tonic::{Code, transport::Channel};

use crate::SPEEDUP;
use crate::security::access::{as_user, submitted, user};

/// Renewals that are asked for at least.
const RENEWALS: usize = 4_000;
/// Renewals under way at once.
const AT_ONCE: usize = 32;
/// Certificates of one user that hold at once.
const EACH: usize = 32;
/// Connections of one user at once.
const CONNECTIONS: usize = 256;
/// Hosts with a certificate, of which a message holds less than half.
const HOSTS: usize = 30_000;

/// Runs a future on a runtime of this thread.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// Asks for renewals until told to stop, and often enough; gives how many were granted.
async fn renew_without_end(pool: &Pool, credentials: &Credentials, is_over: &AtomicBool) -> usize {
    let channel = pool.channel(Some(credentials)).await;
    let signing_request = Signing::new().expect("a key").request().to_vec();
    let mut granted = 0;
    let mut asked = 0;
    while asked < RENEWALS || !is_over.load(Ordering::Relaxed) {
        let mut calls = JoinSet::new();
        for _ in 0..AT_ONCE {
            let mut access = AccessClient::new(channel.clone());
            let request = v1::RenewRequest { signing_request: signing_request.clone() };
            calls.spawn(async move { access.renew(request).await });
        }
        for answer in calls.join_all().await {
            match answer {
                Ok(_) => granted += 1,
                Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status}"),
            }
        }
        asked += AT_ONCE;
    }
    granted
}

/// How many certificates of a name are listed.
fn certificates_of(pool: &Pool, name: &str) -> usize {
    let listed = pool.json(&["access", "list"]).expect("the certificates");
    let certificates = listed["certificates"].as_array().expect("a list");
    certificates.iter().filter(|one| one["name"] == name).count()
}

#[test]
fn renewals_without_end_leave_everything_to_others_as_it_was() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let vera = wait_for(pool.credentials_of("vera", Role::Viewer));
    let is_over = AtomicBool::new(false);
    let granted = std::thread::scope(|scope| {
        let flood = scope.spawn(|| wait_for(renew_without_end(&pool, &vera, &is_over)));
        let alice = user(&pool, "alice", "submitter");
        succeeded(&as_user(&pool, &alice, &["list"]));
        let experiment = submitted(&pool, &alice);
        pool.wait_for(&experiment);
        is_over.store(true, Ordering::Relaxed);
        flood.join().expect("the flood")
    });
    assert_eq!(granted, EACH - 1, "she had one");
    assert_eq!(certificates_of(&pool, "vera"), EACH);
    let admissions = pool.json(&["events", "--admissions", "--limit", "1000"]).expect("the log");
    let admissions = admissions.as_array().expect("a list");
    let of_vera = admissions.iter().filter(|event| event.to_string().contains("vera (viewer)"));
    assert_eq!(of_vera.count(), EACH, "what is refused is not recorded");

    pool.restart_coordinator();
    pool.wait_for_hosts(1);
    pool.add_agent();
    pool.wait_for_hosts(2);
    let bob = user(&pool, "bob", "submitter");
    let experiment = submitted(&pool, &bob);
    pool.wait_for(&experiment);
    wait_for(async {
        let mut experiments = ExperimentsClient::new(pool.channel(Some(&vera)).await);
        experiments.list(v1::ListRequest::default()).await.expect("she is let in as before");
    });
}

/// Records a certificate of each of many hosts, as the coordinator would over time.
fn record_hosts(pool: &Pool) {
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        let name = format!("node-{number}-{}", "x".repeat(200));
        hosts.push(Identity::new(&name, Role::Agent).expect("a host"));
    }
    record(pool, &hosts, unix_seconds() + 1_000_000);
}

/// Records a certificate of each of some identities, which ends then.
fn record(pool: &Pool, identities: &[Identity], not_after_s: u64) {
    let options = Options::new(JournalId([0; 16]));
    let mut journal = Journal::open(pool.data().join("access/journal"), &options).expect("a journal").0;
    for (number, identity) in identities.iter().enumerate() {
        let serial = (1_u128 << 126 | number as u128).to_be_bytes().to_vec();
        let identity = identity.uri();
        let issued = stored::CertificateIssued { serial, identity, not_after_s, token: Vec::new() };
        let change = Some(stored::access_event::Change::CertificateIssued(issued));
        let event = stored::AccessEvent { at_s: unix_seconds() - 100_000, by: "root".to_owned(), change };
        journal.append(PayloadVersion(1), &event.encode_to_vec()).expect("a record");
    }
    journal.sync().expect("a durable journal");
    journal.close().expect("a closed journal");
}

#[test]
fn lists_that_are_larger_than_a_message_are_told_in_pages() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.stop_coordinator();
    record_hosts(&pool);
    pool.start_coordinator();
    let listed = pool.json(&["access", "list"]).expect("the certificates");
    // Those of the coordinator's owner are there as well.
    assert!(listed["certificates"].as_array().expect("a list").len() > HOSTS);
    assert_eq!(pool.json(&["token", "list"]), Some(serde_json::json!([])));
    let first = Serial::from_bytes(&(1_u128 << 126).to_be_bytes()).expect("a serial number");
    succeeded(&pool.speedup(&["access", "revoke", "--certificate", &first.to_string()]));
    succeeded(&pool.speedup(&["access", "revoke", "--host", &format!("node-1-{}", "x".repeat(200))]));
    let again = pool.json(&["access", "list"]).expect("the certificates");
    let certificates = again["certificates"].as_array().expect("a list");
    assert_eq!(certificates.len(), listed["certificates"].as_array().expect("a list").len() - 2);
    // What an earlier client asks for fits into the message that it takes.
    wait_for(async {
        let mut access = AccessClient::new(pool.channel(None).await);
        let page = access.list(v1::ListAccessRequest::default()).await.expect("a page").into_inner();
        assert!(!page.next_page_token.is_empty() && page.certificates.len() > 1_000);
        let request = v1::ListAccessRequest { page_token: "abc".to_owned() };
        let refused = access.list(request).await.expect_err("it is no place");
        assert_eq!(refused.code(), Code::InvalidArgument);
    });
}

#[test]
fn certificates_that_have_expired_and_can_be_renewed_are_named() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.stop_coordinator();
    record(&pool, &[Identity::new("zoe", Role::Viewer).expect("a user")], unix_seconds() - 100);
    pool.start_coordinator();
    let log = pool.logged("coordinator");
    assert!(log.contains("1 expired certificate can be renewed, of zoe (viewer)"), "{log}");
    let listed = succeeded(&pool.speedup(&["access", "list"]));
    let of_zoe = listed.lines().find(|line| line.starts_with("zoe")).expect("a line");
    assert!(of_zoe.contains("(expired, can be renewed)"), "{listed}");
    assert_eq!(listed.matches("expired").count(), 1, "{listed}");
}

/// Begins to put a content and says nothing more; gives what keeps it open.
async fn begin_to_put(channel: Channel) -> tokio::sync::mpsc::Sender<v1::PutRequest> {
    let (parts, sent) = tokio::sync::mpsc::channel(1);
    let blob = v1::Blob { blake3: vec![7; 32], bytes: 1 << 20 };
    let first = v1::PutRequest { part: Some(v1::put_request::Part::Blob(blob)) };
    parts.send(first).await.expect("room");
    tokio::spawn(async move {
        let sent = tokio_stream::wrappers::ReceiverStream::new(sent);
        FilesClient::new(channel).put(sent).await
    });
    parts
}

/// One user begins more uploads than there are places, and says nothing more; others put files.
#[tokio::test]
async fn uploads_without_end_hold_up_nobody_else() {
    let pool = Pool::without_agents(SPEEDUP);
    let mallory = pool.channel_of("mallory", Role::Submitter).await;
    let mut uploads = Vec::new();
    for _ in 0..100 {
        uploads.push(begin_to_put(mallory.clone()).await);
    }
    let content = b"of another".to_vec();
    let blob = v1::Blob { blake3: blake3::hash(&content).as_bytes().to_vec(), bytes: content.len() as u64 };
    let parts = [v1::put_request::Part::Blob(blob), v1::put_request::Part::Piece(content)];
    let parts = parts.map(|part| v1::PutRequest { part: Some(part) });
    let mut files = FilesClient::new(pool.channel_of("alice", Role::Submitter).await);
    files.put(tokio_stream::iter(parts)).await.expect("it is put");
    drop(uploads);
}

/// Whoever has a key that was revoked hears why it is refused, and keeps its owner out with no number of connections.
#[tokio::test]
async fn a_revoked_key_takes_no_connection_from_its_owner() {
    let pool = Pool::without_agents(SPEEDUP);
    let stolen = pool.credentials_of("alice", Role::Viewer).await;
    let own = pool.credentials_of("alice", Role::Viewer).await;
    pool.ok(&["access", "revoke", "--certificate", &stolen.certificate().serial.to_string()]);
    let mut refused = ExperimentsClient::new(pool.channel(Some(&stolen)).await);
    let refused = refused.list(v1::ListRequest::default()).await.expect_err("it was revoked");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("was revoked"), "{refused}");
    let reach = Reach::new(&pool.url(), Some(&stolen)).expect("credentials");
    let mut held = Vec::new();
    for _ in 0..2 * CONNECTIONS {
        held.extend(reach.connect().await);
    }
    let mut own = ExperimentsClient::new(pool.channel(Some(&own)).await);
    own.list(v1::ListRequest::default()).await.expect("she is let in");
    drop(held);
}

/// The id of the one reusable token in the list.
fn reusable_token(pool: &Pool) -> String {
    let tokens = pool.json(&["token", "list"]).expect("tokens");
    let one = tokens.as_array().expect("a list").iter().find(|one| one["reusable"] == true);
    one.and_then(|one| one["id"].as_str()).expect("a reusable token").to_owned()
}

/// What a job does: it enrols with the secret from its environment, and has its credentials nowhere else.
fn job(pool: &Pool, number: usize, secret: &Path) -> (PathBuf, Output) {
    let access = pool.path().join(format!("job-{number}.toml"));
    let file = access.display().to_string();
    let secret = secret.display().to_string();
    let arguments =
        ["access", "enrol", "--url", &pool.url(), "--token-file", &secret, "--access-file", &file];
    let enrolled = pool.speedup(&arguments);
    (access, enrolled)
}

#[test]
fn jobs_enrol_with_one_secret_until_it_is_revoked() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let reusable =
        ["token", "create", "--role", "submitter", "--name", "ci", "--reusable", "--expires", "365d"];
    let secret = pool.path().join("ci.token");
    std::fs::write(&secret, succeeded(&pool.speedup(&reusable))).expect("a token");
    // More jobs than a user may have certificates; the coordinator starts anew between them.
    let mut jobs = Vec::new();
    for number in 0..EACH + 4 {
        if number == EACH {
            pool.restart_coordinator();
            pool.wait_for_hosts(1);
        }
        let (access, enrolled) = job(&pool, number, &secret);
        succeeded(&enrolled);
        jobs.push(access);
    }
    let experiment = submitted(&pool, &jobs[0]);
    pool.wait_for(&experiment);
    assert_eq!(pool.json(&["list"]).expect("experiments")[0]["submitted_by"], "ci");
    assert_eq!(certificates_of(&pool, "ci"), jobs.len());
    let listed = succeeded(&pool.speedup(&["access", "list"]));
    assert!(listed.contains(&reusable_token(&pool)), "{listed}");
    let ends = credentials_in(&jobs[0]).certificate().not_after;
    assert!(ends < unix_seconds() + 6 * 86_400, "a job does not last longer");

    let revoked = pool.speedup(&["access", "revoke", "--user", "ci"]);
    assert!(stderr(&revoked).contains("of ci (submitter) is revoked"), "{}", stderr(&revoked));
    failed(&as_user(&pool, &jobs[1], &["list"]), 2);
    failed(&job(&pool, jobs.len(), &secret).1, 2);
    assert_eq!(pool.json(&["token", "list"]), Some(serde_json::json!([])));
}

#[test]
fn what_jobs_may_not_have_is_refused() {
    let pool = Pool::without_agents(SPEEDUP);
    for wrong in [
        &["--role", "admin", "--name", "ci", "--expires", "365d"][..],
        &["--role", "agent", "--name", "ci", "--expires", "365d"],
        &["--role", "submitter", "--expires", "365d"],
        &["--role", "submitter", "--name", "ci", "--expires", "401d"],
        &["--role", "submitter", "--name", "ci", "--uses", "2"],
    ] {
        failed(&pool.speedup(&[&["token", "create", "--reusable"], wrong].concat()), 2);
    }
    failed(
        &pool.speedup(&["token", "create", "--role", "submitter", "--name", "ci", "--expires", "365d"]),
        2,
    );
}
