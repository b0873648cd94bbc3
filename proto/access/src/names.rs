//! By what names a server may be addressed: what its certificate is for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rcgen::{SanType, string::Ia5String};

/// By what names a server may be addressed. Those of the machine itself are always among them: an ssh tunnel ends there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNames(BTreeSet<String>);

impl ServerNames {
    /// Host names and addresses; what is neither is left out, as nobody can address it.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let names = own.into_iter().chain(names);
        Self(names.filter(|name| !name.is_empty() && name.is_ascii()).collect())
    }

    /// They, as in a certificate.
    pub(crate) fn alternatives(&self) -> Vec<SanType> {
        let alternative = |name: &String| match name.parse::<IpAddr>() {
            Ok(address) => Some(SanType::IpAddress(address)),
            Err(_) => Ia5String::try_from(name.as_str()).ok().map(SanType::DnsName),
        };
        self.0.iter().filter_map(alternative).collect()
    }
}
