//! `speedup token`: what others enrol with.

use std::{fs::File, io, path::Path, path::PathBuf};

use anyhow::{Error, anyhow};
use clap::{Args, Subcommand};
use serde::Serialize;
use speedup_access::{Role, Token};
use speedup_core::{value::bounded::read_text_at_most, value::time::Span};
use speedup_proto::{convert::duration, v1, v1::revoke_request::What};

use super::{listed, revoked, seconds, tell_revoked, timestamp};
use crate::command::{print, print_csv, print_json};
use crate::{
    arguments::Form, arguments::FormArgument, arguments::Output, arguments::OutputArgument, arguments::span,
    connection::CoordinatorArguments, console::Console, console::moment, console::render::table::Column,
    console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// Digits of a token's id that people tell it by.
const SHOWN_DIGITS: usize = 12;
/// Largest file of a token: one line.
const MAX_BYTES: u64 = 4 << 10;

/// Manages the tokens with which users and agents enrol
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Create(CreateArguments),
    /// Lists the tokens that are still valid
    #[command(after_help = "Example:\n  speedup token list")]
    List(ListArguments),
    Revoke(RevokeArguments),
}

/// Creates a token, and prints it
///
/// Whoever has the token can enrol in its role until it is used up or expires.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup token create --role agent --uses 32 --expires 1h > token\n\
    \x20 speedup token create --role submitter --name alice > token\n\
    \x20 speedup token create --role viewer --name ci --reusable --expires 365d > ci\n\n\
    The token is a secret. It is not stored, and cannot be shown again.")]
pub(crate) struct CreateArguments {
    /// viewer, submitter, admin, or agent
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// The user to enrol; for agents, the host id [default for agents: any host without a certificate]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How many times it can be used
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "reusable")]
    uses: u32,
    /// Let it be used until it expires, by jobs of continuous integration that enrol anew each time
    ///
    /// It enrols one user, a viewer or submitter. Each enrolment gives a certificate for five days at most, which is not renewed.
    #[arg(long, requires = "name")]
    reusable: bool,
    /// How long it is valid, such as 30m, 1h or 7d: up to 7 days, or 400 days if it is reusable
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
    expires: Span,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

// A doc comment would be the help of the verbs, of `access` as well.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArguments,
    #[command(flatten)]
    pub(crate) output: FormArgument,
}

/// Revokes a token; certificates made with it stay valid, unless it is reusable
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup token revoke 3f9a01c27be4")]
pub(crate) struct RevokeArguments {
    /// The token's id or the first digits of it, as in `speedup token list`
    token: String,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
}

/// A token that can still be used.
#[derive(Debug, Serialize)]
pub(crate) struct TokenStatus {
    id: String,
    role: String,
    name: Option<String>,
    /// None for one that is reusable.
    uses_left: Option<u32>,
    pub(crate) reusable: bool,
    expires_s: u64,
    by: String,
}

impl From<v1::TokenStatus> for TokenStatus {
    fn from(wire: v1::TokenStatus) -> Self {
        let name = Some(wire.name).filter(|name| !name.is_empty());
        let id = wire.id.get(..SHOWN_DIGITS).unwrap_or_default().to_owned();
        let v1::TokenStatus { role, uses_left, expires, by, reusable, .. } = wire;
        let uses_left = if reusable { None } else { Some(uses_left) };
        Self { id, role, name, uses_left, reusable, expires_s: seconds(expires), by }
    }
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Create(arguments) => create(arguments, console).await,
        Verb::List(arguments) => list(arguments, console).await,
        Verb::Revoke(arguments) => revoke(arguments, console).await,
    }
}

/// The token in a file, or in standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Token, Failure> {
    let failed = |error: Error| {
        Failure::usage(error.context(format!("cannot read the token in {}", path.display())))
            .hint("a file of one token is what `speedup token create > FILE` writes")
    };
    let read = if path == Path::new("-") {
        read_text_at_most(io::stdin(), MAX_BYTES)
    } else {
        File::open(path).and_then(|file| read_text_at_most(file, MAX_BYTES))
    };
    let text = read.map_err(|error| failed(error.into()))?;
    text.parse().map_err(|error: speedup_access::TokenError| failed(error.into()))
}

/// A length of time, also in days.
fn lifetime(text: &str) -> Result<Span, Error> {
    match text.strip_suffix('d').map(str::parse::<u32>) {
        Some(Ok(days)) => Ok(Span::from_secs(u64::from(days) * 86_400)),
        Some(Err(_)) | None => span(text),
    }
}

async fn create(arguments: CreateArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.coordinator.connect().await?;
    let request = v1::CreateTokenRequest {
        role: arguments.role.name().to_owned(),
        name: arguments.name.unwrap_or_default(),
        uses: if arguments.reusable { 0 } else { arguments.uses },
        reusable: arguments.reusable,
        lifetime: Some(duration(Span::from_secs(arguments.expires.0 / 1_000_000_000))),
    };
    let answer = connection.access().create_token(request).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status("cannot make a token", &status))?.into_inner();
    let status = answer.status.map(TokenStatus::from);
    match arguments.output.output {
        Output::Json => print_json(console, &serde_json::json!({ "token": answer.token, "status": status }))?,
        Output::Table => print(console, &answer.token)?,
    }
    Ok(Exit::Done)
}

const FIELDS: [&str; 7] = ["id", "role", "name", "uses_left", "reusable", "expires_s", "by"];

async fn list(arguments: ListArguments, console: &Console) -> Result<Exit, Failure> {
    let listed = listed(&arguments.coordinator).await?;
    let tokens: Vec<TokenStatus> = listed.tokens.into_iter().map(Into::into).collect();
    match arguments.output.output {
        Form::Json => print_json(console, &tokens)?,
        Form::Csv => print_csv(console, &tokens, &FIELDS)?,
        Form::Table if tokens.is_empty() => console.talk("There is no valid token."),
        Form::Table => print(console, &shown(&tokens, console))?,
    }
    Ok(Exit::Done)
}

pub(crate) fn shown(tokens: &[TokenStatus], console: &Console) -> String {
    let columns = [
        Column::Words("token"),
        Column::Words("role"),
        Column::Words("name"),
        Column::Number("uses left"),
        Column::Words("until"),
        Column::Words("by"),
    ];
    let row = |token: &TokenStatus| {
        let name = token.name.clone().unwrap_or_else(|| "any host".to_owned());
        let until = moment::local(timestamp(token.expires_s));
        let uses = token.uses_left.map_or_else(|| "reusable".to_owned(), |left| left.to_string());
        vec![token.id.clone(), token.role.clone(), name, uses, until, token.by.clone()]
    };
    table(&columns, tokens.iter().map(row), console.out)
}

async fn revoke(arguments: RevokeArguments, console: &Console) -> Result<Exit, Failure> {
    let is_id = !arguments.token.is_empty() && arguments.token.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        let error = anyhow!("{:?} is not the id of a token", arguments.token);
        return Err(Failure::usage(error).hint("`speedup token list` shows them"));
    }
    let revoked = revoked(&arguments.coordinator, What::Token(arguments.token)).await?;
    tell_revoked(revoked, console);
    Ok(Exit::Done)
}

impl TokenStatus {
    /// Its id and whom it enrols.
    pub(crate) fn words(&self) -> String {
        let whom =
            self.name.as_deref().map_or_else(String::new, |name| format!(" of {name} ({})", self.role));
        format!("{}{whom}", self.id)
    }
}

/// The token's file of a verb that enrols.
#[derive(Clone, Debug, Args)]
pub(crate) struct TokenArgument {
    /// The file with the token; - reads standard input
    ///
    /// A token is never an argument, because other users can see arguments.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
}
