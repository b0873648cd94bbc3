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

/// A token that root wants.
fn new_token(role: Role, name: Option<&str>, uses: Uses, lifetime: u64) -> NewToken {
    NewToken { role, name: name.map(str::to_owned), uses, lifetime, by: "root".to_owned() }
}

/// With a token that jobs of `ci` can use again and again for so long.
fn with_job_token(lifetime: u64) -> Registry {
    let mut registry = Registry::default();
    let new = new_token(Role::Submitter, Some("ci"), Uses::Unlimited, lifetime);
    registry.evolve(&event(registry.create_token(NOW, token(1), &new).unwrap()));
    registry
}

fn job(number: u128, at: u64) -> AccessEvent {
    let serial = Serial::from_bytes(&number.to_be_bytes()).unwrap();
    let identity = Identity::new("ci", Role::Submitter).unwrap();
    let change =
        Change::CertificateIssued { serial, identity, not_after: at + JOB_LIFE, token: Some(token(1)) };
    AccessEvent { at, by: "root".to_owned(), change }
}

fn with_agent_token(uses: u32) -> Registry {
    let mut registry = Registry::default();
    let new = new_token(Role::Agent, None, Uses::Times(uses), 60);
    let created = registry.create_token(NOW, token(1), &new).unwrap();
    registry.evolve(&event(created));
    registry
}

#[test]
fn a_token_is_used_up_and_runs_out() {
    let mut registry = with_agent_token(2);
    let Enrolment { identity, by, .. } = registry.enrolled(NOW, token(1), "a").unwrap();
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
        let new = new_token(Role::Submitter, name, Uses::Times(uses), 60);
        Registry::default().create_token(NOW, token(1), &new)
    };
    assert_eq!(named(None, 1), Err(Refusal::NoName));
    assert_eq!(named(Some("alice"), 2), Err(Refusal::UsesOfName));
    registry.evolve(&event(named(Some("alice"), 1).unwrap()));
    assert_eq!(registry.enrolled(NOW, token(1), "bob"), Err(Refusal::AnotherName("alice".to_owned())));
    assert_eq!(registry.enrolled(NOW, token(1), "").unwrap().identity.name(), "alice");
}

#[test]
fn what_is_beyond_the_limits_is_refused() {
    let make = |uses, lifetime| {
        let new = new_token(Role::Agent, None, Uses::Times(uses), lifetime);
        Registry::default().create_token(NOW, token(1), &new)
    };
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
fn what_has_run_out_counts_no_more_and_is_not_forgotten() {
    let mut registry = with_agent_token(1);
    registry.evolve(&issued(1, "a", Role::Viewer, None));
    registry.recount(NOW + 100);
    assert_eq!((registry.counted.users, registry.tokens(NOW + 100).count()), (1, 0));
    assert!(!registry.is_outdated(NOW + 100) && registry.is_outdated(NOW + 101));
    registry.recount(NOW + 101);
    assert_eq!(registry.counted.users, 0);
    let identity = Identity::new("a", Role::Viewer).unwrap();
    assert_eq!(registry.require_renewable(NOW + 101, &identity, serial(1)), Ok(()));
    let end = NOW + 100 + RENEWABLE.as_secs();
    assert_eq!((registry.certificates(end).count(), registry.certificates(end + 1).count()), (1, 0));
}

#[test]
fn a_clock_that_was_ahead_has_ended_nothing() {
    let mut registry = with_agent_token(1);
    registry.evolve(&issued(1, "a", Role::Agent, None));
    let (before, ahead) = (registry.clone(), NOW + 7_400 * 86_400);
    registry.recount(ahead);
    assert_eq!((registry.counted.agents, registry.tokens(ahead).count()), (0, 0));
    assert!(registry.is_outdated(NOW), "the clock was put back");
    registry.recount(NOW);
    assert_eq!(registry.counted.agents, 1);
    assert_eq!(registry.enrolled(NOW, token(1), "b"), before.enrolled(NOW, token(1), "b"));
    assert_eq!(registry.enrolled(NOW, token(1), "a"), Err(Refusal::HostTaken("a".to_owned())));
}

#[test]
fn what_has_ended_is_kept_while_there_is_room() {
    let mut registry = Registry::default();
    for byte in 1..=40 {
        let identity = Identity::new("a", Role::Viewer).unwrap();
        let not_after = NOW + u64::from(byte);
        registry.evolve(&event(Change::CertificateIssued {
            serial: serial(byte),
            identity,
            not_after,
            token: None,
        }));
    }
    registry.evolve(&issued(99, "b", Role::Viewer, None));
    registry.recount(NOW + 21);
    let known: Vec<u8> = registry.certificates.keys().map(|serial| serial.bytes()[0]).collect();
    assert_eq!(known, (9..=40).chain([99]).collect::<Vec<u8>>(), "the oldest of the one with many");
    registry.recount(NOW + 50);
    assert_eq!(registry.certificates.len(), 33, "32 of one and 1 of the other");
}

#[test]
fn a_revoked_certificate_is_not_renewed_whenever_it_ended() {
    let mut registry = Registry::default();
    registry.evolve(&issued(1, "a", Role::Viewer, None));
    registry.recount(NOW + 1_000);
    for change in registry.revoke(&Target::User("a".to_owned())).unwrap() {
        registry.evolve(&event(change));
    }
    let identity = Identity::new("a", Role::Viewer).unwrap();
    let refused = registry.require_renewable(NOW + 1_000, &identity, serial(1));
    assert_eq!(refused, Err(Refusal::Revoked));
}

#[test]
fn a_name_is_free_when_its_certificate_has_ended_and_is_then_the_new_hosts_alone() {
    let mut registry = with_agent_token(9);
    registry.evolve(&issued(1, "a", Role::Agent, None));
    let later = NOW + 59;
    registry.evolve(&event(Change::CertificateIssued {
        serial: serial(2),
        identity: Identity::new("b", Role::Agent).unwrap(),
        not_after: NOW + 10,
        token: None,
    }));
    assert_eq!(registry.enrolled(later, token(1), "a"), Err(Refusal::HostTaken("a".to_owned())));
    let identity = registry.enrolled(later, token(1), "b").unwrap().identity;
    let ended = [Change::CertificateRevoked { serial: serial(2) }];
    assert_eq!(registry.end_replaced(later, &identity, None), ended);
    assert_eq!(registry.end_replaced(later, &identity, Some(serial(2))), [], "it is the one that is renewed");
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
    let new = new_token(Role::Agent, Some("a"), Uses::Times(1), 60);
    let named = registry.create_token(NOW, token(1), &new).unwrap();
    registry.evolve(&event(named));
    (2..=32).for_each(|byte| registry.evolve(&issued(byte, "a", Role::Agent, None)));
    let identity = Identity::new("a", Role::Agent).unwrap();
    assert_eq!(registry.end_replaced(NOW, &identity, None), []);
    let oldest = Change::CertificateIssued {
        serial: serial(99),
        identity: identity.clone(),
        not_after: NOW + 99,
        token: None,
    };
    registry.evolve(&event(oldest));
    assert!(registry.enrolled(NOW, token(1), "a").is_ok());
    let oldest = [Change::CertificateRevoked { serial: serial(99) }];
    assert_eq!(registry.end_replaced(NOW, &identity, None), oldest);
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
    let often = Err(Refusal::IssuedTooOften { identity: identity.clone(), most: 64 });
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
            uses: Uses::Times(1),
            expires: 5,
        },
        Change::TokenCreated {
            token: token(2),
            role: Role::Agent,
            name: None,
            uses: Uses::Times(7),
            expires: 5,
        },
        Change::TokenCreated {
            token: token(4),
            role: Role::Submitter,
            name: Some("ci".to_owned()),
            uses: Uses::Unlimited,
            expires: 5,
        },
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

#[test]
fn a_token_for_jobs_is_of_a_user_who_may_not_everything_and_ends() {
    let make = |role, name, lifetime| {
        let new = new_token(role, name, Uses::Unlimited, lifetime);
        Registry::default().create_token(NOW, token(1), &new)
    };
    assert!(make(Role::Viewer, Some("ci"), MAX_REUSABLE_LIFE).is_ok());
    assert_eq!(make(Role::Submitter, None, 60), Err(Refusal::NoName));
    for role in [Role::Admin, Role::Agent] {
        assert_eq!(make(role, Some("ci"), 60), Err(Refusal::ReusableRole));
    }
    assert_eq!(make(Role::Admin, Some(ITSELF), 60), Err(Refusal::Identity(IdentityError::Reserved)));
    for lifetime in [0, MAX_REUSABLE_LIFE + 1] {
        assert_eq!(make(Role::Submitter, Some("ci"), lifetime), Err(Refusal::ReusableLifetime));
    }
}

#[test]
fn each_job_gets_a_certificate_of_its_own_that_ends_with_the_token() {
    let mut registry = with_job_token(JOB_LIFE + 100);
    let lifetime = |registry: &Registry, at| registry.enrolled(at, token(1), "").map(|one| one.lifetime);
    assert_eq!(lifetime(&registry, NOW), Ok(Some(JOB_LIFE)));
    registry.evolve(&job(1, NOW));
    assert_eq!(lifetime(&registry, NOW + JOB_LIFE), Ok(Some(100)), "it is not used up");
    assert_eq!(lifetime(&registry, NOW + JOB_LIFE + 100), Err(Refusal::Token));
    let one = Serial::from_bytes(&1_u128.to_be_bytes()).unwrap();
    let identity = Identity::new("ci", Role::Submitter).unwrap();
    assert_eq!(registry.require_renewable(NOW, &identity, one), Err(Refusal::OfReusableToken));
}

#[test]
fn jobs_are_bounded_and_supersede_only_those_that_are_over_an_hour_old() {
    let mut registry = with_job_token(MAX_REUSABLE_LIFE);
    let identity = Identity::new("ci", Role::Submitter).unwrap();
    for number in 0..MAX_JOBS_EACH {
        assert!(registry.enrolled(NOW, token(1), "").is_ok());
        assert_eq!(registry.end_oldest_job(&identity), []);
        registry.evolve(&job(number as u128, NOW + u64::from(number > 0)));
    }
    let often = Refusal::IssuedTooOften { identity: identity.clone(), most: MAX_JOBS_HOURLY };
    assert_eq!(registry.enrolled(NOW + HOUR - 1, token(1), ""), Err(often));
    assert!(registry.enrolled(NOW + HOUR, token(1), "").is_ok());
    let oldest = Serial::from_bytes(&0_u128.to_be_bytes()).unwrap();
    assert_eq!(registry.end_oldest_job(&identity), [Change::CertificateRevoked { serial: oldest }]);
    assert_eq!(
        registry.require_place(NOW, &identity),
        Ok(()),
        "its user has room for certificates of his own"
    );

    // Nor do jobs take the place of the user's certificate that has expired before them.
    let alice = Serial::from_bytes(&[9; 16]).unwrap();
    registry.evolve(&event(Change::CertificateIssued {
        serial: alice,
        identity: identity.clone(),
        not_after: NOW,
        token: None,
    }));
    let later = NOW + JOB_LIFE + 2;
    registry.recount(later);
    assert_eq!(registry.require_renewable(later, &identity, alice), Ok(()));
    assert_eq!(registry.expired(later), [&identity]);
}

#[test]
fn revoking_a_user_or_the_token_ends_all_jobs() {
    for target in [Target::User("ci".to_owned()), Target::Token(vec![1; 4])] {
        let mut registry = with_job_token(MAX_REUSABLE_LIFE);
        registry.evolve(&job(1, NOW));
        registry.evolve(&job(2, NOW));
        let revoked = registry.revoke(&target).unwrap();
        assert_eq!(revoked.len(), 3, "{target:?}");
        revoked.into_iter().for_each(|change| registry.evolve(&event(change)));
        assert_eq!(registry.enrolled(NOW, token(1), ""), Err(Refusal::Token));
        assert_eq!(registry.certificates(NOW).count(), 0);
    }
}

/// Law: an admin with however many tokens leaves room for those of others.
#[test]
fn tokens_leave_room_for_those_of_others() {
    let mut registry = Registry::default();
    let new = new_token(Role::Viewer, Some("a"), Uses::Times(1), 60);
    for number in 0..MAX_TOKENS as u64 / 4 {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        let (role, name, uses) = (new.role, new.name.clone(), new.uses);
        let token = TokenId::from_bytes(&id).unwrap();
        registry.evolve(&event(Change::TokenCreated { token, role, name, uses, expires: NOW + 60 }));
    }
    let most = MAX_TOKENS as u64 / 4;
    let refused = registry.create_token(NOW, token(1), &new);
    assert_eq!(refused, Err(Refusal::TooManyTokensOf { by: "root".to_owned(), most }));
    let other = NewToken { by: "other".to_owned(), ..new };
    assert!(registry.create_token(NOW, token(1), &other).is_ok());
}

/// Hosts with all certificates that there are keep no user out.
#[test]
fn hosts_take_no_place_of_a_user() {
    let counted = Counts { agents: MAX_OF_AGENTS, users: 0 };
    let registry = Registry { counted, ..Registry::default() };
    let agent = Identity::new("a", Role::Agent).unwrap();
    let user = Identity::new("a", Role::Viewer).unwrap();
    assert_eq!(registry.require_place(NOW, &agent), Err(Refusal::TooManyCertificates(MAX_OF_AGENTS)));
    assert_eq!(registry.require_place(NOW, &user), Ok(()));
}
