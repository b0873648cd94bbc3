//! The address where a coordinator is to listen: whether it can.

use std::{fs::File, io::ErrorKind, net::SocketAddr, net::TcpListener, path::Path};

use rustix::fs::{FlockOperation, flock};

use super::finding::Finding;

/// Whether it can be listened on, where no coordinator does so with this data directory already.
pub(super) fn finding(bind: SocketAddr, data: &Path) -> Finding {
    let check = "address";
    if is_in_use(data) {
        return Finding::fine(check, "a coordinator runs on the data directory");
    }
    match TcpListener::bind(bind) {
        Ok(_) => Finding::fine(check, format!("{bind} is free")),
        Err(error) => {
            let hint = match error.kind() {
                ErrorKind::AddrInUse => {
                    "another program listens there; start the coordinator with another --bind"
                }
                ErrorKind::AddrNotAvailable => "this machine has no such address; see `ip address`",
                ErrorKind::PermissionDenied => {
                    "ports below 1024 are the system's; choose another with --bind"
                }
                _ => "choose another address with --bind",
            };
            Finding::wrong(check, format!("cannot listen on {bind}: {error}"), Some(hint.to_owned()))
        }
    }
}

/// Whether a coordinator holds the lock of its journal.
fn is_in_use(data: &Path) -> bool {
    let lock = File::open(data.join("journal/lock"));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_err())
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    #[test]
    fn an_address_that_is_taken_or_not_here_is_told() {
        let data = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let found = finding(address, data.path());
        assert_eq!(found.verdict, Verdict::Wrong);
        assert!(found.hint.is_some_and(|hint| hint.contains("--bind")), "{}", found.words);
        drop(taken);
        assert_eq!(finding(address, data.path()).verdict, Verdict::Fine);
        let elsewhere = finding("192.0.2.1:7077".parse().unwrap(), data.path());
        assert_eq!(elsewhere.verdict, Verdict::Wrong, "{elsewhere:?}");
    }
}
