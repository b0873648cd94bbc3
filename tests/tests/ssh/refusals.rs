//! What cannot be is told at once, in the words of who knows.

use speedup_tests::cluster::{Host, SshHostKeys, SshKey};

use crate::site;

/// A host whose key nobody vouched for is not talked to. Once it is known it serves, without being added again.
#[test]
fn an_unknown_host_is_refused_in_the_words_of_ssh() {
    let on = site("any", 1);
    let host = &on.site.hosts[0];
    let output = on.try_to_add(&[&host.address()], SshKey::Known, SshHostKeys::Unknown);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("ssh: ") && said.contains("Host key verification failed"), "{said}");
    assert!(!on.is_anything_left(host), "nothing was copied");
    on.vouch(SshHostKeys::Known);
    on.wait_until_serving(host, 1);
}

/// Who is not let in, and a host that is not there.
#[test]
fn a_key_that_is_refused_is_told_and_so_is_a_host_that_is_away() {
    let on = site("any", 2);
    let [host, away] = &on.site.hosts[..] else { panic!("two hosts") };
    let output = on.try_to_add(&[&host.address()], SshKey::Unknown, SshHostKeys::Known);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("Permission denied (publickey)"), "{said}");
    away.crash();
    on.try_to_add(&[&away.address(), "--wait", "1s"], SshKey::Known, SshHostKeys::Known);
    on.wait_for_error(away, "connect to host");
    away.boot();
    on.wait_until_serving(away, 1);
}

/// The program is copied to where nothing may be executed.
#[test]
fn a_directory_from_which_nothing_is_executed_is_told() {
    let on = site("any", 1);
    let host = &on.site.hosts[0];
    let place = Host::disk().join("ssh");
    host.enter(&format!("mkdir {0} && mount -t tmpfs -o noexec,size=1g tmpfs {0}", place.display()));
    let output = on.try_to_add(&[&host.address()], SshKey::Known, SshHostKeys::Known);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    let expected = ["does not start there", "Permission denied", "--directory"];
    assert!(expected.iter().all(|words| said.contains(words)), "{said}");
    host.enter(&format!("umount --lazy {}", place.display()));
    on.wait_until_serving(host, 1);
}

/// Options that would execute or trust something, names that are none, and users who may not.
#[test]
fn what_may_not_be_asked_for_is_refused() {
    let on = site("any", 1);
    let pool = &on.site.pool;
    let refused = |words: &[&str], expected: &str| {
        let output = pool.speedup(&[&["hosts", "ssh", "add"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    };
    refused(
        &["node1", "--", "-oProxyCommand=touch /tmp/x"],
        "option \"-o ProxyCommand\" of ssh is not accepted here",
    );
    refused(&["node1", "--", "-o", "StrictHostKeyChecking=no"], "whom to trust");
    refused(&["node1", "--", "-o", "UserKnownHostsFile=/dev/null"], "whom to trust");
    refused(&["node1", "--", "-F", "x"], "is not accepted here");
    refused(&["alice@-oProxyCommand=x"], "is no host for ssh");
    refused(&["a;b"], "is no host for ssh");
    refused(&["node1", "--directory", "~/x"], "cannot be the directory");
    refused(&["node1", "--reboot-command", "'"], "a quote is not closed");
    refused(&[], "no host is named");
    let shown = pool.json(&["hosts", "ssh", "show"]).expect("hosts");
    assert_eq!(shown, serde_json::json!([]), "nothing was added");
    let removed = pool.speedup(&["hosts", "ssh", "remove", "node1"]);
    assert!(String::from_utf8_lossy(&removed.stderr).contains("is not reached by ssh"));
}
