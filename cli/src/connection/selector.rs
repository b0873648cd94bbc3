//! Which experiment is meant: a whole id, the beginning of one, a name, or `last`.

use std::{fmt, str::FromStr};

use anyhow::anyhow;
use speedup_core::{value::id::ExperimentId, value::time::Timestamp};
use speedup_proto::{convert::ExperimentStatus, convert::id_text, v1};
use tonic::{Code, transport::Channel};

use super::{Connection, by, started::Started};
use crate::{console::moment, exit::failure::Failure};

/// Fewest digits of an id that select by its beginning: fewer would match by accident.
const MIN_PREFIX: usize = 4;
const LISTED: usize = 10;
/// The word for the newest experiment.
const LAST: &str = "last";

/// An experiment that may be meant.
struct Candidate<'a> {
    experiment: ExperimentId,
    name: &'a str,
    submitted: Timestamp,
}

/// What a user writes to mean one experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    Id(ExperimentId),
    Last,
    /// A name, or the first digits of an id.
    Text(String),
}

impl FromStr for Selector {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse() {
            Ok(id) => Self::Id(id),
            Err(_) if text == LAST => Self::Last,
            Err(_) => Self::Text(text.to_owned()),
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Last => f.write_str(LAST),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<ExperimentId> for Selector {
    fn from(experiment: ExperimentId) -> Self {
        Self::Id(experiment)
    }
}

impl Selector {
    /// The experiment that is meant, of those the coordinator has; `last` is the newest of `own`, or of all where none is there.
    pub(crate) async fn resolve(
        &self,
        client: &mut v1::experiments_client::ExperimentsClient<Channel>,
        own: &[Started],
    ) -> Result<ExperimentId, Failure> {
        match self {
            Self::Id(id) => Ok(*id),
            Self::Last if own.is_empty() => self.select_of(&list(client, 1).await?),
            Self::Last => {
                let listed = list(client, 0).await?;
                let is_own = |one: &&ExperimentStatus| own.iter().any(|own| own.experiment == one.experiment);
                listed.iter().find(is_own).map_or_else(|| self.select_of(&listed), |one| Ok(one.experiment))
            }
            Self::Text(_) => self.select_of(&list(client, 0).await?),
        }
    }

    fn select_of(&self, listed: &[ExperimentStatus]) -> Result<ExperimentId, Failure> {
        self.select(&listed.iter().map(Candidate::from).collect::<Vec<_>>())
    }

    /// The experiment that is meant, of those this user started, the newest first; none where it is not among them.
    pub(crate) fn started(&self, started: Vec<Started>) -> Result<Option<Started>, Failure> {
        let candidates: Vec<Candidate<'_>> = started.iter().map(Candidate::from).collect();
        if !candidates.iter().any(|one| self.matches(one)) {
            return Ok(None);
        }
        let experiment = self.select(&candidates)?;
        Ok(started.into_iter().find(|one| one.experiment == experiment))
    }

    /// The experiment that is meant, of these, the newest first.
    fn select(&self, experiments: &[Candidate<'_>]) -> Result<ExperimentId, Failure> {
        let meant: Vec<&Candidate<'_>> = experiments.iter().filter(|one| self.matches(one)).collect();
        match (self, meant.as_slice()) {
            (Self::Last, []) => Err(Failure::usage(anyhow!("there is no experiment yet"))
                .hint("`speedup bench` and `speedup run` start one here, `speedup submit` at a coordinator")),
            (Self::Id(_) | Self::Text(_), []) => {
                Err(Failure::usage(anyhow!("no experiment has the name or the id {self}"))
                    .hint("`speedup list` shows the experiments"))
            }
            (Self::Last, [newest, ..]) | (_, [newest]) => Ok(newest.experiment),
            (Self::Id(_) | Self::Text(_), several) => Err(self.ambiguous(several)),
        }
    }

    fn matches(&self, one: &Candidate<'_>) -> bool {
        match self {
            Self::Last => true,
            Self::Id(id) => one.experiment == *id,
            Self::Text(text) => one.name == text || begins_with(one.experiment, text),
        }
    }

    fn ambiguous(&self, candidates: &[&Candidate<'_>]) -> Failure {
        let mut text = format!("{self} may mean any of {} experiments:", candidates.len());
        for one in candidates.iter().take(LISTED) {
            text += &format!("\n  {}  {}  {}", one.experiment, moment::local(one.submitted), one.name);
        }
        if candidates.len() > LISTED {
            text += &format!("\n  and {} more", candidates.len() - LISTED);
        }
        Failure::usage(anyhow!(text))
            .hint("write more of the id, or `last` for the one that you started last")
    }
}

impl<'a> From<&'a ExperimentStatus> for Candidate<'a> {
    fn from(status: &'a ExperimentStatus) -> Self {
        Self { experiment: status.experiment, name: &status.name, submitted: status.submitted }
    }
}

impl<'a> From<&'a Started> for Candidate<'a> {
    fn from(started: &'a Started) -> Self {
        Self { experiment: started.experiment, name: &started.name, submitted: started.at }
    }
}

fn begins_with(id: ExperimentId, text: &str) -> bool {
    let digits: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    digits.len() >= MIN_PREFIX && id.0.simple().to_string().starts_with(&digits)
}

/// The newest experiments, the newest first; all when `limit` is 0.
pub(crate) async fn list(
    client: &mut v1::experiments_client::ExperimentsClient<Channel>,
    limit: u32,
) -> Result<Vec<ExperimentStatus>, Failure> {
    const TRIED: &str = "cannot list the experiments";
    let wanted = if limit == 0 { usize::MAX } else { limit as usize };
    let (mut listed, mut page_token) = (Vec::new(), String::new());
    loop {
        let page_size = u32::try_from(wanted - listed.len()).unwrap_or(u32::MAX);
        let answer = client.list(v1::ListRequest { page_size, page_token }).await;
        let answer = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
        let statuses = answer.experiments.into_iter().map(ExperimentStatus::try_from);
        let statuses: Result<Vec<_>, _> = statuses.collect();
        listed.extend(statuses.map_err(|error| Failure::malformed(TRIED, error))?);
        page_token = answer.next_page_token;
        if page_token.is_empty() || listed.len() >= wanted {
            return Ok(listed);
        }
    }
}

/// What does not work at the coordinator while it goes on, in its words. One of an earlier release says nothing.
pub(crate) async fn failing(connection: &Connection) -> Result<Vec<String>, Failure> {
    let request = v1::ListRequest { page_size: 1, page_token: String::new() };
    let answer = match connection.experiments().list(request).await {
        // An agent may not list experiments, and what fails is none of its business.
        Err(status) if status.code() == Code::PermissionDenied => return Ok(Vec::new()),
        answer => answer,
    };
    let answer = answer.map_err(|status| Failure::status("cannot ask what does not work", &status))?;
    Ok(answer.into_inner().failing)
}

/// The whole export of an experiment.
pub(crate) fn export(experiment: ExperimentId, all_hosts: bool) -> v1::ExportRequest {
    v1::ExportRequest { experiment: id_text(experiment.0), cursor: String::new(), all_hosts }
}

/// A request about one experiment.
pub(crate) fn get(experiment: ExperimentId) -> v1::GetRequest {
    v1::GetRequest { experiment: id_text(experiment.0) }
}

/// A request to pause, resume or cancel an experiment.
pub(crate) fn change_request(experiment: ExperimentId) -> v1::ChangeRequest {
    v1::ChangeRequest { experiment: id_text(experiment.0), by: by() }
}

/// The first digits of an id, for tables: they hold the millisecond of submission.
pub(crate) fn short(id: ExperimentId) -> String {
    id.0.hyphenated().to_string()[..13].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::standing::tests::status;

    fn experiments() -> Vec<ExperimentStatus> {
        let named = |name: &str, id: &str| ExperimentStatus {
            name: name.to_owned(),
            experiment: id.parse().unwrap(),
            ..status()
        };
        vec![
            named("sort", "0193a5b2-7c3d-7000-8000-000000000003"),
            named("locale", "0193a5b2-1111-7000-8000-000000000002"),
            named("locale", "0193a5b1-1111-7000-8000-000000000001"),
        ]
    }

    fn selected(text: &str) -> Result<String, Failure> {
        let selector: Selector = text.parse().unwrap();
        selector.select_of(&experiments()).map(|id| id.to_string()[35..].to_owned())
    }

    #[test]
    fn ids_beginnings_names_and_last_select() {
        assert_eq!(selected("0193a5b2-1111-7000-8000-000000000002").unwrap(), "2");
        assert_eq!(selected("0193A5B27").unwrap(), "3");
        assert_eq!(selected("0193a5b2-7").unwrap(), "3");
        assert_eq!(selected("sort").unwrap(), "3");
        assert_eq!(selected("last").unwrap(), "3");
    }

    #[test]
    fn what_is_ambiguous_lists_its_candidates() {
        let text = selected("locale").unwrap_err().error.to_string();
        assert!(text.contains("0193a5b2-1111") && text.contains("0193a5b1-1111"), "{text}");
        assert!(!text.contains("sort"), "{text}");
        assert!(selected("0193a5b2").unwrap_err().error.to_string().contains("any of 2"));
    }

    #[test]
    fn too_few_digits_and_unknown_names_select_nothing() {
        assert!(selected("019").is_err());
        assert!(selected("absent").unwrap_err().hint.unwrap().contains("speedup list"));
        assert!(Selector::Last.select_of(&[]).is_err());
    }

    #[test]
    fn a_short_id_selects_its_experiment() {
        let id = experiments()[0].experiment;
        assert!(begins_with(id, &short(id)));
    }
}
