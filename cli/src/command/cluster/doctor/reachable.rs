//! The way to the coordinator: what one is let in with, for how long, whether it answers, and whether clocks and releases
//! agree.

use speedup_access::{Certificate, unix_seconds};
use speedup_proto::v1;
use tonic::{Code, metadata::MetadataMap};

use super::finding::Finding;
use crate::{
    connection::CoordinatorAccess, connection::CoordinatorArguments, connection::selector, console::moment,
    exit::failure::Failure,
};

/// Certificates count with five minutes of difference; half of them is near.
const CLOCKS_S: u64 = 150;
const SEE_LOG: &str = "the log of the coordinator has the cause";
const RELEASE: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn findings(place: &CoordinatorArguments) -> Vec<Finding> {
    let found = match place.require() {
        Ok(found) => found.renewed().await,
        Err(failure) => return vec![failed("access file", failure)],
    };
    let CoordinatorAccess { url, credentials, .. } = &found;
    let mut findings = match credentials {
        None => vec![Finding::warning(
            "certificate",
            format!("none for {url}"),
            "where that has TLS, enrol with `speedup access enrol`",
        )],
        Some(credentials) => vec![certificate(credentials.certificate(), unix_seconds())],
    };
    let connection = match found.connect().await {
        Ok(connection) => connection,
        Err(failure) => {
            findings.push(failed("coordinator", failure));
            return findings;
        }
    };
    let asked = connection.access().who_am_i(v1::WhoAmIRequest {}).await;
    let failing = selector::failing(&connection).await;
    connection.close().await;
    let now = unix_seconds();
    let (headers, words) = match asked {
        Ok(answer) => (answer.metadata().clone(), format!("{url} answers")),
        // Without TLS there is nobody to be.
        Err(status) if status.code() == Code::Unimplemented => {
            (status.metadata().clone(), format!("{url} answers, without TLS"))
        }
        Err(status) => {
            findings.push(failed("coordinator", Failure::status("cannot ask who you are", &status)));
            return findings;
        }
    };
    findings.push(Finding::fine("coordinator", words));
    match failing {
        Ok(failing) => {
            for words in failing {
                findings.push(Finding::wrong("coordinator", words, Some(SEE_LOG.to_owned())));
            }
        }
        Err(failure) => findings.push(failed("coordinator", failure)),
    }
    findings.extend(clocks(&headers, now));
    findings.extend(releases(&headers));
    findings
}

fn failed(check: &str, failure: Failure) -> Finding {
    let words: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
    Finding::wrong(check, words.join(": "), failure.hint)
}

fn certificate(certificate: &Certificate, now: u64) -> Finding {
    let until = moment::local(crate::command::cluster::access::timestamp(certificate.not_after));
    let words = format!("{} until {until}", certificate.identity);
    if certificate.not_after < now {
        let hint = "any command renews it for 400 days, once it reaches the coordinator and can write the access file; \
            after that, enrol again with a token of an admin";
        return Finding::wrong("certificate", words, Some(hint.to_owned()));
    }
    if certificate.is_due(now) {
        let hint = "any command renews it, once it reaches the coordinator and can write the access file";
        return Finding::warning("certificate", words, hint);
    }
    Finding::fine("certificate", words)
}

/// The coordinator's clock, as HTTP tells it, against this one.
fn clocks(headers: &MetadataMap, now: u64) -> Option<Finding> {
    let date = headers.get("date")?.to_str().ok()?;
    let there = jiff::fmt::rfc2822::parse(date).ok()?.timestamp().as_second();
    let apart = there.unsigned_abs().abs_diff(now);
    let words = format!("{apart} s from the coordinator's");
    Some(if apart > CLOCKS_S {
        let hint =
            "set both by NTP: certificates depend on the clock, with at most five minutes of difference";
        Finding::wrong("clock", words, Some(hint.to_owned()))
    } else {
        Finding::fine("clock", words)
    })
}

/// The coordinator's release, as its answers name it, against this one.
fn releases(headers: &MetadataMap) -> Option<Finding> {
    let there = headers.get("server")?.to_str().ok()?.strip_prefix("speedup/")?;
    Some(if there == RELEASE {
        Finding::fine("release", format!("{RELEASE} here and there"))
    } else {
        let words = format!("{RELEASE} here, {there} there");
        Finding::warning("release", words, "use the same release of speedup everywhere")
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    fn headers(name: &'static str, value: &str) -> MetadataMap {
        let mut headers = MetadataMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn clocks_that_differ_and_other_releases_are_told() {
        let date = headers("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let verdict = |now| clocks(&date, now).map(|finding| finding.verdict);
        assert_eq!(verdict(784_111_777), Some(Verdict::Fine));
        assert_eq!(verdict(784_111_777 + 200), Some(Verdict::Wrong));
        assert_eq!(verdict(784_111_777 - 200), Some(Verdict::Wrong));
        let verdict = |server| releases(&headers("server", server)).map(|finding| finding.verdict);
        assert_eq!(verdict("speedup/99.0.0"), Some(Verdict::Warning));
        assert_eq!(verdict(concat!("speedup/", env!("CARGO_PKG_VERSION"))), Some(Verdict::Fine));
        assert_eq!(verdict("nginx"), None);
    }
}
