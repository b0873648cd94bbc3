//! The keeper with a real journal.

use speedup_access::Role;

use super::super::registry::MAX_CERTIFICATES_EACH;
use super::*;

fn identity(name: &str, role: Role) -> Identity {
    Identity::new(name, role).unwrap()
}

fn open(data: &Path) -> (Admission, JoinHandle<()>) {
    Admission::open(data, Fault::none(), |_| {}).unwrap()
}

async fn stop((admission, thread): (Admission, JoinHandle<()>)) {
    admission.stop().await;
    thread.join().unwrap();
}

async fn issue(admission: &Admission, name: &str, by: &str) -> Result<Issued, AdmissionRequestError> {
    let request = Signing::new().unwrap().request().to_vec();
    admission.issue(identity(name, Role::Viewer), request, by.to_owned()).await
}

fn held(admission: &Admission, whose: &Identity) -> Vec<u64> {
    let registry = admission.registry();
    let held = registry.certificates(unix_seconds()).filter(|(_, holder)| holder.identity == *whose);
    held.map(|(_, holder)| holder.not_after).collect()
}

#[tokio::test]
async fn renewals_without_end_are_refused_to_their_identity_alone() {
    let data = tempfile::tempdir().unwrap();
    let running = open(data.path());
    for _ in 0..MAX_CERTIFICATES_EACH {
        issue(&running.0, "a", "a").await.unwrap();
    }
    stop(running).await;
    let running = open(data.path());
    let refused = issue(&running.0, "a", "a").await;
    assert!(
        matches!(refused, Err(AdmissionRequestError::Refused(Refusal::TooManyOfIdentity(_)))),
        "{refused:?}"
    );
    assert_eq!(held(&running.0, &identity("a", Role::Viewer)).len(), MAX_CERTIFICATES_EACH);
    issue(&running.0, "b", "b").await.unwrap();
    stop(running).await;
}

#[tokio::test]
async fn the_hourly_count_outlives_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let running = open(data.path());
    for _ in 0..64 {
        let serial = issue(&running.0, "a", "root").await.unwrap().serial;
        running.0.revoke(Target::Certificate(serial), "root".to_owned()).await.unwrap();
    }
    stop(running).await;
    let running = open(data.path());
    let refused = issue(&running.0, "a", "root").await;
    assert!(
        matches!(refused, Err(AdmissionRequestError::Refused(Refusal::IssuedTooOften { .. }))),
        "{refused:?}"
    );
    stop(running).await;
}

#[tokio::test]
async fn credentials_of_many_starts_do_not_add_up() {
    let data = tempfile::tempdir().unwrap();
    let owner = identity("root", Role::Admin);
    let mut running = open(data.path());
    for _ in 0..5 {
        running.0.own(&owner, None).await.unwrap();
        stop(running).await;
        running = open(data.path());
    }
    assert_eq!(held(&running.0, &owner).len(), 2);
    let last = running.0.own(&owner, None).await.unwrap();
    let again = running.0.own(&owner, Some(last.clone())).await.unwrap();
    assert_eq!(again.certificate().serial, last.certificate().serial);
    stop(running).await;
}

/// A certificate of somebody, and what the coordinator knows of it.
async fn shown(admission: &Admission, name: &str) -> Arc<Certificate> {
    let signing = Signing::new().unwrap();
    let issued =
        admission.issue(identity(name, Role::Viewer), signing.request().to_vec(), "root".to_owned()).await;
    let credentials = signing.complete(admission.authority().pem(), &issued.unwrap().pem).unwrap();
    Arc::new(credentials.certificate().clone())
}

#[tokio::test]
async fn a_certificate_is_renewed_for_its_own_key_or_another_until_it_is_revoked() {
    let data = tempfile::tempdir().unwrap();
    let running = open(data.path());
    let old = shown(&running.0, "a").await;
    let same = running.0.renew(old.clone(), Vec::new()).await.unwrap();
    let signing = Signing::new().unwrap();
    let other = running.0.renew(old.clone(), signing.request().to_vec()).await.unwrap();
    let read = |pem: &str| {
        let key = Signing::new().unwrap();
        key.complete(running.0.authority().pem(), pem).unwrap().certificate().clone()
    };
    assert_eq!(read(&same.pem).public_key, old.public_key);
    assert_ne!(read(&other.pem).public_key, old.public_key);
    assert_eq!(read(&other.pem).identity, old.identity);
    running.0.revoke(Target::User("a".to_owned()), "root".to_owned()).await.unwrap();
    let refused = running.0.renew(old, Vec::new()).await;
    assert!(matches!(refused, Err(AdmissionRequestError::Refused(Refusal::Revoked))), "{refused:?}");
    stop(running).await;
}

#[tokio::test]
async fn what_an_earlier_release_issued_without_bound_is_cut_to_the_newest() {
    const MANY: u64 = 100_000;
    let data = tempfile::tempdir().unwrap();
    stop(open(data.path())).await;
    let path = data.path().join("access/journal");
    let options = Options::new(JournalId(*Uuid::now_v7().as_bytes()));
    let mut journal = Journal::open(&path, &options).unwrap().0;
    let (whose, now) = (identity("a", Role::Viewer), unix_seconds());
    for at in 0..MANY {
        // The newest have the lowest serial numbers.
        let serial = Serial::from_bytes(&(u128::MAX / 2 - u128::from(at)).to_be_bytes()).unwrap();
        let not_after = now + 1_000 + at;
        let change = Change::CertificateIssued { serial, identity: whose.clone(), not_after, token: None };
        let event = AccessEvent { at: now - 2 * 86_400, by: "a".to_owned(), change };
        journal.append(VERSION, &wire::AccessEvent::from(&event).encode_to_vec()).unwrap();
    }
    journal.sync().unwrap();
    journal.close().unwrap();
    for _ in 0..2 {
        let running = open(data.path());
        let mut ends = held(&running.0, &whose);
        ends.sort_unstable();
        let newest = MANY - MAX_CERTIFICATES_EACH as u64..MANY;
        assert_eq!(ends, newest.map(|at| now + 1_000 + at).collect::<Vec<_>>());
        issue(&running.0, "b", "b").await.unwrap();
        stop(running).await;
    }
}
