//! A terminal of which the tests see the screen and press the keys: a pseudo-terminal of the kernel, whose other end a real
//! process has as its own.

use std::{
    ffi::OsStr, fs::File, fs::OpenOptions, io::Read as _, io::Write as _, os::fd::AsFd as _,
    os::unix::ffi::OsStrExt as _, os::unix::fs::OpenOptionsExt as _, path::Path, process::Child,
    process::Command, process::ExitStatus, process::Stdio, sync::Arc, sync::Mutex, sync::PoisonError,
    thread::JoinHandle, time::Instant,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

use crate::pool::{GLANCE, PATIENCE, eventually};

/// Rows above the screen that are kept.
const KEPT: usize = 1_000;

/// A terminal, and the process in it. The process is killed when this is dropped.
pub struct Screen {
    keys: File,
    child: Child,
    parser: Arc<Mutex<Parser>>,
    reader: Option<JoinHandle<()>>,
}

impl Screen {
    /// Starts a command in a terminal of so many columns and rows, which it has as its controlling terminal.
    ///
    /// # Panics
    /// When there is no pseudo-terminal, or no `setsid` of util-linux.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("its other end");
        let name = ptsname(&keys, Vec::new()).expect("the name of its other end");
        tcsetwinsize(&keys, size(columns, rows)).expect("a size");
        let noctty = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).expect("a flag");
        let name = OsStr::from_bytes(name.as_bytes());
        let terminal =
            OpenOptions::new().read(true).write(true).custom_flags(noctty).open(name).expect("the terminal");
        let end = || Stdio::from(terminal.try_clone().expect("the terminal"));
        let mut starter = Command::new("setsid");
        starter.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        starter.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        starter.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => starter.env(name, value),
                None => starter.env_remove(name),
            };
        }
        let child = starter.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid of util-linux");
        let parser = Arc::new(Mutex::new(Parser::new(rows, columns, KEPT)));
        let mut output = File::from(keys.try_clone().expect("the terminal"));
        let shown = parser.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error when no process has the terminal any more.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..read]);
            }
        });
        Self { keys: File::from(keys), child, parser, reader: Some(reader) }
    }

    /// What the screen shows, a line a row.
    pub fn text(&self) -> String {
        self.parser().screen().contents()
    }

    /// The rows that did not end where the screen does, but go on in the next row: what was printed is wider than the screen.
    pub fn overflowing(&self) -> Vec<String> {
        let parser = self.parser();
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let wrapped = (0..rows).filter(|row| screen.row_wrapped(*row));
        wrapped.map(|row| screen.contents_between(row, 0, row, columns)).collect()
    }

    /// What the screen shows, with what moves the cursor and colours it.
    pub fn formatted(&self) -> String {
        String::from_utf8_lossy(&self.parser().screen().contents_formatted()).into_owned()
    }

    /// Whether the process is on the screen that leaves no trace.
    pub fn is_other(&self) -> bool {
        self.parser().screen().alternate_screen()
    }

    /// Waits until the screen shows something, and gives the screen.
    pub fn shows(&self, what: &str) -> String {
        self.until(what, |text| text.contains(what))
    }

    /// Waits until the screen is as it should be, and gives it.
    pub fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if is(&text) {
                return text;
            }
            assert!(Instant::now() < deadline, "the screen still does not show {what}, but:\n{text}");
            std::thread::sleep(GLANCE);
        }
    }

    /// Presses keys, as the bytes that a terminal sends.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal that is there");
    }

    /// Makes the terminal larger or smaller.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.parser().screen_mut().set_size(rows, columns);
        tcsetwinsize(self.keys.as_fd(), size(columns, rows)).expect("a size");
    }

    /// Waits until the process has ended, and gives how, with what the screen shows then.
    pub fn end(mut self) -> (ExitStatus, String) {
        (self.ended(), self.text())
    }

    /// Waits until the process has ended and all that it wrote is on the screen, and gives how it ended.
    pub fn ended(&mut self) -> ExitStatus {
        let status = eventually("the process ends", || self.child.try_wait().expect("a child"));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader");
        }
        status
    }

    fn parser(&self) -> std::sync::MutexGuard<'_, Parser> {
        self.parser.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
