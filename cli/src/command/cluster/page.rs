//! `speedup page`: a link that signs this user in to the web page.

use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;
use speedup_access::private_file;
use speedup_proto::v1;

use super::access;
use crate::arguments::{Output, OutputArgument};
use crate::command::{print, print_json};
use crate::connection::{Connection, CoordinatorArguments, directories};
use crate::console::{Console, moment};
use crate::{exit::Exit, exit::failure::Failure};

/// Prints a sign-in link to the coordinator's web page
///
/// The link works once, within a few minutes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup page\n\
    \x20 speedup page --open\n\n\
    Keep the link secret until you have used it.")]
pub(crate) struct Arguments {
    /// Open the link in this machine's browser instead
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.coordinator.connect().await?;
    let answer = connection.page().sign_in(v1::SignInRequest {}).await;
    let far = tunnel(&connection);
    connection.close().await;
    let answer = answer.map_err(|status| match status.code() {
        tonic::Code::Unimplemented => Failure::usage(anyhow!("this coordinator has no web page"))
            .hint("its `speedup coordinator start` was given --web off, or is of an older release"),
        _ => Failure::status("cannot get a link to the web page", &status),
    })?;
    let v1::SignInLink { page, path, expires } = answer.into_inner();
    let expires_s = access::seconds(expires);
    let link = format!("{page}{path}");
    if arguments.open {
        open(&link)?;
        console.talk(format_args!("{page} is opened"));
        return Ok(Exit::Done);
    }
    match arguments.output.output {
        Output::Json => {
            let expires = (expires_s > 0).then_some(expires_s);
            print_json(console, &json!({ "page": page, "link": link, "expires_s": expires }))?;
        }
        Output::Table => {
            print(console, &link)?;
            if expires_s > 0 {
                let until = moment::local(access::timestamp(expires_s));
                console.talk(format_args!("it works once, until {until}"));
            }
            // A page on the loopback address of another machine needs a tunnel.
            if let Some((host, port)) = far.zip(loopback_port(&page)) {
                console.talk(format_args!(
                    "the page is served on that machine alone; from here: ssh -N -L {port}:127.0.0.1:{port} {host}"
                ));
            }
        }
    }
    Ok(Exit::Done)
}

/// The coordinator's machine, where it is another than this one.
fn tunnel(connection: &Connection) -> Option<String> {
    let authority = connection.url().split_once("://")?.1;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let is_here = host == "localhost" || host == "[::1]" || host.starts_with("127.") || host == own;
    if is_here { None } else { Some(host.trim_matches(['[', ']']).to_owned()) }
}

/// The port of a page that only its own machine reaches.
fn loopback_port(page: &str) -> Option<&str> {
    page.strip_prefix("http://")?.rsplit_once(':').map(|(_, port)| port)
}

/// Opens a link without telling it to other users of the machine, who see the arguments of all programs: through a file
/// that only this user reads.
fn open(link: &str) -> Result<(), Failure> {
    let file = directories::or_state(None, "page.html")?;
    let text = format!(
        "<!doctype html><html lang=\"en\"><title>Speedup</title><meta http-equiv=\"refresh\" content=\"0; url={link}\">\
         <p><a href=\"{link}\">To the page</a></p></html>\n"
    );
    private_file::write(&file, &text)
        .with_context(|| format!("cannot write {}", file.display()))
        .map_err(Failure::infrastructure)?;
    let mut opener = Command::new("xdg-open");
    opener.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = opener
        .status()
        .context("cannot start xdg-open")
        .and_then(|status| if status.success() { Ok(()) } else { Err(anyhow!("xdg-open found no browser")) });
    started.map_err(|error| Failure::infrastructure(error).hint("omit --open, and open the link yourself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_without_tls_is_its_machines_own() {
        assert_eq!(loopback_port("http://127.0.0.1:7078"), Some("7078"));
        assert_eq!(loopback_port("https://login1:7078"), None);
    }
}
