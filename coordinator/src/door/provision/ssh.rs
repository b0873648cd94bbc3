//! What is asked about the hosts that are reached by ssh.

use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::{Hinted as _, with_hint};
use speedup_core::value::id::HostId;
use speedup_proto::{convert::timestamp, v1};
use tonic::{Request, Response, Status};

use crate::door::Caller;
use crate::door::Reply;
use crate::provision::{
    Destination, DestinationError, ShownSshHost, SshHost, SshHosts, SshHostsError, SshRemoval, SshState,
    Unreachable,
};

/// Longest command by which a host is rebooted: a command line that a person wrote.
const MAX_COMMAND_BYTES: usize = 4_096;

pub(super) async fn add(
    hosts: &SshHosts,
    request: Request<v1::AddSshHostsRequest>,
) -> Reply<v1::AddSshHostsResponse> {
    let caller = Caller::of(&request)?;
    let v1::AddSshHostsRequest { destinations, options, directory, tunnel, reboot_command, by } =
        request.into_inner();
    let by = caller.name(&by)?;
    let is_command =
        |command: &String| command.len() <= MAX_COMMAND_BYTES && !command.chars().any(char::is_control);
    if reboot_command.as_ref().is_some_and(|command| !is_command(command)) {
        return Err(Status::invalid_argument(format!(
            "the command that reboots hosts is one line of at most {MAX_COMMAND_BYTES} bytes"
        )));
    }
    let host = |destination: String| {
        let destination: Destination = destination.parse()?;
        let (options, directory) = (options.clone(), directory.clone());
        Ok(SshHost {
            destination,
            options,
            directory,
            tunnel,
            reboot_command: reboot_command.clone(),
            by: by.clone(),
        })
    };
    let added: Result<Vec<SshHost>, DestinationError> = destinations.into_iter().map(host).collect();
    let added = added.map_err(|error| refused(&error.into()))?;
    let count = added.len();
    hosts.add(added).await.map_err(|error| refused(&error))?;
    tracing::info!(by, count, "hosts were added, to be reached by ssh");
    Ok(Response::new(v1::AddSshHostsResponse {}))
}

pub(super) fn show(hosts: &SshHosts) -> v1::SshHosts {
    v1::SshHosts { hosts: hosts.show().into_iter().map(told).collect() }
}

pub(super) async fn remove(
    hosts: &SshHosts,
    request: Request<v1::RemoveSshHostsRequest>,
) -> Reply<v1::RemoveSshHostsResponse> {
    let caller = Caller::of(&request)?;
    let v1::RemoveSshHostsRequest { hosts: ids, forget, by } = request.into_inner();
    let by = caller.name(&by)?;
    let ids: Result<Vec<HostId>, _> = ids.into_iter().map(HostId::try_from).collect();
    let ids = ids.map_err(|error| Status::invalid_argument(format!("this is no host: {error}")))?;
    let unreachable = if forget { Unreachable::Forget } else { Unreachable::Keep };
    let outcomes = hosts.remove(ids, unreachable, &by).await.map_err(|error| refused(&error))?;
    tracing::info!(by, count = outcomes.len(), "hosts that were reached by ssh are removed");
    let hosts = outcomes.into_iter().map(|(id, removal)| {
        let (outcome, words) = match removal {
            SshRemoval::Done => ("removed", String::new()),
            SshRemoval::StateKept(why) => ("state_kept", why),
            SshRemoval::Forgotten => ("forgotten", String::new()),
            SshRemoval::Failed(why) => ("failed", why),
        };
        v1::RemovedSshHost { host: id.as_str().to_owned(), outcome: outcome.to_owned(), words }
    });
    Ok(Response::new(v1::RemoveSshHostsResponse { hosts: hosts.collect() }))
}

fn told(ShownSshHost { host, seen, directory }: ShownSshHost) -> v1::SshHost {
    let state = match seen.state {
        SshState::Looking => "looking",
        SshState::Copying => "copying",
        SshState::Starting => "starting",
        SshState::Serving => "serving",
        SshState::Rebooting => "rebooting",
        SshState::Failing => "failing",
    };
    let (failed, error) = seen.error.unzip();
    v1::SshHost {
        host: host.destination.host().as_str().to_owned(),
        destination: host.destination.to_string(),
        options: host.options,
        directory,
        tunnel: host.tunnel,
        reboot_command: host.reboot_command,
        by: host.by,
        state: state.to_owned(),
        since: Some(timestamp(seen.since)),
        error,
        failed: failed.map(timestamp),
        starts: seen.starts,
    }
}

fn refused(error: &SshHostsError) -> Status {
    let text = with_hint(with_causes(error), error.hint());
    match error {
        SshHostsError::Unable | SshHostsError::Insecure | SshHostsError::Unreachable(_) => {
            Status::failed_precondition(text)
        }
        SshHostsError::Nobody
        | SshHostsError::Destination(_)
        | SshHostsError::Options(_)
        | SshHostsError::Directory(_) => Status::invalid_argument(text),
        SshHostsError::TooMany => Status::resource_exhausted(text),
        SshHostsError::Unknown(_) => Status::not_found(text),
        SshHostsError::Record(_) => Status::internal(text),
    }
}
