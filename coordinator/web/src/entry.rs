//! How one comes in: a link that is used once becomes a session, and a session belongs to the holder of a certificate.
//!
//! Pure but for the secrets: time is an argument. Of secrets only hashes are kept, in memory alone: a coordinator that
//! starts anew knows no session.

use std::{collections::HashMap, sync::Arc};

use speedup_access::{Certificate, Secret, SecretHash, Serial};
use tonic::transport::Channel;

/// How long a link can be used, in seconds: from the terminal to the browser.
pub(crate) const LINK_LIFETIME_S: u64 = 300;
/// How long a session lasts, in seconds: a day of work. It ends before with the certificate that it stands for.
pub(crate) const SESSION_LIFETIME_S: u64 = 12 * 3_600;
/// Most links and most sessions of one user, whatever his certificates: beyond that his oldest end.
const MAX_OF_USER: usize = 16;
/// Most links and most sessions at once; beyond that the oldest end. Each session may hold a connection within the process.
const MAX_IN_ALL: usize = 1_024;

/// What the page has to know of the holders of certificates.
pub trait Holders: Send + Sync {
    /// The connection of one of them.
    fn channel_as(&self, certificate: Arc<Certificate>) -> Channel;
    /// Whether a certificate was not revoked.
    fn holds(&self, serial: Serial) -> bool;
}

/// Who is let in to the page.
#[derive(Clone)]
pub enum Entrance {
    /// Everyone who reaches it, as with a coordinator without TLS. All ask through one connection.
    Open(Channel),
    /// Who has signed in with what the coordinator knows him by. Each asks through a connection of its own.
    SignedIn(Arc<dyn Holders>),
}

impl std::fmt::Debug for Entrance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open(_) => "Open",
            Self::SignedIn(_) => "SignedIn",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) certificate: Arc<Certificate>,
    pub(crate) channel: Channel,
    /// Stands in each form of the session, so that no other page can send one.
    pub(crate) form_token: Arc<str>,
}

#[derive(Debug)]
struct Expiring<T> {
    expires: u64,
    /// The older, the smaller.
    number: u64,
    certificate: Arc<Certificate>,
    value: T,
}

#[derive(Debug, Default)]
pub(crate) struct Entries {
    links: HashMap<SecretHash, Expiring<()>>,
    sessions: HashMap<SecretHash, Expiring<Session>>,
    made: u64,
}

impl Entries {
    /// A link for the holder of a certificate; gives when it ends, in seconds since 1970.
    pub(crate) fn add_link(&mut self, now: u64, certificate: Arc<Certificate>) -> (Secret, u64) {
        let expires = now.saturating_add(LINK_LIFETIME_S).min(certificate.not_after);
        let secret = Secret::random();
        keep(&mut self.links, &mut self.made, (now, expires), secret.hash(), certificate, ());
        (secret, expires)
    }

    /// Whom a link signs in, which leaves it as it is.
    pub(crate) fn link(&self, now: u64, secret: &str) -> Option<&Certificate> {
        let kept = self.links.get(&SecretHash::of(secret)).filter(|kept| kept.expires > now)?;
        Some(&kept.certificate)
    }

    /// Makes a session of a link, which is over then; gives the session's secret.
    pub(crate) fn enter(
        &mut self,
        now: u64,
        link: &str,
        channel: impl FnOnce(Arc<Certificate>) -> Channel,
    ) -> Option<Secret> {
        let kept = self.links.remove(&SecretHash::of(link)).filter(|kept| kept.expires > now)?;
        let certificate = kept.certificate;
        let expires = now.saturating_add(SESSION_LIFETIME_S).min(certificate.not_after);
        let secret = Secret::random();
        let session = Session {
            certificate: certificate.clone(),
            channel: channel(certificate.clone()),
            form_token: Secret::random().text().into(),
        };
        keep(&mut self.sessions, &mut self.made, (now, expires), secret.hash(), certificate, session);
        Some(secret)
    }

    /// The session of a secret.
    pub(crate) fn session(&self, now: u64, secret: &str) -> Option<Session> {
        let kept = self.sessions.get(&SecretHash::of(secret)).filter(|kept| kept.expires > now)?;
        Some(kept.value.clone())
    }

    pub(crate) fn leave(&mut self, secret: &str) {
        self.sessions.remove(&SecretHash::of(secret));
    }
}

/// Keeps one more, and lets go of what is over and of the oldest where there are too many.
fn keep<T>(
    all: &mut HashMap<SecretHash, Expiring<T>>,
    made: &mut u64,
    (now, expires): (u64, u64),
    hash: SecretHash,
    certificate: Arc<Certificate>,
    value: T,
) {
    all.retain(|_, kept| kept.expires > now);
    remove_oldest(all, MAX_OF_USER, |kept| kept.certificate.identity == certificate.identity);
    remove_oldest(all, MAX_IN_ALL, |_| true);
    *made += 1;
    all.insert(hash, Expiring { expires, number: *made, certificate, value });
}

/// Makes room for one more.
fn remove_oldest<T>(
    all: &mut HashMap<SecretHash, Expiring<T>>,
    most: usize,
    is_counted: impl Fn(&Expiring<T>) -> bool,
) {
    let counted = || all.iter().filter(|(_, kept)| is_counted(kept));
    if counted().count() < most {
        return;
    }
    if let Some(oldest) = counted().min_by_key(|(_, kept)| kept.number).map(|(hash, _)| *hash) {
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use speedup_access::{Authority, Identity, Role, Signing};
    use tonic::transport::Endpoint;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn certificate(authority: &Authority, name: &str) -> Arc<Certificate> {
        let signing = Signing::new().unwrap();
        let identity = Identity::new(name, Role::Submitter).unwrap();
        let issued = authority.issue(&identity, signing.request(), NOW).unwrap();
        Arc::new(signing.complete(authority.pem(), &issued.pem).unwrap().certificate().clone())
    }

    fn nowhere(_: Arc<Certificate>) -> Channel {
        Endpoint::from_static("http://127.0.0.1:1").connect_lazy()
    }

    #[tokio::test]
    async fn a_link_is_used_once_and_not_for_long() {
        let directory = tempfile::tempdir().unwrap();
        let alice = certificate(&Authority::open(directory.path()).unwrap(), "alice");
        let mut entries = Entries::default();
        let (link, expires) = entries.add_link(NOW, alice.clone());
        assert_eq!(expires, NOW + LINK_LIFETIME_S);
        assert_eq!(entries.link(NOW, link.text()), Some(&*alice));
        let session = entries.enter(NOW + 1, link.text(), nowhere).unwrap();
        assert!(entries.link(NOW + 1, link.text()).is_none());
        assert!(entries.enter(NOW + 1, link.text(), nowhere).is_none());
        assert_eq!(entries.session(NOW + 2, session.text()).unwrap().certificate, alice);
        assert!(entries.session(NOW + 2, link.text()).is_none());

        let (late, expires) = entries.add_link(NOW, alice);
        assert!(entries.enter(expires, late.text(), nowhere).is_none());
    }

    #[tokio::test]
    async fn a_session_ends_by_time_by_its_certificate_and_by_leaving() {
        let directory = tempfile::tempdir().unwrap();
        let alice = certificate(&Authority::open(directory.path()).unwrap(), "alice");
        let mut entries = Entries::default();
        let enter = |entries: &mut Entries, now| {
            let (link, _) = entries.add_link(now, alice.clone());
            entries.enter(now, link.text(), nowhere)
        };
        let one = enter(&mut entries, NOW).unwrap();
        assert!(entries.session(NOW + SESSION_LIFETIME_S - 1, one.text()).is_some());
        assert!(entries.session(NOW + SESSION_LIFETIME_S, one.text()).is_none());
        let last = enter(&mut entries, alice.not_after - 1).unwrap();
        assert!(entries.session(alice.not_after - 1, last.text()).is_some());
        assert!(entries.session(alice.not_after, last.text()).is_none());
        entries.leave(last.text());
        assert!(entries.session(alice.not_after - 1, last.text()).is_none());
        assert!(enter(&mut entries, alice.not_after).is_none());
    }

    #[tokio::test]
    async fn sessions_are_bounded_and_the_oldest_goes_first() {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::open(directory.path()).unwrap();
        let (alice, bob) = (certificate(&authority, "alice"), certificate(&authority, "bob"));
        let renewed = certificate(&authority, "alice");
        let mut entries = Entries::default();
        let enter = |entries: &mut Entries, who: &Arc<Certificate>| {
            let (link, _) = entries.add_link(NOW, who.clone());
            entries.enter(NOW, link.text(), nowhere).unwrap()
        };
        let of_bob = enter(&mut entries, &bob);
        let of_alice: Vec<_> = (0..MAX_OF_USER).map(|_| enter(&mut entries, &alice)).collect();
        let of_renewed = enter(&mut entries, &renewed);
        assert!(entries.session(NOW, of_alice[0].text()).is_none());
        assert!(of_alice[1..].iter().all(|one| entries.session(NOW, one.text()).is_some()));
        for last in [of_renewed, of_bob] {
            assert!(entries.session(NOW, last.text()).is_some());
        }
    }
}
