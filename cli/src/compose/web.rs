//! The web page beside a coordinator: where it listens, by what names it is reached, and who is let in.

use std::{net::Ipv4Addr, net::SocketAddr, str::FromStr, sync::Arc};

use anyhow::{Error, anyhow};
use speedup_access::{Certificate, Serial, ServerNames};
use speedup_coordinator::{Admission, Coordinator, Ways};
use speedup_web::{Entrance, Holders, Options, Running, Site, SiteError};
use tonic::transport::Channel;

use crate::exit::failure::Failure;

/// Where the page is usually found.
const PORT: u16 = 7_078;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Web {
    Off,
    /// On loopback, on the usual port or, where that is taken, another.
    Usual,
    At(SocketAddr),
}

impl FromStr for Web {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "off" => Ok(Self::Off),
            text => text.parse().map(Self::At).map_err(|_| {
                anyhow!("write an address with a port, such as 127.0.0.1:{PORT} or 0.0.0.0:{PORT}, or off")
            }),
        }
    }
}

/// A page that has its address.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) site: Site,
    is_secure: bool,
    names: Vec<String>,
}

impl Web {
    /// Takes the address, if there is to be a page. `names` are those of the coordinator, by which it may be called too;
    /// `advertised` is the one that others should use.
    pub(crate) async fn bind(
        self,
        is_insecure: bool,
        names: Vec<String>,
        advertised: Option<String>,
    ) -> Result<Option<Bound>, Failure> {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bind = match self {
            Self::Off => return Ok(None),
            Self::Usual => vec![loopback(PORT), loopback(0)],
            Self::At(address) => vec![address],
        };
        // Browsers do not know the coordinator's authority; on loopback nobody is between.
        let is_secure = bind.iter().any(|address| !address.ip().is_loopback());
        if is_secure && is_insecure {
            let error = anyhow!("the web page could be reached from other machines, which needs TLS");
            return Err(Failure::usage(error).hint("omit --insecure, or give --web a loopback address"));
        }
        let advertised = if is_secure { advertised } else { None };
        let site = Site::bind(Options { bind, advertised, names: names.clone(), is_secure }).await;
        let site = site.map_err(|error| {
            let hint = match error {
                SiteError::Bind { .. } | SiteError::NoAddress => {
                    "another program may listen there; choose another address with --web, or --web off"
                }
            };
            Failure::infrastructure(error).hint(hint)
        })?;
        Ok(Some(Bound { site, is_secure, names }))
    }
}

impl Bound {
    /// Serves it beside a coordinator that has its door.
    pub(crate) fn serve(self, coordinator: &Coordinator) -> Result<Running, Failure> {
        let Self { site, is_secure, names } = self;
        let ways = coordinator.ways().clone();
        let held = coordinator.watch_over("the web page");
        let Some(admission) = coordinator.admission() else {
            return Ok(site.serve(Entrance::Open(ways.channel()), None, held));
        };
        let mut tls = None;
        if is_secure {
            let authority = admission.authority().clone();
            let config = speedup_access::server::config_for_browsers(authority, ServerNames::new(names));
            tls = Some(config.map_err(|error| {
                Failure::infrastructure(error).context("cannot secure the connections of the web page")
            })?);
        }
        let entrance =
            Entrance::SignedIn(Arc::new(CertificateHolders { ways, admission: admission.clone() }));
        Ok(site.serve(entrance, tls, held))
    }
}

/// The holders of certificates that a coordinator made.
struct CertificateHolders {
    ways: Ways,
    admission: Admission,
}

impl Holders for CertificateHolders {
    fn channel_as(&self, certificate: Arc<Certificate>) -> Channel {
        self.ways.channel_as(certificate)
    }

    fn holds(&self, serial: Serial) -> bool {
        self.admission.holds(serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_off_or_at_an_address() {
        assert_eq!("off".parse::<Web>().unwrap(), Web::Off);
        assert_eq!("[::1]:0".parse::<Web>().unwrap(), Web::At("[::1]:0".parse().unwrap()));
        for wrong in ["", "on", "7078", "localhost:7078", "127.0.0.1"] {
            assert!(wrong.parse::<Web>().is_err(), "{wrong}");
        }
    }
}
