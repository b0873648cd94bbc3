//! An agent whose certificate runs out in a day has another one before it does, and its host serves on; so does who holds a
//! channel for weeks.

use std::time::{Duration, UNIX_EPOCH};

use rcgen::{
    CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use speedup_access::{AUTHORITY_FILES, Credentials, Reach, Role, enrolment, unix_seconds};
use speedup_proto::{v1, v1::access_client::AccessClient};
use speedup_tests::{
    plan::trivial, pool::PATIENCE, pool::Pool, pool::credentials_in, pool::eventually, pool::host_id,
};
use tonic::transport::Channel;

use crate::SPEEDUP;

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
