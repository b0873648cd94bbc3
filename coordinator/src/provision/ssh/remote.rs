//! What is executed on a host, by a shell of POSIX that reads it from ssh's standard input, and what it answers. Whatever of a
//! user stands in it is quoted; the token that lets an agent in goes the same way, from here into the agent's own standard
//! input: it is in no argument and in no file.

use speedup_core::value::excerpt::legible;
use thiserror::Error;

use crate::provision::script::quoted;

/// By this begin the lines that are ours: a shell's start-up files may print others.
const MARK: &str = "@speedup";
/// Most bytes of an agent's log that are told.
const MAX_LOG_BYTES: u32 = 4_000;
/// How long an agent may take to end before it is killed, in seconds: it ends its run and restores settings of its host.
const FAREWELL_S: u32 = 30;

/// Where things lie on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemoteLayout {
    /// Of all that is ours there, of whichever coordinator; relative to the home directory or absolute.
    pub(super) root: String,
    /// What tells apart the coordinators of a user.
    pub(super) coordinator: String,
    /// The host, for a home directory may be that of several.
    pub(super) host: String,
}

/// An agent that is to run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentSpec {
    pub(super) program: String,
    /// The arguments after `agent start`.
    pub(super) arguments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostState {
    pub(super) has_program: bool,
    pub(super) agent: Agent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    /// None was started since this host was added.
    None,
    /// It runs, and is the one that is wanted or another.
    Running {
        /// By [`AgentSpec::mark`].
        mark: String,
    },
    /// It has ended; what it said last.
    Ended {
        /// Its last words, if it said any.
        words: String,
    },
    /// It ended with an earlier boot of the host.
    Booted,
}

/// What was done to end an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// Nothing of it is left.
    Wholly,
    /// Its state is still there, and why.
    ButState(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AnswerError {
    /// The script tells what is wrong.
    #[error("{0}")]
    Told(String),
    #[error(
        "the program was copied and does not start there: {0}; use the static binary of deploy/release, and a directory from which \
         programs may be executed (--directory)"
    )]
    Program(String),
    #[error("the host answered {0:?} instead of executing a script of a POSIX shell")]
    Strange(String),
}

/// What a script said: a word, and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer(Vec<(String, String)>);

impl Answer {
    pub(super) fn read(said: &str) -> Result<Self, AnswerError> {
        let lines = said.lines().filter_map(|line| line.strip_prefix(MARK)?.strip_prefix(' '));
        let pairs = lines.map(|line| {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            (word.to_owned(), legible(rest.as_bytes()))
        });
        let answer = Self(pairs.collect());
        if let Some(words) = answer.all("error") {
            return Err(AnswerError::Told(words));
        }
        if let Some(words) = answer.all("program-error") {
            return Err(AnswerError::Program(words));
        }
        if answer.one("done").is_none() {
            return Err(AnswerError::Strange(said.trim().chars().take(200).collect()));
        }
        Ok(answer)
    }

    fn one(&self, word: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == word).map(|(_, rest)| rest.as_str())
    }

    fn all(&self, word: &str) -> Option<String> {
        let said = self.0.iter().filter(|(known, _)| known == word).map(|(_, rest)| rest.as_str());
        let said: Vec<&str> = said.collect();
        if said.is_empty() { None } else { Some(said.join("; ")) }
    }

    /// That of [`RemoteLayout::look`].
    pub(super) fn found(&self) -> HostState {
        let agent = if let Some(mark) = self.one("running") {
            Agent::Running { mark: mark.to_owned() }
        } else if self.one("ended").is_some() {
            Agent::Ended { words: last_words(&self.0) }
        } else if self.one("booted").is_some() {
            Agent::Booted
        } else {
            Agent::None
        };
        HostState { has_program: self.one("program").is_some(), agent }
    }

    /// That of [`RemoteLayout::remove`].
    pub(super) fn removed(&self) -> Removal {
        self.all("kept").map_or(Removal::Wholly, Removal::ButState)
    }
}

/// The error that an agent ended with, or else the last line of its log.
fn last_words(answer: &[(String, String)]) -> String {
    let log: Vec<&str> =
        answer.iter().filter(|(word, _)| word == "log").map(|(_, line)| line.trim()).collect();
    let error = log.iter().rposition(|line| line.starts_with("error:"));
    log.get(error.unwrap_or(log.len().saturating_sub(1))..).unwrap_or_default().join("; ")
}

impl AgentSpec {
    /// By what one is told from another.
    pub(super) fn mark(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for word in std::iter::once(&self.program).chain(&self.arguments) {
            hasher.update(word.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

impl RemoteLayout {
    /// The directory of this host's agent: its log, and its state.
    pub(super) fn directory(&self) -> String {
        format!("{}/{}/{}", self.root, self.coordinator, self.host)
    }

    /// A script that tells what is there.
    pub(super) fn look(&self, wanted: &AgentSpec) -> String {
        let program = quoted(&self.program(&wanted.program));
        self.script(&format!(
            "[ ! -x \"$(at {program})\" ] || say program\n\
             if is_alive; then say running $mark\n\
             elif [ -e agent ] && [ \"$booted\" != \"$(boot)\" ]; then say booted\n\
             elif [ -e agent ]; then say ended; tail -c {MAX_LOG_BYTES} log 2>/dev/null | sed 's/^/{MARK} log /'; fi\n",
        ))
    }

    /// A command for whatever shell a user logs in with, which puts the program of so many bytes in place. Only that is put there which
    /// arrived whole and starts.
    pub(super) fn copy(&self, program: &str, bytes: u64) -> String {
        let root = format!("{}/bin/{program}", self.root);
        format!(
            "sh -c 'umask 077; cd && mkdir -p {root} && cd {root} || exit; \
             cat >new.$$ && chmod 700 new.$$ || {{ rm -f new.$$; exit 1; }}; \
             if [ $(wc -c <new.$$) -ne {bytes} ]; then rm -f new.$$; echo {MARK} error the program did not arrive whole; \
             elif said=$(./new.$$ --version 2>&1); then mv new.$$ speedup && echo {MARK} done; \
             else rm -f new.$$; echo {MARK} program-error $said; fi'"
        )
    }

    /// A script that starts an agent, which outlives it.
    pub(super) fn start(&self, wanted: &AgentSpec, token: &str) -> String {
        let program = quoted(&self.program(&wanted.program));
        let arguments: Vec<String> = wanted.arguments.iter().map(|word| quoted(word)).collect();
        self.script(&format!(
            "if is_alive; then say error an agent runs there already; exit 0; fi\n\
             mkdir -p state; [ ! -e log ] || mv log log.before\n\
             setsid=setsid; command -v setsid >/dev/null || setsid=\n\
             program=$(at {program})\n\
             nohup $setsid \"$program\" agent start {arguments} --state \"$PWD/state\" --token-file - >log 2>&1 <<'END' &\n\
             {token}\n\
             END\n\
             pid=$!\n\
             printf '%s\\n' \"$pid\" \"$(begun $pid)\" \"$(boot)\" {mark} \"$program\" >agent.new && mv agent.new agent\n",
            arguments = arguments.join(" "),
            mark = wanted.mark(),
        ))
    }

    /// A script that ends the agent.
    pub(super) fn stop(&self) -> String {
        self.script(&stop())
    }

    /// A script that ends the agent and removes what was copied, but for reports that the coordinator does not have.
    pub(super) fn remove(&self) -> String {
        let [root, coordinator] = [&self.root, &self.coordinator].map(|word| quoted(word));
        self.script(&format!(
            "{stop}\
             if [ -n \"$(ls -A state 2>/dev/null)\" ]; then\n\
             unsent=$(\"$program\" agent outbox --state state 2>&1) || unsent=\"unknown ($unsent)\"\n\
             if [ \"$unsent\" != 0 ]; then\n\
             rm -f log log.before; say kept \"reports not acknowledged: $unsent; in $PWD/state\"; say done; exit 0\n\
             fi; fi\n\
             cd \"$home\" && rm -rf {directory} && cd {root} || exit 1\n\
             rmdir {coordinator} 2>/dev/null || :\n\
             set -- */; case \"$*\" in bin/ | '*/') rm -rf bin; cd \"$home\" && rmdir {root} 2>/dev/null || : ;; esac\n",
            stop = stop(),
            directory = quoted(&self.directory()),
        ))
    }

    fn program(&self, hash: &str) -> String {
        format!("{}/bin/{hash}/speedup", self.root)
    }

    /// `body` in the directory of the agent, with what each script needs to know of it.
    fn script(&self, body: &str) -> String {
        let directory = quoted(&self.directory());
        format!(
            "umask 077; export LC_ALL=C\n\
             say() {{ echo {MARK} \"$@\"; }}\n\
             at() {{ case $1 in /*) echo \"$1\" ;; *) echo \"$home/$1\" ;; esac; }}\n\
             boot() {{ cat /proc/sys/kernel/random/boot_id; }}\n\
             begun() {{ sed -n 's/.*) \\([^XZ] \\)/\\1/p' \"/proc/$1/stat\" 2>/dev/null | cut -d' ' -f20; }}\n\
             is_alive() {{ [ -n \"$begun\" ] && [ \"$booted\" = \"$(boot)\" ] && [ \"$begun\" = \"$(begun \"$pid\")\" ]; }}\n\
             cd && home=$PWD && mkdir -p {directory} && cd {directory} || {{ say error cannot use {directory}; exit 0; }}\n\
             pid= begun= booted= mark= program=\n\
             [ ! -e agent ] || {{ read -r pid; read -r begun; read -r booted; read -r mark; read -r program; }} <agent\n\
             {body}\
             say done\n"
        )
    }
}

/// Asks the agent to end, and makes it when it does not.
fn stop() -> String {
    format!(
        "! is_alive || kill -TERM \"$pid\"\n\
         left={FAREWELL_S}; while is_alive && [ \"$left\" -gt 0 ]; do sleep 1; left=$((left - 1)); done\n\
         ! is_alive || kill -KILL \"$pid\"; while is_alive; do sleep 1; done\n"
    )
}

#[cfg(test)]
mod tests {
    use std::{
        fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path, process::Command, process::Stdio,
    };

    use super::*;

    /// Where the program would be a hundred megabytes: it answers as the real one does, and says what it was given.
    const PROGRAM: &str = "#!/bin/sh\ncase \"$1 $2\" in\n'--version ') echo speedup 0 ;;\n'agent outbox') cat \"$4/waiting\" ;;\n\
        'agent start') cat >given; echo \"$@\" >arguments; echo 'INFO it starts'; [ ! -e fail ] || { echo 'error: it fails'; echo \
        'hint: mend it'; exit 4; }; : >state/lock; exec sleep 1000 ;;\nesac\n";

    fn place() -> RemoteLayout {
        let name = |text: &str| text.to_owned();
        RemoteLayout { root: name(".local/ssh"), coordinator: name("speedup-1"), host: name("node1") }
    }

    fn wanted(argument: &str) -> AgentSpec {
        AgentSpec {
            program: "hash".to_owned(),
            arguments: vec!["--reboot-command".to_owned(), argument.to_owned()],
        }
    }

    fn told(home: &Path, shell: &[&str], input: &[u8]) -> Result<Answer, AnswerError> {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).env("HOME", home).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // What reads nothing has closed it.
        let _ = child.stdin.take().unwrap().write_all(input);
        Answer::read(&String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
    }

    fn script(home: &Path, text: &str) -> Answer {
        told(home, &["sh", "-s"], text.as_bytes()).unwrap()
    }

    fn copy(home: &Path, program: &str, bytes: usize) -> Result<Answer, AnswerError> {
        // As sshd has a user's shell execute a command.
        told(home, &["sh", "-c", &place().copy("hash", bytes as u64)], program.as_bytes())
    }

    fn eventually(what: impl Fn() -> bool) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !what() {
            assert!(std::time::Instant::now() < deadline, "still waiting");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    #[test]
    fn an_agent_is_started_found_ended_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let (place, wanted) = (place(), wanted("it's $(x)"));
        let look = || script(home, &place.look(&wanted)).found();
        assert_eq!(look(), HostState { has_program: false, agent: Agent::None });
        copy(home, PROGRAM, PROGRAM.len()).unwrap();
        script(home, &place.start(&wanted, "the-token"));
        let there = home.join(".local/ssh/speedup-1/node1");
        eventually(|| there.join("state/lock").exists());
        assert_eq!(look(), HostState { has_program: true, agent: Agent::Running { mark: wanted.mark() } });
        assert_eq!(fs::read_to_string(there.join("given")).unwrap(), "the-token\n");
        let arguments = fs::read_to_string(there.join("arguments")).unwrap();
        assert!(arguments.contains(" --reboot-command it's $(x) "), "{arguments}");
        assert!(!arguments.contains("the-token"), "{arguments}");
        let again = told(home, &["sh", "-s"], place.start(&wanted, "t").as_bytes());
        assert!(matches!(&again, Err(AnswerError::Told(words)) if words.contains("already")), "{again:?}");

        fs::write(there.join("state/waiting"), "2").unwrap();
        let kept = script(home, &place.remove()).removed();
        assert!(matches!(&kept, Removal::ButState(why) if why.contains("not acknowledged: 2")), "{kept:?}");
        assert!(matches!(look().agent, Agent::Ended { .. }));
        let agent = fs::read_to_string(there.join("agent")).unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert!(agent.contains(&boot), "{agent}");
        fs::write(there.join("agent"), agent.replace(&boot, "another\n")).unwrap();
        assert_eq!(look().agent, Agent::Booted);
        fs::write(there.join("state/waiting"), "0").unwrap();
        assert_eq!(script(home, &place.remove()).removed(), Removal::Wholly);
        assert!(!home.join(".local/ssh").exists());
        assert_eq!(script(home, &place.remove()).removed(), Removal::Wholly, "once more does no harm");
    }

    #[test]
    fn the_last_words_of_an_agent_are_told() {
        let home = tempfile::tempdir().unwrap();
        let (home, place, wanted) = (home.path(), place(), wanted("x"));
        script(home, &place.look(&wanted));
        fs::write(home.join(".local/ssh/speedup-1/node1/fail"), "").unwrap();
        copy(home, PROGRAM, PROGRAM.len()).unwrap();
        script(home, &place.start(&wanted, "t"));
        let words = "error: it fails; hint: mend it".to_owned();
        eventually(|| {
            script(home, &place.look(&wanted)).found().agent == Agent::Ended { words: words.clone() }
        });
    }

    #[test]
    fn what_did_not_arrive_whole_or_does_not_start_is_not_put_in_place() {
        let home = tempfile::tempdir().unwrap();
        let cut = copy(home.path(), &PROGRAM[..20], PROGRAM.len());
        assert!(matches!(&cut, Err(AnswerError::Told(words)) if words.contains("arrive")), "{cut:?}");
        let broken = "#!/nowhere/ld.so\n";
        let Err(AnswerError::Program(words)) = copy(home.path(), broken, broken.len()) else {
            panic!("it starts")
        };
        assert!(words.contains("not found") || words.contains("No such file"), "{words}");
        let directory = home.path().join(".local/ssh/bin/hash");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
        let mode = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "it is the user's alone");
    }

    #[test]
    fn what_a_shell_prints_at_its_start_is_passed_over() {
        let said = "Welcome!\n@speedup program\n@speedup running 1a\n@speedup done\n";
        let found = Answer::read(said).unwrap().found();
        assert_eq!(found, HostState { has_program: true, agent: Agent::Running { mark: "1a".to_owned() } });
        assert_eq!(Answer::read("No account.\n"), Err(AnswerError::Strange("No account.".to_owned())));
    }
}
