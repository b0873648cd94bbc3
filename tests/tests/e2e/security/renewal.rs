//! An agent whose certificate runs out in a day has another one before it does, and its host serves on; so does who holds a
//! channel for weeks.

use std::time::{Duration, UNIX_EPOCH};

use rcgen::{
    CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use speedup_access::{AUTHORITY_FILES, Credentials, Reach, Role, enrolment, private_file, unix_seconds};
use speedup_proto::{v1, v1::access_client::AccessClient};
use speedup_tests::{
    output::failed, output::succeeded, plan::trivial, pool::PATIENCE, pool::Pool, pool::credentials_in,
    pool::eventually, pool::host_id,
};
use tonic::transport::Channel;

use crate::SPEEDUP;
use crate::security::access::{as_user, enrol, submitted, token, user};

const DAY: u64 = 86_400;

/// The same certificate as it would be after 89 of its 90 days: same serial, holder and key, but an earlier time.
fn aged(pool: &Pool, young: &Credentials) -> String {
    let [certificate, key] = AUTHORITY_FILES
        .map(|name| std::fs::read_to_string(pool.data().join("access").join(name)).expect(name));
    let key = KeyPair::from_pem(&key).expect("the authority's key");
    let issuer = Issuer::from_ca_cert_pem(&certificate, key).expect("the authority");
    let mut params = CertificateParams::default();
    let at = |seconds: u64| (UNIX_EPOCH + Duration::from_secs(seconds)).into();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.serial_number = Some(SerialNumber::from_slice(young.certificate().serial.bytes()));
    (params.not_before, params.not_after) = (at(unix_seconds() - 89 * DAY), at(unix_seconds() + DAY));
    let uri = young.certificate().identity.uri();
    params.subject_alt_names = vec![SanType::URI(uri.try_into().expect("ASCII"))];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    let holder = KeyPair::from_pem(young.key_pem()).expect("the host's key");
    params.signed_by(&holder, &issuer).expect("a certificate").pem()
}

#[test]
fn an_agent_renews_its_certificate_before_it_runs_out_and_serves_on() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let kept = pool.agent_state(0).join("identity.toml");
    pool.stop_agent(0);
    let young = credentials_in(&kept);
    let old = aged(&pool, &young);
    let text = std::fs::read_to_string(&kept).expect("the stored certificate");
    let mut table: toml::Table = text.parse().expect("TOML");
    table.insert("certificate".to_owned(), old.into());
    // The file keeps its mode.
    std::fs::write(&kept, table.to_string()).expect("written");
    let due = credentials_in(&kept);
    assert!(due.certificate().is_due(unix_seconds()));
    assert!(due.certificate().serial == young.certificate().serial);

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

/// Makes the second generation of the authority as if that had been so many days ago.
fn renew_authority_before(pool: &Pool, days: u64) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    let made = unix_seconds() - days * DAY;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "speedup authority of later");
    params.serial_number = Some(SerialNumber::from_slice(&[1; 16]));
    params.not_before = UNIX_EPOCH.into();
    params.not_after = (UNIX_EPOCH + Duration::from_secs(made + 20 * 365 * DAY)).into();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = params.self_signed(&key).expect("a certificate");
    let access = pool.data().join("access");
    private_file::write(&access.join("authority-2.key"), &key.serialize_pem()).expect("a key");
    private_file::write(&access.join("authority-2.pem"), &certificate.pem()).expect("a certificate");
}

fn trusted(credentials: &Credentials) -> usize {
    credentials.authority_pem().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn a_renewed_authority_is_trusted_beside_the_present_one() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let data = pool.data().display().to_string();
    let before = pool.credentials();
    assert!(pool.speedup(&["coordinator", "renew-authority", "--data", &data]).status.success());
    let again = failed(&pool.speedup(&["coordinator", "renew-authority", "--data", &data]), 2);
    assert!(again.contains("renewed already"), "{again}");
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
    renew_authority_before(&pool, 401 + 491);
    pool.restart_coordinator();
    assert_eq!(trusted(&pool.credentials()), 1);
    assert!(!as_user(&pool, &alice, &["list"]).status.success(), "who was away for all that time is refused");
}
