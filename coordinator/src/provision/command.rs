//! Programs of the system, executed as the user would: with the user's environment and without a shell, within bounds of
//! time and output.

use std::{fs::File, io::Cursor, process::ExitStatus, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use speedup_core::value::excerpt::last_lines;
use thiserror::Error;
use tokio::{io::AsyncRead, io::AsyncReadExt as _, io::AsyncWriteExt as _, process::Child};

/// How long a command may take: a controller under load answers late, one that is away not at all.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most bytes of its output: ten thousand jobs with all that is asked of them.
const MAX_OUTPUT_BYTES: usize = 8 << 20;
/// Most bytes and lines of the end of what it says when it fails that are told.
const MAX_WORDS: (u64, usize) = (2_000, 20);

/// Why a command has not done what it should.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    #[error("cannot execute {program}")]
    NotStarted { program: String, source: std::io::Error },
    #[error("{program} has not answered within {} seconds", .patience.as_secs_f64())]
    TimedOut {
        program: String,
        /// How long was waited.
        patience: Duration,
    },
    #[error("{program} printed more than {MAX_OUTPUT_BYTES} bytes")]
    TooLong { program: String },
    #[error("{program}: {words}")]
    Failed {
        program: String,
        /// Its own words, or its exit status.
        words: String,
    },
}

/// Does work that blocks apart from the event loop. A panic of it goes on in the caller.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

#[derive(Debug)]
pub(crate) enum Input<'a> {
    Text(&'a str),
    /// A file, from where it stands.
    File(File),
}

/// Executes a command and gives what it printed.
pub(crate) async fn execute(
    program: &str,
    arguments: &[String],
    input: &str,
) -> Result<String, CommandError> {
    execute_within(PATIENCE, program, arguments, Input::Text(input)).await
}

/// The same, for as long as it may take.
pub(crate) async fn execute_within(
    patience: Duration,
    program: &str,
    arguments: &[String],
    input: Input<'_>,
) -> Result<String, CommandError> {
    let not_started = |source| CommandError::NotStarted { program: program.to_owned(), source };
    let (stdin, text) = match input {
        Input::Text(text) => (Stdio::piped(), text),
        Input::File(file) => (Stdio::from(file), ""),
    };
    let mut child = start(program, arguments, stdin).map_err(not_started)?;
    let (status, out, err) = match tokio::time::timeout(patience, converse(&mut child, text)).await {
        Ok(Ok(Some(answer))) => answer,
        unfinished => {
            // Nobody reads what it prints any more: it would wait for that, and keep its engine busy.
            end(child).await;
            return Err(match unfinished {
                Ok(Err(source)) => not_started(source),
                Ok(Ok(_)) => CommandError::TooLong { program: program.to_owned() },
                Err(_) => CommandError::TimedOut { program: program.to_owned(), patience },
            });
        }
    };
    if !status.success() {
        return Err(CommandError::Failed {
            program: program.to_owned(),
            words: words(if err.trim_ascii().is_empty() { &out } else { &err }, status),
        });
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn start(program: &str, arguments: &[String], stdin: Stdio) -> std::io::Result<Child> {
    let mut command = crate::open_files::command(program);
    // Words are compared and shown, so they are not to be translated; moments are to be numbers.
    command.args(arguments).env("LC_ALL", "C").env("SLURM_TIME_FORMAT", "%s");
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true).spawn()
}

type Answer = (ExitStatus, Vec<u8>, Vec<u8>);

/// Nothing when it says too much.
async fn converse(child: &mut Child, input: &str) -> std::io::Result<Option<Answer>> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that reads no input has closed it.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), out, err) = tokio::join!(write, read(stdout), read(stderr));
    let (Some(out), Some(err)) = (out?, err?) else { return Ok(None) };
    Ok(Some((child.wait().await?, out, err)))
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MAX_OUTPUT_BYTES as u64 + 1).read_to_end(&mut bytes).await?;
    }
    Ok((bytes.len() <= MAX_OUTPUT_BYTES).then_some(bytes))
}

/// With all that it started.
async fn end(mut child: Child) {
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        // It is not waited for yet, so the number is still its own; it may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
}

/// What it says of its failure, on one line.
fn words(err: &[u8], status: ExitStatus) -> String {
    let said = last_lines(Cursor::new(err), MAX_WORDS.0, MAX_WORDS.1).unwrap_or_default();
    let said: Vec<&str> = said.iter().map(|line| line.trim()).collect();
    if said.is_empty() { format!("it failed without a message: {status}") } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> [String; 2] {
        ["-c".to_owned(), script.to_owned()]
    }

    #[tokio::test]
    async fn what_it_prints_is_given() {
        assert_eq!(execute("cat", &[], "words").await.unwrap(), "words");
        assert_eq!(execute("sh", &shell("echo $LC_ALL"), "").await.unwrap(), "C\n");
    }

    #[tokio::test]
    async fn its_own_words_tell_why_it_failed() {
        let error = execute("sh", &shell("echo first >&2; echo second >&2; exit 3"), "").await.unwrap_err();
        assert_eq!(error.to_string(), "sh: first; second");
        let error = execute("sh", &shell("echo denied; exit 1"), "").await.unwrap_err();
        assert_eq!(error.to_string(), "sh: denied", "some say it to the wrong end");
        let error = execute("sh", &shell("exit 3"), "").await.unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        let error = execute("no-such-program", &[], "").await.unwrap_err();
        let told = speedup_core::value::causes::with_causes(&error);
        assert!(told.contains("no-such-program: ") && told.ends_with("(os error 2)"), "{told}");
    }

    #[tokio::test]
    async fn one_that_does_not_end_is_ended_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {0}.part; mv {0}.part {0}; wait", file.display());
        // A busy machine may take longer to begin with it: then it gets more time.
        let mut patience = Duration::from_secs(1);
        while !file.exists() {
            let error = execute_within(patience, "sh", &shell(&script), Input::Text("")).await.unwrap_err();
            assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
            patience *= 2;
        }
        let pid = std::fs::read_to_string(file).unwrap();
        // It was killed; the kernel takes a moment to end it.
        let mut state = String::from("not looked at yet");
        for _ in 0..1_000 {
            state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            if state.is_empty() || state.contains(") Z") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it goes on: {state}");
    }

    #[tokio::test]
    async fn one_that_says_too_much_is_ended() {
        let error = execute("cat", &["/dev/zero".to_owned()], "").await.unwrap_err();
        assert!(matches!(error, CommandError::TooLong { .. }), "{error}");
    }
}
