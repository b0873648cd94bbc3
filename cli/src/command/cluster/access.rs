//! `speedup access`: who may do what.

pub(crate) mod token;

use clap::{Args, Subcommand};
use serde::Serialize;
use speedup_access::{Serial, enrolment, unix_seconds};
use speedup_core::value::time::Timestamp;
use speedup_proto::{v1, v1::revoke_request::What};
use std::path::PathBuf;

use self::token::{TokenArgument, TokenStatus};
use super::hosts;
use crate::command::{print, print_csv, print_json};
use crate::{
    arguments::Form, arguments::Output, arguments::heading, connection::CoordinatorArguments,
    connection::access, connection::access::Access, console::Console, console::moment,
    console::render::table::Column, console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// Manages certificates: who may do what
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Enrol(EnrolArguments),
    /// Lists the certificates that are valid, or have expired and can be renewed, and the reusable tokens
    #[command(after_help = "Example:\n  speedup access list")]
    List(token::ListArguments),
    Revoke(RevokeArguments),
    /// Shows the user and role by which the coordinator knows you
    #[command(after_help = "Example:\n  speedup access whoami")]
    Whoami(hosts::CommonArguments),
}

/// Enrols this user with a coordinator
///
/// It exchanges a token for a certificate, and writes the access file that commands use from then on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup access enrol --url https://login1:7077 --token-file token")]
pub(crate) struct EnrolArguments {
    /// The address of the coordinator
    #[arg(long, value_name = "URL")]
    url: String,
    #[command(flatten)]
    token: TokenArgument,
    /// The name for the coordinator: commands select it with --coordinator
    #[arg(long, value_name = "NAME", default_value = access::DEFAULT, value_parser = access::name)]
    name: String,
    /// The access file to write [default: $XDG_STATE_HOME/speedup/access.toml, or access/NAME.toml there]
    #[arg(long, value_name = "FILE", help_heading = heading::REACHING)]
    access_file: Option<PathBuf>,
}

/// Revokes certificates, and closes the connections made with them
#[derive(Debug, Args)]
#[command(
    override_usage = "speedup access revoke <--user NAME|--host ID|--certificate DIGITS>",
    after_help = "Examples:\n  speedup access revoke --user alice\n  speedup access revoke --host node17"
)]
pub(crate) struct RevokeArguments {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// All certificates of this user, and the reusable tokens for it
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// All certificates of the agents of this host
    #[arg(long, value_name = "ID")]
    host: Option<String>,
    /// One certificate, by its serial number
    #[arg(long, value_name = "DIGITS")]
    certificate: Option<Serial>,
}

/// A certificate that holds, or has expired and can be renewed.
#[derive(Debug, Serialize)]
struct CertificateStatus {
    serial: String,
    name: String,
    role: String,
    not_after_s: u64,
    by: String,
}

impl From<v1::CertificateStatus> for CertificateStatus {
    fn from(wire: v1::CertificateStatus) -> Self {
        let v1::CertificateStatus { serial, name, role, not_after, by, due: _ } = wire;
        Self { serial, name, role, not_after_s: seconds(not_after), by }
    }
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Enrol(arguments) => enrol(arguments, console).await,
        Verb::List(arguments) => list(arguments, console).await,
        Verb::Revoke(arguments) => revoke(arguments, console).await,
        Verb::Whoami(arguments) => whoami(arguments, console).await,
    }
}

async fn enrol(arguments: EnrolArguments, console: &Console) -> Result<Exit, Failure> {
    let token = token::read(&arguments.token.token_file)?;
    let path = access::path(arguments.access_file.as_deref(), &arguments.name)?;
    let got = enrolment::enrol(&arguments.url, &token, "").await;
    let credentials = got.map_err(|error| match error {
        enrolment::EnrolmentError::Refused(status) => Failure::status("cannot enrol", &status),
        error => Failure::usage(error).context("cannot enrol"),
    })?;
    let certificate = credentials.certificate();
    let (identity, until) = (certificate.identity.clone(), moment::local(timestamp(certificate.not_after)));
    access::write(&path, Access::enrolled(arguments.url, Some(&credentials)))?;
    console.talk(format_args!("you are {identity} until {until}; the credentials are in {}", path.display()));
    Ok(Exit::Done)
}

const FIELDS: [&str; 5] = ["serial", "name", "role", "not_after_s", "by"];

async fn list(arguments: token::ListArguments, console: &Console) -> Result<Exit, Failure> {
    let listed = listed(&arguments.coordinator).await?;
    let certificates: Vec<CertificateStatus> = listed.certificates.into_iter().map(Into::into).collect();
    let tokens: Vec<TokenStatus> = listed.tokens.into_iter().map(Into::into).collect();
    match arguments.output.output {
        Form::Json => {
            print_json(console, &serde_json::json!({ "certificates": certificates, "tokens": tokens }))?;
        }
        Form::Csv => print_csv(console, &certificates, &FIELDS)?,
        Form::Table => {
            print(console, &shown(&certificates, console))?;
            // Others end by themselves within a week; with these, jobs are let in for a year.
            let reusable: Vec<TokenStatus> = tokens.into_iter().filter(|token| token.reusable).collect();
            if !reusable.is_empty() {
                print(console, &format!("\n{}", token::shown(&reusable, console)))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn shown(certificates: &[CertificateStatus], console: &Console) -> String {
    let columns = [
        Column::Words("name"),
        Column::Words("role"),
        Column::Words("until"),
        Column::Words("by"),
        Column::Words("certificate"),
    ];
    let now = unix_seconds();
    let row = |one: &CertificateStatus| {
        let mut until = moment::local(timestamp(one.not_after_s));
        if one.not_after_s < now {
            until += " (expired, can be renewed)";
        }
        vec![one.name.clone(), one.role.clone(), until, one.by.clone(), one.serial.clone()]
    };
    table(&columns, certificates.iter().map(row), console.out)
}

async fn revoke(arguments: RevokeArguments, console: &Console) -> Result<Exit, Failure> {
    let what = match arguments.whose {
        Whose { user: Some(name), .. } => What::User(name),
        Whose { host: Some(name), .. } => What::Host(name),
        Whose { certificate: Some(serial), .. } => What::Serial(serial.to_string()),
        // clap wants one of them.
        Whose { user: None, host: None, certificate: None } => What::Serial(String::new()),
    };
    tell_revoked(revoked(&arguments.coordinator, what).await?, console);
    Ok(Exit::Done)
}

pub(crate) fn tell_revoked(revoked: v1::AccessList, console: &Console) {
    for token in revoked.tokens.into_iter().map(TokenStatus::from) {
        console.talk(format_args!("token {} is revoked", token.words()));
    }
    for one in revoked.certificates.into_iter().map(CertificateStatus::from) {
        console.talk(format_args!("certificate {} of {} ({}) is revoked", one.serial, one.name, one.role));
    }
}

async fn whoami(arguments: hosts::CommonArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.coordinator.connect().await?;
    let answer = connection.access().who_am_i(v1::WhoAmIRequest {}).await;
    connection.close().await;
    let status = answer.map_err(|status| Failure::status("cannot ask who you are", &status))?.into_inner();
    let one = CertificateStatus::from(status);
    match arguments.output.output {
        Output::Json => print_json(console, &one)?,
        Output::Table => {
            let until = moment::local(timestamp(one.not_after_s));
            print(console, &format!("{} ({}) until {until}", one.name, one.role))?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) async fn listed(coordinator: &CoordinatorArguments) -> Result<v1::AccessList, Failure> {
    let connection = coordinator.connect().await?;
    let answer = enrolment::list(&mut connection.access()).await;
    connection.close().await;
    answer.map_err(|status| Failure::status("cannot list the certificates", &status))
}

pub(crate) async fn revoked(
    coordinator: &CoordinatorArguments,
    what: What,
) -> Result<v1::AccessList, Failure> {
    let connection = coordinator.connect().await?;
    let answer = connection.access().revoke(v1::RevokeRequest { what: Some(what) }).await;
    connection.close().await;
    Ok(answer.map_err(|status| Failure::status("cannot revoke it", &status))?.into_inner())
}

/// A moment of the API in seconds since 1970; 0 where it is absent.
pub(crate) fn seconds(wire: Option<prost_types::Timestamp>) -> u64 {
    wire.and_then(|wire| u64::try_from(wire.seconds).ok()).unwrap_or_default()
}

/// Seconds since 1970 as a moment.
pub(crate) fn timestamp(seconds: u64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1_000_000_000))
}
