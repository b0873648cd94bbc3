//! Tokens and certificates over time.

use prost::Message as _;
use speedup_proto::journal::v1 as wire;

use super::*;

const NOW: u64 = 1_800_000_000;

fn token(byte: u8) -> TokenId {
    TokenId::from_bytes(&[byte; 32]).unwrap()
}

fn serial(byte: u8) -> Serial {
    Serial::from_bytes(&[byte; 16]).unwrap()
}

fn event(change: Change) -> AccessEvent {
    AccessEvent { at: NOW, by: "root".to_owned(), change }
}

fn issued(byte: u8, name: &str, role: Role, by_token: Option<TokenId>) -> AccessEvent {
    let identity = Identity::new(name, role).unwrap();
    event(Change::CertificateIssued { serial: serial(byte), identity, not_after: NOW + 100, token: by_token })
}

fn with_agent_token(uses: u32) -> Registry {
    let mut registry = Registry::default();
    let created = registry.create_token(NOW, token(1), Role::Agent, None, uses, 60).unwrap();
    registry.evolve(&event(created));
    registry
}

#[test]
fn a_token_is_used_up_and_runs_out() {
    let mut registry = with_agent_token(2);
    let (identity, by) = registry.enrolled(NOW, token(1), "a").unwrap();
    assert_eq!((identity.name(), identity.role(), by.as_str()), ("a", Role::Agent, "root"));
    registry.evolve(&issued(1, "a", Role::Agent, Some(token(1))));
    assert_eq!(registry.enrolled(NOW, token(1), "a"), Err(Refusal::HostTaken("a".to_owned())));
    assert_eq!(registry.enrolled(NOW + 60, token(1), "b"), Err(Refusal::Token));
    registry.evolve(&issued(2, "b", Role::Agent, Some(token(1))));
    assert_eq!(registry.enrolled(NOW, token(1), "c"), Err(Refusal::Token));
}

#[test]
fn a_token_for_a_name_enrols_nobody_else() {
    let mut registry = Registry::default();
    let named = |name: Option<&str>, uses| {
        Registry::default().create_token(NOW, token(1), Role::Submitter, name.map(str::to_owned), uses, 60)
    };
    assert_eq!(named(None, 1), Err(Refusal::NoName));
    assert_eq!(named(Some("alice"), 2), Err(Refusal::UsesOfName));
    registry.evolve(&event(named(Some("alice"), 1).unwrap()));
    assert_eq!(registry.enrolled(NOW, token(1), "bob"), Err(Refusal::AnotherName("alice".to_owned())));
    assert_eq!(registry.enrolled(NOW, token(1), "").unwrap().0.name(), "alice");
}

#[test]
fn what_is_beyond_the_limits_is_refused() {
    let make =
        |uses, lifetime| Registry::default().create_token(NOW, token(1), Role::Agent, None, uses, lifetime);
    assert_eq!(make(0, 60), Err(Refusal::Uses));
    assert_eq!(make(MAX_USES + 1, 60), Err(Refusal::Uses));
    assert_eq!(make(1, 0), Err(Refusal::Lifetime));
    assert_eq!(make(1, MAX_TOKEN_LIFE + 1), Err(Refusal::Lifetime));
}

#[test]
fn revoking_ends_what_it_names_and_nothing_else() {
    let mut registry = with_agent_token(9);
    registry.evolve(&issued(1, "a", Role::Agent, None));
    registry.evolve(&issued(2, "a", Role::Admin, None));
    registry.evolve(&issued(3, "a", Role::Viewer, None));
    registry.evolve(&issued(4, "b", Role::Agent, None));
    let revoked = registry.revoke(&Target::User("a".to_owned())).unwrap();
    assert_eq!(revoked.len(), 2);
    revoked.into_iter().for_each(|change| registry.evolve(&event(change)));
    let left: Vec<_> = registry.certificates(NOW).map(|(serial, _)| serial).collect();
    assert_eq!(left, [serial(1), serial(4)]);
    assert_eq!(registry.revoke(&Target::User("a".to_owned())), Err(Refusal::Nothing));
    assert_eq!(registry.revoke(&Target::Certificate(serial(3))), Err(Refusal::Nothing));
    assert_eq!(registry.revoke(&Target::Token(vec![1; 3])), Err(Refusal::Ambiguous));
    for change in registry.revoke(&Target::Token(vec![1; 4])).unwrap() {
        registry.evolve(&event(change));
    }
    assert_eq!(registry.tokens(NOW).count(), 0);
}

#[test]
fn what_has_run_out_is_forgotten() {
    let mut registry = with_agent_token(1);
    registry.evolve(&issued(1, "a", Role::Agent, None));
    registry.forget_until(NOW + 100);
    assert!(registry.holds(serial(1)) && registry.tokens(NOW).count() == 0);
    assert!(!registry.has_run_out(NOW + 100) && registry.has_run_out(NOW + 101));
    registry.forget_until(NOW + HOUR);
    assert_eq!(registry, Registry::default());
}

#[test]
fn an_identity_with_many_certificates_is_refused_alone() {
    let mut registry = with_agent_token(9);
    let identity = |name| Identity::new(name, Role::Viewer).unwrap();
    let (many, other) = (identity("a"), identity("b"));
    (1..=32).for_each(|byte| registry.evolve(&issued(byte, "a", Role::Viewer, None)));
    assert_eq!(registry.require_place(NOW, &many), Err(Refusal::TooManyOfIdentity(many.clone())));
    assert_eq!(registry.require_place(NOW, &other), Ok(()));
    assert_eq!(registry.require_place(NOW + 101, &many), Ok(()));
    registry.evolve(&event(Change::CertificateRevoked { serial: serial(1) }));
    assert_eq!(registry.require_place(NOW, &many), Ok(()));
}

#[test]
fn a_host_that_enrols_again_and_again_loses_its_oldest_certificate() {
    let mut registry = Registry::default();
    let named = registry.create_token(NOW, token(1), Role::Agent, Some("a".to_owned()), 1, 60).unwrap();
    registry.evolve(&event(named));
    (2..=32).for_each(|byte| registry.evolve(&issued(byte, "a", Role::Agent, None)));
    let identity = Identity::new("a", Role::Agent).unwrap();
    assert_eq!(registry.end_replaced(&identity), []);
    let oldest = Change::CertificateIssued {
        serial: serial(99),
        identity: identity.clone(),
        not_after: NOW + 99,
        token: None,
    };
    registry.evolve(&event(oldest));
    assert!(registry.enrolled(NOW, token(1), "a").is_ok());
    assert_eq!(registry.end_replaced(&identity), [Change::CertificateRevoked { serial: serial(99) }]);
    assert_eq!(registry.require_place(NOW, &identity), Err(Refusal::TooManyOfIdentity(identity.clone())));
}

#[test]
fn what_was_issued_within_an_hour_is_counted_though_it_was_ended() {
    let (mut registry, identity) = (Registry::default(), Identity::new("a", Role::Viewer).unwrap());
    for byte in 1..=64 {
        assert_eq!(registry.require_place(NOW, &identity), Ok(()));
        registry.evolve(&issued(byte, "a", Role::Viewer, None));
        registry.evolve(&event(Change::CertificateRevoked { serial: serial(byte) }));
    }
    let often = Err(Refusal::IssuedTooOften(identity.clone()));
    assert_eq!(registry.require_place(NOW + HOUR - 1, &identity), often);
    assert_eq!(registry.require_place(NOW + HOUR, &identity), Ok(()));
}

#[test]
fn events_are_read_back_and_damaged_ones_are_refused() {
    let identity = Identity::new("Zoë", Role::Submitter).unwrap();
    let changes = [
        Change::TokenCreated {
            token: token(1),
            role: Role::Viewer,
            name: Some("x".to_owned()),
            uses: 1,
            expires: 5,
        },
        Change::TokenCreated { token: token(2), role: Role::Agent, name: None, uses: 7, expires: 5 },
        Change::TokenRevoked { token: token(2) },
        Change::CertificateIssued { serial: serial(1), identity, not_after: 9, token: Some(token(3)) },
        Change::CertificateRevoked { serial: serial(1) },
    ];
    for change in changes {
        let event = event(change);
        let bytes = wire::AccessEvent::from(&event).encode_to_vec();
        let read = wire::AccessEvent::decode(&bytes[..]).unwrap();
        assert_eq!(AccessEvent::try_from(read), Ok(event));
    }
    assert!(AccessEvent::try_from(wire::AccessEvent::default()).is_err());
    let short = wire::access_event::Change::TokenRevoked(wire::TokenRevoked { token: vec![1; 31] });
    assert!(AccessEvent::try_from(wire::AccessEvent { change: Some(short), ..Default::default() }).is_err());
}
