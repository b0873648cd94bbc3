//! An agent whose certificate runs out in a day has another one before it does, and its host serves on; so does who holds a
//! channel for weeks.

use std::time::{Duration, UNIX_EPOCH};

use rcgen::{
    CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use speedup_access::{AUTHORITY_FILES, Credentials, Reach, Role, enrolment, private_file, unix_seconds};
use speedup_proto::{v1, v1::access_client::AccessClient};
use speedup_tests::{
    output::succeeded, plan::trivial, pool::PATIENCE, pool::Pool, pool::credentials_in, pool::eventually,
    pool::host_id,
};
use tonic::transport::Channel;

use crate::SPEEDUP;
use crate::security::access::{as_user, enrol, submitted, token, user};

const DAY: u64 = 86_400;

/// The same certificate made 89 days ago: same serial, holder and key, but another time. It holds for so many days.
fn aged(pool: &Pool, young: &Credentials, days: u64) -> String {
    let [certificate, key] = AUTHORITY_FILES
        .map(|name| std::fs::read_to_string(pool.data().join("access").join(name)).expect(name));
    let key = KeyPair::from_pem(&key).expect("the authority's key");
    let issuer = Issuer::from_ca_cert_pem(&certificate, key).expect("the authority");
    let mut params = CertificateParams::default();
    let at = |seconds: u64| (UNIX_EPOCH + Duration::from_secs(seconds)).into();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.serial_number = Some(SerialNumber::from_slice(young.certificate().serial.bytes()));
    let made = unix_seconds() - 89 * DAY;
    params.not_before = at(made);
    params.not_after = at(made + days * DAY);
    let uri = young.certificate().identity.uri();
    params.subject_alt_names = vec![SanType::URI(uri.try_into().expect("ASCII"))];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    let holder = KeyPair::from_pem(young.key_pem()).expect("the host's key");
    params.signed_by(&holder, &issuer).expect("a certificate").pem()
}

/// Stops the agent, and has its certificate be made 89 days ago for so many days.
fn age_agent(pool: &mut Pool, days: u64) -> Credentials {
    let kept = pool.agent_state(0).join("identity.toml");
    pool.stop_agent(0);
    let young = credentials_in(&kept);
    let old = aged(pool, &young, days);
    let text = std::fs::read_to_string(&kept).expect("the stored certificate");
    let mut table: toml::Table = text.parse().expect("TOML");
    table.insert("certificate".to_owned(), old.into());
    // The file keeps its mode.
    std::fs::write(&kept, table.to_string()).expect("written");
    let old = credentials_in(&kept);
    assert!(old.certificate().serial == young.certificate().serial);
    old
}

/// Nobody waits for what was revoked, whenever it ended.
#[test]
fn an_agent_whose_certificate_has_expired_and_was_revoked_ends() {
    let mut pool = Pool::start(SPEEDUP, 1);
    age_agent(&mut pool, 80);
    pool.ok(&["access", "revoke", "--host", &host_id(0)]);
    pool.start_agent(0);
    eventually("it ends", || pool.logged("agent-0").contains("rejected this agent").then_some(()));
}

#[test]
fn an_agent_renews_its_certificate_before_it_runs_out_and_serves_on() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let kept = pool.agent_state(0).join("identity.toml");
    let due = age_agent(&mut pool, 90);
    assert!(due.certificate().is_due(unix_seconds()));

    pool.start_agent(0);
    let renewed = eventually("it has another certificate", || {
        let now = credentials_in(&kept);
        (now.certificate().serial != due.certificate().serial).then_some(now)
    });
    assert!(renewed.certificate().not_after > unix_seconds() + 80 * DAY);
    assert_eq!(renewed.certificate().identity, due.certificate().identity);
    assert_ne!(renewed.key_pem(), due.key_pem(), "with a key of its own");
    let experiment = pool.submit(&trivial("renewal", 2), &["--wait-for-hosts"]);
    pool.wait_for(&experiment);
    let log = pool.logged("agent-0");
    assert!(log.contains("the certificate was renewed") && !log.contains("rejected this agent"), "{log}");
    assert!(pool.export(&experiment).contains(&host_id(0)));
}

/// The serial number that the coordinator knows the other end of a channel by; nothing while there is no connection.
async fn known_as(channel: &Channel) -> Option<String> {
    let status = AccessClient::new(channel.clone()).who_am_i(v1::WhoAmIRequest {}).await;
    status.ok().map(|status| status.into_inner().serial)
}

#[tokio::test]
async fn a_channel_whose_connection_ends_goes_on_with_renewed_credentials() {
    let pool = Pool::without_agents(SPEEDUP);
    let old = pool.credentials_of("alice", Role::Viewer).await;
    let reach = Reach::new(&pool.url(), Some(&old)).expect("credentials");
    let channel = reach.connect().await.expect("a connection");
    let renewed = enrolment::renew(&pool.url(), &old).await.expect("a certificate");
    reach.replace(&renewed).expect("credentials");
    let serial = |credentials: &Credentials| credentials.certificate().serial.to_string();
    assert_eq!(known_as(&channel).await, Some(serial(&old)), "the connection that stands is not touched");
    pool.ok(&["access", "revoke", "--certificate", &serial(&old)]);
    let again = async {
        loop {
            if let Some(serial) = known_as(&channel).await {
                return serial;
            }
            tokio::task::yield_now().await;
        }
    };
    let again = tokio::time::timeout(PATIENCE, again).await.expect("another connection");
    assert_eq!(again, serial(&renewed));
}

/// The certificate of a generation of the authority that ends then, as PEM.
fn generation(key: &KeyPair, not_after: u64) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "speedup authority of later");
    params.serial_number = Some(SerialNumber::from_slice(&[1; 16]));
    params.not_before = UNIX_EPOCH.into();
    params.not_after = (UNIX_EPOCH + Duration::from_secs(not_after)).into();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.self_signed(key).expect("a certificate").pem()
}

/// Makes the second generation of the authority as if that had been so many days ago.
fn renew_authority_before(pool: &Pool, days: u64) {
    let key = KeyPair::generate().expect("a key");
    let certificate = generation(&key, unix_seconds() - days * DAY + 20 * 365 * DAY);
    let access = pool.data().join("access");
    private_file::write(&access.join("authority-2.key"), &key.serialize_pem()).expect("a key");
    private_file::write(&access.join("authority-2.pem"), &certificate).expect("a certificate");
}

/// Has the first generation of the authority end a day ago.
fn end_authority(pool: &Pool) {
    let [certificate, key] = AUTHORITY_FILES.map(|name| pool.data().join("access").join(name));
    let key = KeyPair::from_pem(&std::fs::read_to_string(key).expect("a key")).expect("a key");
    private_file::write(&certificate, &generation(&key, unix_seconds() - DAY)).expect("a certificate");
}

fn trusted(credentials: &Credentials) -> usize {
    credentials.authority_pem().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn a_renewed_authority_is_trusted_beside_the_present_one() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let before = pool.credentials();
    renew_authority_before(&pool, 0);
    pool.restart_coordinator();
    pool.wait_for_hosts(1);
    assert_eq!((trusted(&before), trusted(&pool.credentials())), (1, 2));
    let alice = user(&pool, "alice", "submitter");
    assert_eq!(trusted(&credentials_in(&alice)), 2);
    succeeded(&as_user(&pool, &alice, &["list"]));
}

/// The next generation issues: whoever knows the earlier one alone, by its certificate or by a token, is let in, and then knows both.
#[test]
fn a_renewed_authority_takes_over_and_nobody_enrols_again() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let alice = user(&pool, "alice", "submitter");
    let token = token(&pool, "bob", &["--role", "submitter", "--name", "bob"]);
    renew_authority_before(&pool, 401);
    pool.restart_coordinator();
    pool.wait_for_hosts(1);
    assert_eq!(trusted(&credentials_in(&alice)), 1);
    let experiment = submitted(&pool, &alice);
    pool.wait_for(&experiment);
    let bob = pool.path().join("bob.access.toml");
    succeeded(&enrol(&pool, &token, &bob));
    assert_eq!(trusted(&credentials_in(&bob)), 2);
    succeeded(&as_user(&pool, &bob, &["list"]));

    // At last it is alone.
    end_authority(&pool);
    pool.restart_coordinator();
    assert_eq!(trusted(&pool.credentials()), 1);
    assert!(!as_user(&pool, &alice, &["list"]).status.success(), "who was away for all that time is refused");
}
