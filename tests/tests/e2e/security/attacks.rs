//! What SECURITY.md defends, and where each is tried against the real command:
//!
//! | attack | test |
//! |---|---|
//! | no certificate | `security::without_a_certificate_one_may_enrol_and_nothing_else`, `a_connection_without_certificate_is_ended` |
//! | an expired, a foreign, an unrecorded certificate | `security::foreign_expired_and_unrecorded_certificates_are_refused` |
//! | a revoked one | `security::revoking_ends_live_connections_and_outlasts_a_restart`, `page::a_revoked_certificate_ends_its_sessions_and_streams` |
//! | a replayed, expired, ended or foreign token | `security::a_token_is_used_as_often_as_it_says_and_for_as_long` |
//! | a viewer who submits, a submitter who touches another's | `security::roles_bound_what_one_may_do`, `page::roles_hold_for_the_page_and_what_is_done_has_a_name` |
//! | an admin who has something executed as the coordinator's user | `security::only_the_coordinators_own_user_requests_hosts` |
//! | an agent that speaks for another host | `security::an_agent_is_the_agent_of_its_host_and_nothing_else` |
//! | an agent that reports runs it was not given | `stranger::strangers_are_turned_away_and_the_service_goes_on` |
//! | names that lead elsewhere | `hostile_plan::names_that_lead_elsewhere_are_refused` |
//! | an archive bomb | `an_archive_that_would_fill_the_memory_is_refused_by_its_name` |
//! | a plan with a million benchmarks | `hostile_plan::a_million_benchmarks_are_refused_by_name` |
//! | connections that say nothing or little, thousands of them | `security::thousands_of_silent_connections_are_bounded_and_ended`, `page::who_sends_too_much_or_too_slowly_is_let_go` |
//! | messages that are too large | `messages_beyond_their_bound_are_refused_by_every_service`, `stranger::strangers_are_turned_away_and_the_service_goes_on` |
//! | a data or state directory that others write to or own | `data::a_data_directory_that_others_may_write_or_own_is_refused_with_what_mends_it`, `data::the_state_of_an_agent_is_its_owners_alone` |
//! | a lock file that is deleted, or leads elsewhere | `data::without_the_lock_file_of_a_live_coordinator_nobody_is_let_in`, `data::a_lock_file_that_leads_elsewhere_is_refused_and_what_is_there_is_kept` |
//! | streams without end before one is let in | `flood::streams_without_end_cost_no_memory_and_leave_the_known_their_rate` |
//! | connections that keep others out | `siege` |
//! | orders that an agent gets | `orders::an_agent_takes_fuzzed_orders_and_goes_on_with_honest_ones`, `hostile` of `proto/tests/integration` |
//! | an ssh host that is another, options of ssh that execute or trust, its agent's token | `refusals` of `tests/ssh`, `provision::ssh` of the coordinator |
//! | text of others that acts on terminals, or begins commands of workflows | `foreign` of `core`, `forms` of `analysis/report` |
//! | a repository that names programs | `files::git::refusals` |
//! | a submitter where agents are the coordinator's user | `security::who_submits_is_the_coordinators_user_where_agents_are_and_the_start_says_so`, `run_as` of `tests/slurm` |
//! | anything else | `fuzz::every_method_takes_or_refuses_whatever_is_sent`, `fuzz::every_route_of_the_page_takes_or_refuses_whatever_is_sent` |

use std::{io::Read as _, io::Write as _, net::TcpStream, path::Path, process::Command, sync::Arc};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use speedup_access::{Credentials, Reach, Role, Trust};
use speedup_proto::{
    v1, v1::access_client::AccessClient, v1::analysis_client::AnalysisClient,
    v1::experiments_client::ExperimentsClient, v1::files_client::FilesClient, v1::hosts_client::HostsClient,
};
use speedup_tests::{output::failed, output::stderr, output::succeeded, pool::Pool, pool::eventually};
use tonic::{Code, Status};

use crate::SPEEDUP;

/// A connection over TLS by one who trusts the coordinator and shows no certificate.
pub(crate) fn stranger(pool: &Pool) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(pool.credentials().authority_pem().as_bytes());
    roots.add(authority.expect("a certificate")).expect("a root");
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let stream = TcpStream::connect(pool.url().replace("https://", "")).expect("a connection");
    StreamOwned::new(connection, stream)
}

/// Half a minute is all that it has: what one does with it, or does not, makes no difference.
#[test]
fn a_connection_without_certificate_is_ended() {
    let pool = Pool::start(SPEEDUP, 1);
    let mut streams = [stranger(&pool), stranger(&pool), stranger(&pool)];
    let [silent, polite, late] = &mut streams;
    // The beginning of HTTP/2 with empty settings; and a part of it.
    let begin = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    silent.flush().expect("a handshake");
    polite.write_all(&begin).expect("it is open");
    late.write_all(&begin[..10]).expect("it is open");
    for stream in &mut streams {
        // Ends by itself: an end, or a reset, and no timeout of this side.
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.len() < 4_096, "{heard:?}");
    }
    assert!(pool.json(&["list"]).is_some(), "who has a certificate is served");
}

/// What unpacks to hundreds of times its size: as a manifest, and as nothing that a bundle has.
#[test]
fn an_archive_that_would_fill_the_memory_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a directory");
    for name in ["manifest.json", "anything"] {
        let bomb = folder.path().join(format!("{name}.tar.gz"));
        let make = format!(
            "cd '{}' && truncate -s 300M {name} && tar -cf - {name} | gzip -1 > '{}'",
            folder.path().display(),
            bomb.display()
        );
        let made = Command::new("sh").args(["-c", &make]).status().expect("sh, tar and gzip");
        assert!(made.success(), "{make}");
        assert!(std::fs::metadata(&bomb).is_ok_and(|bomb| bomb.len() < 3 << 20), "it is small");
        refused_by_name(&bomb);
    }
}

/// Refused by its name, as something that is no bundle, and not by the lack of memory.
fn refused_by_name(path: &Path) {
    let shown = path.display().to_string();
    let refused = failed(&Command::new(SPEEDUP).arg("verify").arg(path).output().expect("the command"), 2);
    assert!(refused.contains(&shown), "{refused}");
}

fn too_large<T: std::fmt::Debug>(answer: Result<T, Status>, service: &str) {
    let refused = answer.expect_err(service);
    assert_eq!(refused.code(), Code::OutOfRange, "{service}: {refused}");
}

#[tokio::test]
async fn messages_beyond_their_bound_are_refused_by_every_service() {
    let pool = Pool::start(SPEEDUP, 1);
    let admin = pool.channel(None).await;
    let by = "x".repeat((64 << 20) + 1);
    let change = || v1::ChangeRequest { experiment: uuid::Uuid::nil().to_string(), by: by.clone() };
    too_large(ExperimentsClient::new(admin.clone()).cancel(change()).await, "Experiments");
    let change = v1::ChangeHostRequest { host: "host-0".to_owned(), by: by.clone() };
    too_large(HostsClient::new(admin.clone()).drain(change).await, "Hosts");
    let piece = v1::PutRequest { part: Some(v1::put_request::Part::Piece(vec![0; 1 << 20])) };
    too_large(FilesClient::new(admin.clone()).put(tokio_stream::iter([piece])).await, "Files");
    let sample = v1::ReportRequest { experiment: "0".repeat((64 << 20) + 1), ..Default::default() };
    too_large(AnalysisClient::new(admin.clone()).report(sample).await, "Analysis");
    let token = v1::CreateTokenRequest { name: "x".repeat(64 << 10), ..Default::default() };
    too_large(AccessClient::new(admin).create_token(token).await, "Access");
    assert!(pool.json(&["list"]).is_some(), "the service goes on");
}

/// What is refused is counted, by its reason.
#[tokio::test]
async fn who_is_turned_away_is_counted_by_the_reason() {
    let pool = Pool::without_agents(SPEEDUP);
    let mut beside = pool.command();
    beside.args(["coordinator", "start", "--name", "counted", "--bind", "127.0.0.1:0", "--web", "off"]);
    beside.args(["--metrics", "127.0.0.1:0", "--format", "json"]).env_remove("SPEEDUP_COORDINATOR");
    let mut child = beside.stdout(std::process::Stdio::piped()).spawn().expect("a coordinator");
    let mut line = String::new();
    let output = child.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    let started: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let word = |key: &str| started[key].as_str().expect("a text").to_owned();
    let own: Credentials = speedup_tests::pool::credentials_in(Path::new(&word("access_file")));

    let trust = Trust::Authority(own.authority_pem().to_owned());
    let reach = Reach::secured(&word("url"), &trust, None).expect("an address");
    let channel = reach.connect().await.expect("a connection");
    let refused = ExperimentsClient::new(channel.clone()).list(v1::ListRequest::default()).await;
    assert_eq!(refused.expect_err("a refusal").code(), Code::Unauthenticated);
    let guess = v1::EnrolRequest { secret: vec![0; 16], ..Default::default() };
    let guessed = AccessClient::new(channel).enrol(guess).await;
    assert_eq!(guessed.expect_err("a refusal").code(), Code::Unauthenticated);
    let reach = Reach::new(&word("url"), Some(&own)).expect("credentials");
    let viewer = speedup_access::Identity::new("vera", Role::Viewer).expect("an identity");
    let viewer = speedup_access::enrolment::issue(&reach, &viewer).await.expect("a certificate");
    let channel = Reach::new(&word("url"), Some(&viewer)).expect("credentials").connect().await;
    let change = v1::ChangeRequest { experiment: uuid::Uuid::nil().to_string(), by: String::new() };
    let refused = ExperimentsClient::new(channel.expect("a connection")).cancel(change).await;
    assert_eq!(refused.expect_err("a refusal").code(), Code::PermissionDenied);

    let address = word("metrics").replace("http://", "").replace("/metrics", "");
    let page = eventually("all is counted", || {
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        page.contains("speedup_calls_refused_total{reason=\"role\"} 1").then_some(page)
    });
    for counted in [
        "speedup_calls_refused_total{reason=\"no_certificate\"} 1",
        "speedup_calls_refused_total{reason=\"revoked\"} 0",
        "speedup_enrolments_refused_total{reason=\"token\"} 1",
        "speedup_enrolments_refused_total{reason=\"host_taken\"} 0",
    ] {
        assert!(page.contains(counted), "{counted} is not in\n{page}");
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn an_analysis_of_its_own_is_for_this_machine_alone() {
    let pool = Pool::without_agents(SPEEDUP);
    let plain = failed(&pool.speedup(&["analysis", "start"]), 2);
    assert!(plain.contains("--insecure"), "{plain}");
    for everywhere in ["0.0.0.0:0", "[::]:0"] {
        let refused = failed(&pool.speedup(&["analysis", "start", "--insecure", "--bind", everywhere]), 2);
        assert!(refused.contains("other machines"), "{refused}");
        assert!(refused.contains("ssh tunnel"), "{refused}");
    }
}

#[test]
fn a_token_for_what_is_no_host_is_refused_when_it_is_made() {
    let pool = Pool::without_agents(SPEEDUP);
    for name in ["..", ".", "-rf", "a/../b", "/etc/passwd", "two words", "a\u{202e}b"] {
        let refused = pool.speedup(&["token", "create", "--role", "agent", &format!("--name={name}")]);
        assert!(!refused.status.success(), "{name}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("is not a valid host "), "{name}: {}", stderr(&refused));
    }
    succeeded(&pool.speedup(&["token", "create", "--role", "agent", "--name", "nid001234.alps"]));
}

/// What others wrote does not act on the terminal of who has it printed as JSON, and is read back as it was.
#[test]
fn json_escapes_what_a_terminal_would_obey() {
    let pool = Pool::start(SPEEDUP, 1);
    let reason = "broken\u{202e}gpj.exe\u{2066}";
    succeeded(&pool.speedup(&["hosts", "quarantine", "host-0", "--reason", reason]));
    for arguments in [&["hosts", "list"][..], &["hosts", "show", "host-0"], &["events"]] {
        let printed = pool.speedup(&[arguments, &["--format", "json"]].concat());
        let text = String::from_utf8(printed.stdout).expect("UTF-8");
        assert!(text.contains("broken\\u202egpj.exe\\u2066"), "{arguments:?}: {text}");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(read.to_string().contains(reason), "{arguments:?}: {read}");
    }
}
