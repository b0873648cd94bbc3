//! Who was turned away, and why: connections before they are served, calls by the guard, tokens by the door of access.

use prometheus::IntCounterVec;

use super::Making;

/// An enumeration of reasons, each with its name in the label.
macro_rules! reasons {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            const CODES: &[&str] = &[$($code),+];

            const fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }
        }
    };
}

reasons! {
    /// Why a connection was not served.
    RefusedConnection {
        /// There are as many as there may be.
        Full = "full",
        /// Its address has as many without certificate as it may have.
        Strangers = "strangers",
        /// Its certificate has as many as it may have.
        OfCertificate = "of_certificate",
        /// Its handshake failed or took too long.
        Handshake = "handshake",
        /// It showed a certificate that says nothing that is understood.
        Certificate = "certificate",
    }
}

reasons! {
    /// Why a call was not let through to its door.
    RefusedCall {
        /// No certificate was shown.
        NoCertificate = "no_certificate",
        /// The certificate has run out.
        Expired = "expired",
        /// The certificate was revoked, or this coordinator never made it.
        Revoked = "revoked",
        /// The role is not enough.
        Role = "role",
        /// There is no such method.
        Method = "method",
    }
}

reasons! {
    /// Why somebody got no certificate for a token.
    RefusedEnrolment {
        /// The token is unknown, used up, expired or revoked.
        Token = "token",
        /// The name is none, or not the one that the token is for.
        Name = "name",
        /// The host has a certificate already.
        HostTaken = "host_taken",
        /// There are as many certificates as there may be.
        Full = "full",
        /// The request for the certificate cannot be used.
        Request = "request",
        /// The coordinator cannot record it.
        Unavailable = "unavailable",
    }
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
                RefusedConnection::CODES,
            ),
            calls: counts(
                "speedup_calls_refused_total",
                "Calls that were not let through to their door, by reason.",
                RefusedCall::CODES,
            ),
            enrolments: counts(
                "speedup_enrolments_refused_total",
                "Tokens for which no certificate was given, by reason.",
                RefusedEnrolment::CODES,
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
