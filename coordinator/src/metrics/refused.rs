//! Who was turned away, and why: connections before they are served, calls by the guard, tokens by the door of access.

use prometheus::IntCounterVec;

use super::Registrar;

speedup_core::words! {
    /// Why a connection was not served.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum RefusedConnection {
        /// There are as many as there may be.
        Full = "full",
        /// Its address has as many without certificate as it may have.
        Strangers = "strangers",
        /// Its user or agent has as many as one may have.
        OfCertificate = "of_certificate",
        /// Its handshake failed or took too long.
        Handshake = "handshake",
        /// It showed a certificate that says nothing that is understood.
        Certificate = "certificate",
    }
    fn code;
    const ALL;
}

speedup_core::words! {
    /// Why a call was not let through to its door.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum RefusedCall {
        /// No certificate was shown.
        NoCertificate = "no_certificate",
        /// The certificate has run out.
        Expired = "expired",
        /// The certificate was revoked, or this coordinator never made it.
        Revoked = "revoked",
        /// The role is not enough.
        Role = "role",
        Method = "method",
    }
    fn code;
    const ALL;
}

speedup_core::words! {
    /// Why somebody got no certificate for a token.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum RefusedEnrolment {
        /// The token is unknown, used up, expired or revoked.
        Token = "token",
        /// The name is invalid or does not match the token.
        Name = "name",
        HostTaken = "host_taken",
        /// There are as many certificates as there may be.
        Full = "full",
        /// The request for the certificate cannot be used.
        Request = "request",
        /// The coordinator cannot record it.
        Unavailable = "unavailable",
    }
    fn code;
    const ALL;
}

/// Counters of refused connections, calls and enrolments.
pub(super) struct RefusalCounters {
    pub(super) connections: IntCounterVec,
    pub(super) calls: IntCounterVec,
    pub(super) enrolments: IntCounterVec,
}

impl RefusalCounters {
    pub(super) fn new(make: &Registrar) -> Self {
        Self {
            connections: by_reason(
                make,
                "speedup_connections_refused_total",
                "Connections that were not served, by reason.",
                &RefusedConnection::ALL.map(RefusedConnection::code),
            ),
            calls: by_reason(
                make,
                "speedup_calls_refused_total",
                "Calls that were not let through to their door, by reason.",
                &RefusedCall::ALL.map(RefusedCall::code),
            ),
            enrolments: by_reason(
                make,
                "speedup_enrolments_refused_total",
                "Tokens for which no certificate was given, by reason.",
                &RefusedEnrolment::ALL.map(RefusedEnrolment::code),
            ),
        }
    }
}

/// Makes a counter by reason. Each reason is on the page before it happens for the first time.
fn by_reason(make: &Registrar, name: &str, help: &str, codes: &[&str]) -> IntCounterVec {
    let counters = make.counters(name, help, &["reason"]);
    for code in codes {
        let _ = counters.with_label_values(&[code]);
    }
    counters
}
