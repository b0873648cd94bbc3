//! Who may speak to whom: certificates and the authority that makes them, the identities and roles in them, and the
//! connections that they secure. Coordinator, agent, analysis and command share it; none of them makes TLS by itself.
//!
//! What a role may do is the coordinator's to say, in its table of methods. Nothing here logs, and a key is never shown.
//!
//! In reading order: [`Role`] and [`Identity`] (who), [`Certificate`] (what a peer shows), [`Authority`] (what makes them),
//! [`Credentials`] (what one holds), [`Token`] (what one has before), [`server`] and [`Trust`] (TLS on both sides),
//! [`Reach`] (a connection), [`PendingConnections`] (where it waits until its peer is known), [`FairSemaphore`] (what identities share),
//! [`liveness`] (how the end of a connection is noticed), [`enrolment`] (how credentials are obtained), [`private_file`] (how
//! keys are stored), [`Secret`].

mod authority;
mod certificate;
mod credentials;
pub mod enrolment;
mod fair_semaphore;
mod identity;
pub mod liveness;
mod pending;
pub mod private_file;
mod reach;
mod secret;
pub mod server;
mod token;
mod trust;

pub use authority::{
    AUTHORITY_FILES, Authority, AuthorityError, CLIENT_LIFETIME, IssueError, Issued, ServerNames,
    authority_files,
};
pub use certificate::{Certificate, CertificateError, RENEWABLE, Serial};
pub use credentials::{Credentials, CredentialsError, Signing};
pub use fair_semaphore::{FairPermit, FairSemaphore};
pub use identity::{COORDINATOR, Identity, IdentityError, Role, RoleError};
pub use pending::{Eviction, PendingConnections, Seat, Seats};
pub use reach::{Reach, ReachError, is_untrusted};
pub use secret::{Secret, SecretHash};
pub use token::{AuthorityFingerprint, Token, TokenError, TokenId};
pub use trust::{Trust, TrustError};

use rustls::crypto::ring;
use std::time::{Duration, SystemTime};

/// Seconds since 1970 by the wall clock, which certificates count in.
pub fn unix_seconds() -> u64 {
    // A clock before 1970 is wrong anyway; every certificate is from the future then, and none is accepted.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// Fresh random bytes.
///
/// # Panics
/// When the kernel has none to give, which it always has.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    ring::default_provider().secure_random.fill(&mut bytes).expect("the kernel's random numbers");
    bytes
}
