//! Who is let in, and what they may do there: the attacks of SECURITY.md against the real command.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use speedup_access::{Authority, Credentials, Identity, Reach, Role, Signing, Trust, unix_seconds};
use speedup_proto::v1;
use speedup_proto::v1::access_client::AccessClient;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::hosts_client::HostsClient;
use speedup_tests::{
    output::failed, output::stderr, output::succeeded, pool::Pool, pool::credentials_in, pool::eventually,
    process::Killed, wire::join,
};
use tonic::{Code, Status, transport::Channel};
use tonic_health::{pb::HealthCheckRequest, pb::health_client::HealthClient};

use crate::SPEEDUP;

const PLAN: &str = "[experiment]\nname = \"guarded\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.sleep]\ncommand = [\"sleep\", \"0.01\"]\n[repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n";

/// Makes a token and puts it into a file.
pub(crate) fn token(pool: &Pool, name: &str, flags: &[&str]) -> PathBuf {
    let made = succeeded(&pool.speedup(&[&["token", "create"], flags].concat()));
    let file = pool.path().join(format!("{name}.token"));
    std::fs::write(&file, made).expect("a token");
    file
}

pub(crate) fn enrol(pool: &Pool, token: &Path, access: &Path) -> Output {
    let (token, access) = (token.display().to_string(), access.display().to_string());
    pool.speedup(&["access", "enrol", "--url", &pool.url(), "--token-file", &token, "--access-file", &access])
}

/// A user that has enrolled with a token; gives its access file.
pub(crate) fn user(pool: &Pool, name: &str, role: &str) -> PathBuf {
    let token = token(pool, name, &["--role", role, "--name", name]);
    let access = pool.path().join(format!("{name}.access.toml"));
    succeeded(&enrol(pool, &token, &access));
    access
}

/// The command as that user.
pub(crate) fn as_user(pool: &Pool, access: &Path, arguments: &[&str]) -> Output {
    let access = access.display().to_string();
    pool.speedup(&[arguments, &["--access-file", &access]].concat())
}

fn plan_file(pool: &Pool) -> String {
    let file = pool.path().join("guarded.toml");
    std::fs::write(&file, PLAN).expect("a plan");
    file.display().to_string()
}

/// Submits as a user; gives the experiment's id.
pub(crate) fn submitted(pool: &Pool, access: &Path) -> String {
    let output = succeeded(&as_user(
        pool,
        access,
        &["submit", &plan_file(pool), "--wait-for-hosts", "--format", "json"],
    ));
    let answer: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    answer["experiment"].as_str().expect("an id").to_owned()
}

async fn list(channel: Channel) -> Result<(), Status> {
    ExperimentsClient::new(channel).list(v1::ListRequest::default()).await.map(drop)
}

fn code(result: &Result<(), Status>) -> Option<Code> {
    result.as_ref().err().map(Status::code)
}

/// The service does what it is there for.
fn goes_on(pool: &Pool) {
    eventually("the service goes on", || pool.json(&["list"]));
}

#[tokio::test]
async fn without_a_certificate_one_may_enrol_and_nothing_else() {
    let pool = Pool::start(SPEEDUP, 1);
    let trust = Trust::Authority(pool.credentials().authority_pem().to_owned());
    let reach = Reach::secured(&pool.url(), &trust, None).expect("an address");
    let channel = reach.connect().await.expect("a connection");
    assert_eq!(code(&list(channel.clone()).await), Some(Code::Unauthenticated));
    let hosts = HostsClient::new(channel.clone()).list(v1::ListHostsRequest::default()).await;
    assert_eq!(hosts.expect_err("a refusal").code(), Code::Unauthenticated);
    let session = AgentsClient::new(channel.clone()).session(tokio_stream::pending()).await;
    assert_eq!(session.expect_err("a refusal").code(), Code::Unauthenticated);
    let mut access = AccessClient::new(channel.clone());
    let renewed = access.renew(v1::RenewRequest::default()).await.expect_err("a refusal");
    assert_eq!(renewed.code(), Code::Unauthenticated);
    assert!(renewed.message().contains("hint:"), "{renewed}");
    let tokens = access.create_token(v1::CreateTokenRequest::default()).await.expect_err("a refusal");
    assert_eq!(tokens.code(), Code::Unauthenticated);
    let guess = access.enrol(v1::EnrolRequest { secret: vec![0; 16], ..Default::default() }).await;
    assert_eq!(guess.expect_err("a refusal").code(), Code::Unauthenticated);
    let huge = v1::EnrolRequest { signing_request: vec![0; 1 << 20], ..Default::default() };
    let huge = access.enrol(huge).await.expect_err("a refusal");
    assert_eq!(huge.code(), Code::OutOfRange, "{huge}");
    HealthClient::new(channel).check(HealthCheckRequest::default()).await.expect("health is everyone's");

    let plain = pool.url().replace("https", "http");
    let plain = Reach::new(&plain, None).expect("an address").connect().await;
    let refused = match plain {
        Ok(channel) => list(channel).await.is_err(),
        Err(_) => true,
    };
    assert!(refused, "without TLS nothing is answered");
    goes_on(&pool);
    let log = pool.logged("coordinator");
    assert_eq!(log.matches("presented none").count(), 1, "a connection's refusals are logged once:\n{log}");
}

fn made_by(authority: &Authority, trusted: &str, name: &str, from: u64, seconds: u64) -> Credentials {
    let signing = Signing::new().expect("a key");
    let identity = Identity::new(name, Role::Admin).expect("an identity");
    let lifetime = std::time::Duration::from_secs(seconds);
    let issued = authority.issue_for(&identity, signing.request(), from, lifetime).expect("a certificate");
    signing.complete(trusted, &issued.pem).expect("credentials")
}

#[tokio::test]
async fn foreign_expired_and_unrecorded_certificates_are_refused() {
    let pool = Pool::start(SPEEDUP, 1);
    let trusted = pool.credentials().authority_pem().to_owned();
    let now = unix_seconds();

    let elsewhere = tempfile::tempdir().expect("a directory");
    let foreign = Authority::open(elsewhere.path()).expect("an authority");
    let foreign = made_by(&foreign, &trusted, "mallory", now, 1_000);
    let reach = Reach::new(&pool.url(), Some(&foreign)).expect("an address");
    // The server's refusal comes with or after the handshake.
    let listed = match reach.connect().await {
        Ok(channel) => list(channel).await.map_err(|status| status.to_string()),
        Err(error) => Err(error.to_string()),
    };
    assert!(listed.is_err(), "a certificate of another authority is worth nothing");

    let own = Authority::open(&pool.data().join("access")).expect("the pool's authority");
    let expired = made_by(&own, &trusted, "mallory", now - 1_000, 10);
    let refused = list(pool.channel(Some(&expired)).await).await.expect_err("a refusal");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("has expired"), "{refused}");

    // Even who has stolen the authority's key gets nowhere with a certificate that the coordinator did not record.
    let unrecorded = made_by(&own, &trusted, "mallory", now, 1_000);
    let refused = list(pool.channel(Some(&unrecorded)).await).await.expect_err("a refusal");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("did not issue it"), "{refused}");
    goes_on(&pool);
}

#[tokio::test]
async fn revoking_ends_live_connections_and_outlasts_a_restart() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let access = user(&pool, "alice", "submitter");
    let credentials = credentials_in(&access);
    let channel = pool.channel(Some(&credentials)).await;
    let undecided = ExperimentsClient::new(channel.clone()).watch_undecided(v1::UndecidedRequest {}).await;
    let mut stream = undecided.expect("a stream").into_inner();

    let revoked = pool.speedup(&["access", "revoke", "--user", "alice"]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));
    assert!(stderr(&revoked).contains("alice (submitter)"), "{}", stderr(&revoked));
    stream.message().await.expect_err("the stream breaks");
    let refused = failed(&as_user(&pool, &access, &["list"]), 2);
    assert!(refused.contains("was revoked"), "{refused}");

    pool.restart_coordinator();
    let refused = list(pool.channel(Some(&credentials)).await).await.expect_err("a refusal");
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");

    pool.wait_for_hosts(1);
    let revoked = pool.speedup(&["access", "revoke", "--host", "host-0"]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));
    eventually("the revoked host is away", || {
        let hosts = pool.json(&["hosts", "list"])?;
        (hosts[0]["connected"] == false).then_some(())
    });
    eventually("its agent ends", || pool.logged("agent-0").contains("rejected this agent").then_some(()));
    let again = pool.speedup(&["access", "revoke", "--host", "host-0"]);
    assert_eq!(again.status.code(), Some(2), "nothing is left to be revoked");
}

#[test]
fn a_token_is_used_as_often_as_it_says_and_for_as_long() {
    let pool = Pool::without_agents(SPEEDUP);
    let once = token(&pool, "once", &["--role", "viewer", "--name", "eve"]);
    let access = pool.path().join("eve.access.toml");
    assert!(enrol(&pool, &once, &access).status.success());
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&access).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let replayed = failed(&enrol(&pool, &once, &access), 2);
    assert!(replayed.contains("revoked"), "{replayed}");

    let short = token(&pool, "short", &["--role", "viewer", "--name", "kurt", "--expires", "1s"]);
    eventually("the token runs out", || {
        (pool.json(&["token", "list"])? == serde_json::json!([])).then_some(())
    });
    assert_eq!(enrol(&pool, &short, &access).status.code(), Some(2));

    let ended = token(&pool, "ended", &["--role", "agent", "--uses", "5"]);
    let listed = pool.json(&["token", "list"]).expect("tokens");
    let id = listed[0]["id"].as_str().expect("an id");
    assert!(pool.speedup(&["token", "revoke", id]).status.success());
    let mut agent = pool.command();
    agent
        .args(["agent", "start", "--no-selftest", "--host-id", "late", "--state"])
        .arg(pool.path().join("late"));
    let refused = failed(&agent.arg("--token-file").arg(&ended).output().expect("an agent"), 2);
    assert!(refused.contains("no certificate for"), "{refused}");

    // A token of another coordinator is not told to this one.
    let other = Pool::without_agents(SPEEDUP);
    let foreign = token(&other, "foreign", &["--role", "admin", "--name", "eve"]);
    let refused = enrol(&pool, &foreign, &access);
    assert!(stderr(&refused).contains("made the token"), "{}", stderr(&refused));
    assert!(enrol(&other, &foreign, &access).status.success(), "it was not used up");

    let journal = std::fs::read_dir(pool.data().join("access/journal")).expect("a journal").flatten();
    let kept: Vec<u8> = journal.flat_map(|file| std::fs::read(file.path()).unwrap_or_default()).collect();
    let text = std::fs::read_to_string(&once).expect("a token");
    let secret = &text["speedup-".len().."speedup-".len() + 32];
    let log = pool.logged("coordinator");
    assert!(!log.contains(secret) && !String::from_utf8_lossy(&kept).contains(secret), "no token is kept");
}

#[test]
fn roles_bound_what_one_may_do() {
    let pool = Pool::start(SPEEDUP, 1);
    let (viewer, alice, bob) =
        (user(&pool, "vera", "viewer"), user(&pool, "alice", "submitter"), user(&pool, "bob", "submitter"));

    assert!(as_user(&pool, &viewer, &["list"]).status.success());
    let refused = as_user(&pool, &viewer, &["submit", &plan_file(&pool)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the role submitter"), "{}", stderr(&refused));

    let experiment = submitted(&pool, &alice);
    let listed = pool.json(&["list"]).expect("experiments");
    assert_eq!(listed[0]["submitted_by"], "alice", "{listed}");
    for change in [vec!["pause"], vec!["cancel"], vec!["resume"], vec!["extend", "--runs", "1"]] {
        let refused = as_user(&pool, &bob, &[&change[..], &[&experiment]].concat());
        assert_eq!(refused.status.code(), Some(2), "{change:?}");
        assert!(stderr(&refused).contains("the experiment is alice's"), "{change:?}: {}", stderr(&refused));
    }
    for verb in ["drain", "reset"] {
        let refused = as_user(&pool, &alice, &["hosts", verb, "host-0"]);
        assert!(stderr(&refused).contains("this needs the role admin"), "{}", stderr(&refused));
    }
    let refused = as_user(&pool, &alice, &["token", "create", "--role", "admin", "--name", "alice"]);
    assert!(stderr(&refused).contains("this needs the role admin"), "{}", stderr(&refused));

    pool.wait_for(&experiment);
    // On a drained host it does not end before it is cancelled.
    assert!(pool.speedup(&["hosts", "drain", "host-0"]).status.success(), "an admin may");
    let other = submitted(&pool, &bob);
    assert!(pool.speedup(&["cancel", &other]).status.success(), "an admin may");
}

/// A batch system whose command to submit a job leaves a mark.
const MARKING: &str = r#"name = "marking"
[submit]
command = ["/bin/sh", "-c", "touch 'MARK'; echo 1", "{options}"]
job = '^([0-9]+)'
trial = ["-h"]
[job]
id = "$JOB_ID"
node = "$(hostname)"
[list]
command = ["true", "{name}"]
job = '(?<id>[0-9]+) (?<state>[a-z]+)'
[list.states]
queued = 'q'
running = 'r'
[cancel]
command = ["true", "{jobs}"]
"#;

/// What requests hosts is executed as the coordinator's user, a batch file as it stands: no other admin may, of whatever name.
#[test]
fn only_the_coordinators_own_user_requests_hosts() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.advertise("localhost");
    pool.restart_coordinator();
    let mark = pool.path().join("executed");
    pool.write("marking.toml", MARKING.replace("MARK", &mark.display().to_string()));
    let file = pool.path().join("marking.toml").display().to_string();
    let identity = pool.json(&["access", "whoami"]).expect("an identity");
    let own = identity["name"].as_str().expect("a name");
    for name in ["carol", own] {
        let access = user(&pool, name, "admin");
        succeeded(&as_user(&pool, &access, &["token", "list"]));
        for words in [
            &["hosts", "batch", "add", &file][..],
            &["hosts", "batch", "add", &file, "--dry-run"],
            &["hosts", "local", "add"],
            &["hosts", "slurm", "add", "--wrap", "nice"],
            &["hosts", "ssh", "add", "node1", "--wait", "0s"],
        ] {
            let refused = failed(&as_user(&pool, &access, words), 2);
            assert!(refused.contains("only the coordinator's own user"), "{name} {words:?}: {refused}");
        }
        assert!(!mark.exists(), "nothing was executed for {name}");
    }
    let reserved = ["token", "create", "--role", "admin", "--name", "coordinator"];
    assert!(failed(&pool.speedup(&reserved), 2).contains("is reserved"));
    succeeded(&pool.speedup(&["hosts", "batch", "add", &file]));
    assert!(mark.exists(), "the owner's file is executed");
    let carol = pool.path().join("carol.access.toml");
    succeeded(&as_user(&pool, &carol, &["hosts", "batch", "remove"]));
}

/// Who may submit is the coordinator's user on hosts whose agents are that user's: a program reads the access file, and the start says so.
#[test]
fn who_submits_is_the_coordinators_user_where_agents_are_and_the_start_says_so() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let alice = user(&pool, "alice", "submitter");
    let says = |pool: &Pool| pool.logged("coordinator").matches("alice may submit").count();
    pool.restart_coordinator();
    assert_eq!(says(&pool), 0, "no host is requested");
    succeeded(&pool.speedup(&["hosts", "local", "add", "--max-jobs", "1"]));
    pool.restart_coordinator();
    assert_eq!(says(&pool), 1, "{}", pool.logged("coordinator"));
    let reads = format!("shell = \"grep -q CERTIFICATE '{}'\"", pool.access_file().display());
    let plan = PLAN.replace("command = [\"sleep\", \"0.01\"]", &reads);
    pool.write("reads.toml", plan);
    let plan = pool.path().join("reads.toml").display().to_string();
    succeeded(&as_user(&pool, &alice, &["submit", &plan, "--wait-for-hosts"]));
    succeeded(&pool.speedup(&["wait", "last", "--timeout", "2m"]));
    succeeded(&pool.speedup(&["hosts", "local", "remove"]));
    // Programs with a user of their own read nothing of it.
    if rustix::process::geteuid().is_root() {
        pool.add_agent_with(&["--user", "nobody", "--scratch", "/tmp"]);
        pool.wait_for_hosts(1);
        succeeded(&as_user(&pool, &alice, &["submit", &plan]));
        let ended = pool.speedup(&["wait", "last", "--timeout", "2m"]);
        assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    }
}

#[tokio::test]
async fn an_agent_is_the_agent_of_its_host_and_nothing_else() {
    let pool = Pool::start(SPEEDUP, 1);
    let agent = pool.credentials_of("elsewhere", Role::Agent).await;
    let channel = pool.channel(Some(&agent)).await;
    assert_eq!(code(&list(channel.clone()).await), Some(Code::PermissionDenied));
    let mut agents = AgentsClient::new(channel);
    let claimed = agents.session(tokio_stream::iter([join("host-0")])).await.expect_err("a refusal");
    assert_eq!(claimed.code(), Code::PermissionDenied);
    assert!(claimed.message().contains("not for host host-0"), "{claimed}");
    let mut admin = AgentsClient::new(pool.channel(None).await);
    let refused = admin.session(tokio_stream::iter([join("host-0")])).await.expect_err("a refusal");
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");

    // A token for any host gives nobody the certificate of a host that has one.
    let token = token(&pool, "thief", &["--role", "agent", "--uses", "2"]);
    let mut thief = pool.command();
    thief
        .args(["agent", "start", "--no-selftest", "--host-id", "host-0", "--state"])
        .arg(pool.path().join("thief"));
    let refused = thief.arg("--token-file").arg(token).output().expect("an agent");
    assert!(stderr(&refused).contains("for host host-0 already"), "{}", stderr(&refused));
}

#[test]
fn keys_that_others_can_read_are_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut pool = Pool::without_agents(SPEEDUP);
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    let key = pool.data().join("access/authority.key");
    assert_eq!((mode(&key), mode(&pool.access_file())), (0o600, 0o600));
    assert_eq!(mode(&pool.data().join("access")), 0o700);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(pool.access_file(), open.clone()).expect("permissions");
    let refused = pool.speedup(&["list"]);
    assert!(stderr(&refused).contains("chmod 600"), "{}", stderr(&refused));

    pool.stop_coordinator();
    std::fs::set_permissions(&key, open).expect("permissions");
    let mut start = pool.command();
    let refused =
        start.args(["coordinator", "start", "--bind", "127.0.0.1:0", "--data"]).arg(pool.data()).output();
    let refused = failed(&refused.expect("a coordinator"), 4);
    assert!(refused.contains("by others"), "{refused}");
}

/// Whether the other end has closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    match stream.read(&mut [0; 64]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn thousands_of_silent_connections_are_bounded_and_ended() {
    let pool = Pool::start(SPEEDUP, 1);
    let address = pool.url().replace("https://", "");
    let silent: Vec<TcpStream> = (0..2_000).filter_map(|_| TcpStream::connect(&address).ok()).collect();
    let mut slow = silent;
    // One byte now and then is not more than none: the handshake as a whole is bounded.
    for stream in slow.iter_mut().take(32) {
        let _ = stream.write_all(&[22]);
    }
    eventually("all that say nothing are ended", || {
        slow.retain_mut(|stream| !is_closed(stream));
        slow.is_empty().then_some(())
    });
    let log = pool.logged("coordinator");
    let complaints = log.matches("refused a connection").count();
    assert!((1..20).contains(&complaints), "{complaints} complaints about 2,000 connections:\n{log}");
    pool.finish(PLAN);
}

/// A coordinator beside that of the pool.
fn beside(pool: &Pool, flags: &[&str]) -> Killed {
    let mut command = pool.command();
    command.args(["coordinator", "start"]).args(flags).env_remove("SPEEDUP_COORDINATOR");
    Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a coordinator"))
}

fn of(pool: &Pool, coordinator: &str, arguments: &[&str]) -> Output {
    pool.speedup(&[arguments, &["--coordinator", coordinator]].concat())
}

#[test]
fn several_coordinators_live_side_by_side_one_of_them_on_ipv6() {
    let pool = Pool::without_agents(SPEEDUP);
    let _six = beside(&pool, &["--name", "six", "--bind", "[::1]:0"]);
    let advertise = ["--advertise", "localhost", "--advertise", "login1.cluster:7070"];
    let _everywhere = beside(&pool, &[&["--name", "wide", "--bind", "0.0.0.0:0"], &advertise[..]].concat());
    for (name, begins) in [("six", "https://[::1]:"), ("wide", "https://localhost:")] {
        eventually("it answers by its name", || of(&pool, name, &["list"]).status.success().then_some(()));
        let file = pool.path().join(format!("speedup/access/{name}.toml"));
        let access: toml::Table = std::fs::read_to_string(file).expect("a file").parse().expect("TOML");
        let address = access["address"].as_str().expect("an address");
        assert!(address.starts_with(begins), "{address}");
        succeeded(&of(&pool, address, &["access", "whoami", "--format", "json"]));
        assert!(pool.path().join("speedup/coordinators").join(name).join("journal").is_dir());
    }
    let unknown = failed(&of(&pool, "seven", &["list"]), 4);
    assert!(unknown.contains("access/seven.toml"), "{unknown}");

    // Where another answers than the access file is for, nothing is told to it.
    let six = pool.path().join("speedup/access/six.toml").display().to_string();
    let refused = failed(&pool.speedup(&["list", "--access-file", &six]), 4);
    assert!(refused.contains("the access file"), "{refused}");
}

#[test]
fn without_tls_it_serves_this_machine_alone_and_only_when_told_to() {
    let pool = Pool::without_agents(SPEEDUP);
    let mut far = pool.command();
    let refused =
        far.args(["coordinator", "start", "--name", "far", "--insecure", "--bind", "0.0.0.0:0"]).output();
    let refused = failed(&refused.expect("a coordinator"), 2);
    assert!(refused.contains("omit --insecure"), "{refused}");

    let _near = beside(&pool, &["--name", "near", "--insecure", "--bind", "127.0.0.1:0"]);
    eventually("it answers", || of(&pool, "near", &["list"]).status.success().then_some(()));
    let file = pool.path().join("speedup/access/near.toml");
    let access: toml::Table = std::fs::read_to_string(file).expect("a file").parse().expect("TOML");
    assert!(access["address"].as_str().is_some_and(|address| address.starts_with("http://127.0.0.1:")));
    assert_eq!(access.get("key"), None, "there is nothing to prove");
    let token = of(&pool, "near", &["token", "create", "--role", "agent"]);
    assert!(!token.status.success(), "there is nobody to enrol");
    let local = failed(&of(&pool, "near", &["hosts", "local", "add"]), 2);
    assert!(local.contains("without --insecure"), "nobody is known to be the owner: {local}");
}
