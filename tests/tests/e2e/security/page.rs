//! The web page: who comes in, what he may do there, what is refused, and what is written down of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use speedup_tests::{
    output::stderr, output::succeeded, pool::Pool, pool::credentials_in, pool::eventually, process::Killed,
};

use crate::SPEEDUP;
use crate::security::access::{as_user, submitted, user};

const ORIGIN: &str = "http://";

/// An answer of the page.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Self { code, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The token in its forms.
    pub(crate) fn form_token(&self) -> &str {
        let rest = self.body.split("name=\"token\" value=\"").nth(1).expect("a form");
        rest.split('"').next().expect("a token")
    }
}

/// A browser with a session, or without one.
#[derive(Clone)]
pub(crate) struct Browser {
    authority: String,
    cookie: Option<String>,
}

impl Browser {
    fn at(page: &str) -> Self {
        Self { authority: page.trim_start_matches(ORIGIN).to_owned(), cookie: None }
    }

    /// One that has followed its user's link.
    pub(crate) fn of(pool: &Pool, access: &Path) -> Self {
        let (page, path) = link(pool, access);
        let mut browser = Self::at(&page);
        let answer = browser.post("/sign-in", &path.replace("/sign-in?", ""));
        assert_eq!(answer.code, 303, "{}", answer.head);
        let cookie = answer.header("set-cookie").expect("a cookie");
        browser.cookie = cookie.split(';').next().map(str::to_owned);
        browser
    }

    /// Where the page listens.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.authority).expect("the page listens")
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {}\r\n", self.authority);
        }
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        if let Some(cookie) = &self.cookie {
            text += &format!("Cookie: other=1; {cookie}\r\n");
        }
        if !body.is_empty() {
            text += &format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        let mut stream = self.connect();
        let mut answer = Vec::new();
        // Who sends too much may be cut off before all is sent, or heard.
        let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes());
        let _ = stream.read_to_end(&mut answer);
        Answer::of(&answer)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[("Origin", &format!("{ORIGIN}{}", self.authority))], body)
    }

    /// Sends a form that the session's pages have, with what it asks for.
    fn act_with(&self, path: &str, fields: &str) -> Answer {
        let token = self.get("/").form_token().to_owned();
        self.post(path, &format!("token={token}&{fields}"))
    }

    /// Sends a form that the session's pages have.
    fn act(&self, path: &str) -> Answer {
        let token = self.get("/").form_token().to_owned();
        self.post(path, &format!("token={token}"))
    }
}

/// Where the page is, and the path that signs a user in.
fn link(pool: &Pool, access: &Path) -> (String, String) {
    let output = succeeded(&as_user(pool, access, &["page", "--format", "json"]));
    let answer: Value = serde_json::from_str(&output).expect("JSON");
    let page = answer["page"].as_str().expect("an address").to_owned();
    let path = answer["link"].as_str().expect("a link").strip_prefix(&page).expect("below it").to_owned();
    (page, path)
}

fn phase(pool: &Pool, id: &str) -> String {
    let listed = pool.json(&["list"]).expect("experiments");
    let found = listed.as_array().expect("a list").iter().find(|one| one["experiment"] == id).cloned();
    found.expect("the experiment")["phase"].as_str().expect("a phase").to_owned()
}

#[test]
fn a_link_signs_in_once_and_a_session_is_needed() {
    let pool = Pool::without_agents(SPEEDUP);
    let (page, path) = link(&pool, &pool.access_file());
    let stranger = Browser::at(&page);
    for inside in ["/", "/hosts", "/events", "/access", "/live/experiments"] {
        let refused = stranger.get(inside);
        assert_eq!(refused.code, 401, "{inside}");
        assert!(refused.body.contains("speedup page"), "{}", refused.body);
    }
    let guess = Browser {
        cookie: Some(format!("speedup-{}=00", page.rsplit(':').next().unwrap())),
        ..stranger.clone()
    };
    assert_eq!(guess.get("/").code, 401);
    // Looking at a link uses nothing up; signing in does.
    assert_eq!((stranger.get(&path).code, stranger.get(&path).code), (200, 200));
    let form = path.replace("/sign-in?", "");
    let entered = stranger.post("/sign-in", &form);
    assert_eq!((entered.code, entered.header("location")), (303, Some("/")));
    let cookie = entered.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Secure"), "{cookie}");
    assert_eq!((stranger.post("/sign-in", &form).code, stranger.get(&path).code), (410, 410));

    let cookie = cookie.split(';').next().map(str::to_owned);
    let browser = Browser { cookie, ..stranger };
    assert_eq!(browser.get("/").code, 200);
    assert_eq!(browser.act("/sign-out").code, 303);
    assert_eq!(browser.get("/").code, 401, "it is signed out");
    let log = pool.logged("coordinator");
    assert!(!log.contains(form.trim_start_matches("link=")), "no secret is logged");
}

#[test]
fn roles_hold_for_the_page_and_what_is_done_has_a_name() {
    let pool = Pool::start(SPEEDUP, 1);
    let [alice, bob, eve] = [("alice", "submitter"), ("bob", "submitter"), ("eve", "viewer")]
        .map(|(name, role)| (user(&pool, name, role), name))
        .map(|(access, _)| access);
    succeeded(&pool.speedup(&["hosts", "drain", &host(&pool)]));
    let id = submitted(&pool, &alice);
    let pause = format!("/experiments/{id}/pause");
    let [of_alice, of_bob, of_eve] = [&alice, &bob, &eve].map(|access| Browser::of(&pool, access));
    for other in [&of_bob, &of_eve] {
        assert!(!other.get(&format!("/experiments/{id}")).body.contains("/pause"), "no button for others");
        assert_eq!(other.act(&pause).code, 403);
        assert_eq!(other.act_with(&format!("/experiments/{id}/extend"), "runs=1").code, 403);
        assert_eq!(other.act(&format!("/hosts/of/{}/resume", host(&pool))).code, 403);
        assert_eq!(other.act_with(&format!("/hosts/of/{}/quarantine", host(&pool)), "reason=x").code, 403);
        assert_eq!(other.get("/access").code, 403);
    }
    assert_eq!(phase(&pool, &id), "waiting for hosts");
    assert!(of_alice.get(&format!("/experiments/{id}")).body.contains("/pause"));
    assert_eq!(of_alice.act(&pause).code, 303);
    assert_eq!(phase(&pool, &id), "paused");
    let admin = Browser::of(&pool, &pool.access_file());
    assert_eq!(admin.act(&format!("/hosts/of/{}/resume", host(&pool))).code, 303);
    assert_eq!(admin.act(&format!("/experiments/{id}/resume")).code, 303);
    assert_eq!(admin.act(&format!("/experiments/{id}/explode")).code, 404);

    let events = pool.json(&["events"]).expect("events");
    let of_people: Vec<&Value> =
        events.as_array().expect("a list").iter().filter(|event| !event["by"].is_null()).collect();
    let what = |number: usize| (of_people[number]["what"].as_str(), of_people[number]["by"].as_str());
    let owner = pool.credentials().certificate().identity.name().to_owned();
    assert_eq!(what(0), (Some("resumed"), Some(owner.as_str())));
    assert_eq!(what(1), (Some("host resumed"), Some(owner.as_str())));
    assert_eq!(what(2), (Some("paused"), Some("alice")));
    let admissions = pool.json(&["events", "--admissions"]).expect("admissions");
    let kinds: Vec<_> =
        admissions.as_array().expect("a list").iter().map(|one| one["what"].clone()).collect();
    assert!(kinds.contains(&"token created".into()), "{kinds:?}");
    assert!(kinds.contains(&"certificate issued".into()), "{kinds:?}");
    let refused = as_user(&pool, &eve, &["events", "--admissions"]);
    assert!(!refused.status.success() && stderr(&refused).contains("admin"), "{}", stderr(&refused));
    assert!(admin.get("/access").body.contains("token created"));
}

#[test]
fn runs_are_added_and_a_host_is_quarantined_with_a_reason() {
    let pool = Pool::start(SPEEDUP, 1);
    succeeded(&pool.speedup(&["hosts", "drain", &host(&pool)]));
    let id = submitted(&pool, &pool.access_file());
    let runs = || pool.json(&["list"]).expect("a list")[0]["runs"].as_u64().expect("a number");
    let (admin, planned) = (Browser::of(&pool, &pool.access_file()), runs());
    let extend = format!("/experiments/{id}/extend");
    for bad in ["", "runs=", "runs=0", "runs=-1", "runs=1e3", "runs=99999999999", "runs=x"] {
        let answer = admin.act_with(&extend, bad);
        assert_eq!(answer.code, 400, "{bad}: {}", answer.body);
        assert!(answer.body.contains("How many further runs"), "{bad}: {}", answer.body);
    }
    assert!(
        (400..500).contains(&admin.act_with(&extend, "runs=4294967295").code),
        "more than a plan may have"
    );
    assert_eq!(runs(), planned);
    assert_eq!(admin.act_with(&extend, "runs=2").code, 303);
    assert!(runs() > planned);
    let quarantine = format!("/hosts/of/{}/quarantine", host(&pool));
    assert_eq!(admin.act_with(&quarantine, "reason=+").code, 400);
    assert_eq!(admin.act_with(&quarantine, "reason=two%0Alines").code, 400);
    assert_eq!(admin.act_with(&quarantine, "reason=%3Cb%3Eloud").code, 303);
    let found = admin.get("/events?find=HOST+quarantined").body;
    assert!(found.contains("&lt;b&gt;loud") && !found.contains("<td>submitted</td>"), "{found}");
    assert!(admin.get("/events?find=no+such+words").body.contains("No event"));
    assert_eq!(admin.get("/hosts?sort=served&state=away&after=x").code, 200);
    let page = admin.get(&format!("/hosts/of/{}", host(&pool))).body;
    assert!(page.contains("&lt;b&gt;loud") && !page.contains("<b>loud"), "{page}");
    assert!(!page.contains("/quarantine\""), "it is quarantined already");
}

fn host(pool: &Pool) -> String {
    let hosts = pool.json(&["hosts", "list"]).expect("hosts");
    hosts[0]["host"].as_str().expect("an id").to_owned()
}

#[test]
fn what_another_site_sends_is_refused() {
    let pool = Pool::without_agents(SPEEDUP);
    let id = submitted(&pool, &pool.access_file());
    let browser = Browser::of(&pool, &pool.access_file());
    let path = format!("/experiments/{id}/pause");
    let token = browser.get("/").form_token().to_owned();
    let (form, own) = (format!("token={token}"), format!("{ORIGIN}{}", browser.authority));
    assert_eq!(browser.send("POST", &path, &[], &form).code, 403, "without an origin");
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example"] {
        assert_eq!(browser.send("POST", &path, &[("Origin", origin)], &form).code, 403, "{origin}");
    }
    assert_eq!(browser.post(&path, "token=0").code, 403, "a guessed form");
    let rebound = [("Host", "evil.example"), ("Origin", "http://evil.example")];
    assert_eq!(browser.send("POST", &path, &rebound, &form).code, 403, "another name of this machine");
    assert_eq!(browser.send("GET", "/", &[("Host", "evil.example")], "").code, 403);
    assert_eq!(browser.send("PUT", &path, &[("Origin", &own)], &form).code, 405);
    assert_eq!(phase(&pool, &id), "waiting for hosts");
    assert_eq!(browser.post(&path, &form).code, 303);
    assert_eq!(phase(&pool, &id), "paused");
}

#[test]
fn every_answer_says_what_a_browser_may_do() {
    let pool = Pool::without_agents(SPEEDUP);
    let browser = Browser::of(&pool, &pool.access_file());
    for path in ["/", "/hosts", "/style.css", "/live.js", "/icon.svg", "/nothing", "/sign-in?link=0"] {
        let answer = browser.get(path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        let kept = answer.header("cache-control").expect("a word on keeping");
        assert_eq!(kept, if path.contains('.') { "no-cache" } else { "no-store" }, "{path}");
        assert!(!answer.body.contains(" style=") && !answer.body.contains("://cdn"), "{path}");
    }
}

#[test]
fn a_revoked_certificate_ends_its_sessions_and_streams() {
    let pool = Pool::without_agents(SPEEDUP);
    let id = submitted(&pool, &pool.access_file());
    let browser = Browser::of(&pool, &user(&pool, "mallory", "viewer"));
    assert_eq!(browser.get("/").code, 200);
    let mut stream = browser.connect();
    let cookie = browser.cookie.as_deref().expect("a session");
    let request = format!(
        "GET /live/experiments/{id} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
        browser.authority
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut first = [0; 15];
    stream.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    succeeded(&pool.speedup(&["access", "revoke", "--user", "mallory"]));
    assert_eq!(browser.get("/").code, 401);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    assert!(rest.contains("event: progress"), "{rest}");
}

#[test]
fn who_sends_too_much_or_too_slowly_is_let_go() {
    let pool = Pool::without_agents(SPEEDUP);
    let browser = Browser::of(&pool, &pool.access_file());
    let long = "x".repeat(64 << 10);
    let huge = browser.send("GET", "/", &[("Filler", &long)], "");
    assert!([431, 400, 0].contains(&huge.code), "{}", huge.head);
    assert_eq!(browser.post("/sign-out", &format!("token={}", "x".repeat(9 << 10))).code, 413);
    // Both are waited for at once: until the page lets go.
    let mut silent = browser.connect();
    silent.write_all(b"GET / HTTP/1.1\r\nHost:").expect("half a head");
    let mut hesitant = browser.connect();
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: 100\r\n\r\nlink=",
        browser.authority
    );
    hesitant.write_all(head.as_bytes()).expect("half a form");
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).expect("the page closes the connection");
    assert!(![200, 401].contains(&Answer::of(&answer).code));
    let mut answer = [0; 12];
    hesitant.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(browser.get("/").code, 200);
}

/// A coordinator of its own, ended with the test.
struct Own {
    _child: Killed,
    directory: tempfile::TempDir,
}

impl Own {
    fn start(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(SPEEDUP);
        command.args(["coordinator", "start", "--bind", "127.0.0.1:0"]).args(flags);
        command.env("XDG_STATE_HOME", directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let own = Self { _child: Killed(command.spawn().expect("a coordinator")), directory };
        eventually("it listens", || own.access_file().exists().then_some(()));
        own
    }

    fn access_file(&self) -> std::path::PathBuf {
        self.directory.path().join("speedup/access.toml")
    }

    fn link(&self) -> String {
        let mut command = Command::new(SPEEDUP);
        let output =
            command.arg("page").env("XDG_STATE_HOME", self.directory.path()).output().expect("a link");
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

#[test]
fn without_tls_the_page_is_open_to_this_machine_and_to_no_other_site() {
    let own = Own::start(&["--insecure", "--web", "127.0.0.1:0"]);
    let browser = Browser::at(own.link().trim_end_matches('/'));
    let page = browser.get("/");
    assert_eq!((page.code, browser.get("/hosts").code), (200, 200));
    assert_eq!(browser.send("GET", "/", &[("Host", "evil.example")], "").code, 403);
    let path = "/hosts/of/4d2c7c1e5f0b4f0c9d3e000000000001/drain";
    assert_eq!(browser.post(path, "token=0").code, 403);
    let off = Own::start(&["--web", "off"]);
    let mut command = Command::new(SPEEDUP);
    let refused = command.arg("page").env("XDG_STATE_HOME", off.directory.path()).output().expect("an end");
    assert!(stderr(&refused).contains("has no web page"), "{}", stderr(&refused));
}

#[test]
fn elsewhere_than_on_loopback_the_page_is_secured() {
    let own = Own::start(&["--web", "0.0.0.0:0"]);
    let link = own.link();
    let port: u16 =
        link.rsplit(':').next().and_then(|rest| rest.split('/').next()?.parse().ok()).expect("a port");
    assert!(link.starts_with("https://"), "{link}");
    let authority = credentials_in(&own.access_file()).authority_pem().to_owned();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("protocols").with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the page listens");
    let mut stream = StreamOwned::new(connection, stream);
    let form = link.split("/sign-in?").nth(1).expect("a link");
    let request = format!(
        "POST /sign-in HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://localhost:{port}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut bytes = Vec::new();
    // The other end need not say that it closes.
    let _ = stream.read_to_end(&mut bytes);
    let answer = Answer::of(&bytes);
    assert_eq!(answer.code, 303, "{}", answer.head);
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-speedup-") && cookie.ends_with("; Secure"), "{cookie}");
    assert!(answer.header("strict-transport-security").is_some(), "{}", answer.head);
}
