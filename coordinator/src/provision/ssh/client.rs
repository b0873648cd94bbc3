//! The system's `ssh`, as one host is reached by it: known hosts, keys, agents, jumps and the user's configuration are its. It
//! asks nobody: what is not known or not let in is refused, with its own words.

use std::{fs::File, time::Duration};

use thiserror::Error;

use super::{destination::Destination, remote::Answer, remote::AnswerError};
use crate::provision::command::{CommandError, Input, execute_within};

/// How long a script may take: the longest waits for an agent to end.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long the program may take to be copied: a hundred megabytes over ten megabits.
const COPY_PATIENCE: Duration = Duration::from_secs(300);
/// Set whatever the user or its configuration says: nobody is there to answer a question, no key of a host is taken unseen, and nothing but
/// the command is executed, forwarded or left behind.
const OURS: [&str; 19] = [
    "-T",
    "-x",
    "-a",
    "-o",
    "BatchMode=yes",
    "-o",
    "StrictHostKeyChecking=yes",
    "-o",
    "UpdateHostKeys=no",
    "-o",
    "LogLevel=ERROR",
    "-o",
    "PermitLocalCommand=no",
    "-o",
    "RemoteCommand=none",
    "-o",
    "RequestTTY=no",
    "-o",
    "ControlMaster=no",
];
/// Set unless the user says otherwise: a host that is away is noticed.
const USUAL: [&str; 6] =
    ["-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"];

/// How one host is reached.
#[derive(Clone, Debug)]
pub(super) struct Client {
    destination: Destination,
    options: Vec<String>,
}

/// Why something was not done on a host.
#[derive(Debug, Error)]
pub(super) enum SshError {
    /// ssh says no, or nothing.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It was reached, and something is wrong there.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// A port of the host that leads to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    /// On the host's loopback.
    pub(super) port: u16,
    /// Where the coordinator listens, as seen from its own machine.
    pub(super) to: String,
}

impl Client {
    /// By options that were checked.
    pub(super) fn new(destination: Destination, options: Vec<String>) -> Self {
        Self { destination, options }
    }

    /// Executes a script there, which says what it has to say in lines of its own.
    pub(super) async fn script(&self, text: &str) -> Result<Answer, SshError> {
        let arguments = self.arguments(&["-o", "ClearAllForwardings=yes"], &["sh", "-s"]);
        let said = execute_within(PATIENCE, "ssh", &arguments, Input::Text(text)).await?;
        Ok(Answer::read(&said)?)
    }

    /// Executes a command there that reads a file of this machine.
    pub(super) async fn copy(&self, file: File, command: &str) -> Result<Answer, SshError> {
        let arguments = self.arguments(&["-o", "ClearAllForwardings=yes"], &[command]);
        let said = execute_within(COPY_PATIENCE, "ssh", &arguments, Input::File(file)).await?;
        Ok(Answer::read(&said)?)
    }

    /// The arguments of a connection that forwards, until its standard input ends: with whoever holds that.
    pub(super) fn tunnel(&self, forward: &Forward) -> Vec<String> {
        let Forward { port, to } = forward;
        let remote = format!("127.0.0.1:{port}:{to}");
        self.arguments(&["-o", "ExitOnForwardFailure=yes", "-R", &remote], &["cat"])
    }

    /// Of what is said twice ssh takes the first.
    fn arguments(&self, more: &[&str], command: &[&str]) -> Vec<String> {
        let destination = self.destination.to_string();
        let mut words: Vec<&str> = OURS.iter().chain(more).copied().collect();
        words.extend(self.options.iter().map(String::as_str));
        words.extend(USUAL.iter().chain(&["--", &destination]).chain(command));
        words.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(options: &[&str]) -> Client {
        let options = options.iter().map(ToString::to_string).collect();
        Client::new("alice@node1".parse().unwrap(), options)
    }

    /// What ssh makes of the arguments, by its own account.
    fn understood(client: &Client) -> String {
        let mut arguments = client.arguments(&["-o", "ClearAllForwardings=yes"], &["true"]);
        arguments.insert(0, "-G".to_owned());
        let output = std::process::Command::new("ssh").args(arguments).output().expect("ssh");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn ssh_understands_them_and_the_user_cannot_weaken_them() {
        if std::process::Command::new("ssh").arg("-V").output().is_err() {
            return;
        }
        let text = understood(&client(&["-p", "2222", "-o", "ConnectTimeout=3", "-o", "BatchMode=no"]));
        let expected = [
            "user alice",
            "hostname node1",
            "port 2222",
            "connecttimeout 3",
            "serveraliveinterval 15",
            "batchmode yes",
            "stricthostkeychecking true",
            "clearallforwardings yes",
            "forwardagent no",
            "controlmaster false",
        ];
        for line in expected {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
    }

    #[test]
    fn no_secret_and_no_command_of_the_user_is_an_argument() {
        let arguments = client(&[]).arguments(&[], &["sh", "-s"]);
        assert_eq!(arguments[arguments.len() - 4..], ["--", "alice@node1", "sh", "-s"]);
        let tunnel = client(&[]).tunnel(&Forward { port: 20_001, to: "127.0.0.1:7077".to_owned() });
        assert!(tunnel.contains(&"127.0.0.1:20001:127.0.0.1:7077".to_owned()), "{tunnel:?}");
    }
}
