//! Who was turned away, and why: connections before they are served, calls by the guard, tokens by the door of access.

use prometheus::IntCounterVec;

use super::Making;

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
        /// The name is none, or not the one that the token is for.
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

/// What is counted of them.
pub(super) struct Counts {
    connections: IntCounterVec,
    calls: IntCounterVec,
    enrolments: IntCounterVec,
}

impl Counts {
    pub(super) fn new(make: &Making) -> Self {
        let counts = |name, help, codes: &[&str]| {
            let counts = make.counters(name, help, &["reason"]);
            // A reason is on the page before it was the first time.
            codes.iter().for_each(|code| drop(counts.with_label_values(&[code])));
            counts
        };
        Self {
            connections: counts(
                "speedup_connections_refused_total",
                "Connections that were not served, by reason.",
                &RefusedConnection::ALL.map(RefusedConnection::code),
            ),
            calls: counts(
                "speedup_calls_refused_total",
                "Calls that were not let through to their door, by reason.",
                &RefusedCall::ALL.map(RefusedCall::code),
            ),
            enrolments: counts(
                "speedup_enrolments_refused_total",
                "Tokens for which no certificate was given, by reason.",
                &RefusedEnrolment::ALL.map(RefusedEnrolment::code),
            ),
        }
    }

    pub(super) fn connection(&self, why: RefusedConnection) {
        self.connections.with_label_values(&[why.code()]).inc();
    }

    pub(super) fn call(&self, why: RefusedCall) {
        self.calls.with_label_values(&[why.code()]).inc();
    }

    pub(super) fn enrolment(&self, why: RefusedEnrolment) {
        self.enrolments.with_label_values(&[why.code()]).inc();
    }
}
