//! The table of methods: who may call what. A method that does not stand here cannot be called.

use speedup_access::Role;

/// What a method wants of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing, not even a certificate.
    Nothing,
    /// A certificate, of whatever role.
    Certificate,
    /// A certificate, of whatever role, also one that has expired and can still be renewed.
    Renewable,
    /// This role, or one that may do more.
    Role(Role),
    /// The same, or an agent: it puts the products of builds.
    RoleOrAgent(Role),
    /// The certificate in the coordinator's own access file: what is ordered is executed with the rights of its user.
    Owner,
}

const VIEWER: Need = Need::Role(Role::Viewer);
const SUBMITTER: Need = Need::Role(Role::Submitter);
const SUBMITTER_OR_AGENT: Need = Need::RoleOrAgent(Role::Submitter);
const ADMIN: Need = Need::Role(Role::Admin);
const AGENT: Need = Need::Role(Role::Agent);

/// Every method. What changes an experiment wants its owner beyond that, or an admin.
pub(crate) const METHODS: [(&str, Need); 52] = [
    ("/grpc.health.v1.Health/Check", Need::Nothing),
    ("/grpc.health.v1.Health/List", Need::Nothing),
    ("/grpc.health.v1.Health/Watch", Need::Certificate),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Need::Certificate),
    ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Need::Certificate),
    ("/speedup.v1.Access/CreateToken", ADMIN),
    ("/speedup.v1.Access/Enrol", Need::Nothing),
    ("/speedup.v1.Access/Issue", ADMIN),
    ("/speedup.v1.Access/List", ADMIN),
    ("/speedup.v1.Access/Renew", Need::Renewable),
    ("/speedup.v1.Access/Revoke", ADMIN),
    ("/speedup.v1.Access/WhoAmI", Need::Certificate),
    ("/speedup.v1.Agents/Session", AGENT),
    ("/speedup.v1.Analysis/Advise", VIEWER),
    ("/speedup.v1.Analysis/Compare", VIEWER),
    ("/speedup.v1.Analysis/Observations", VIEWER),
    ("/speedup.v1.Analysis/Report", VIEWER),
    ("/speedup.v1.Analysis/Watch", VIEWER),
    ("/speedup.v1.Events/Admissions", ADMIN),
    ("/speedup.v1.Events/List", VIEWER),
    ("/speedup.v1.Experiments/Cancel", SUBMITTER),
    ("/speedup.v1.Experiments/Check", VIEWER),
    ("/speedup.v1.Experiments/Decide", SUBMITTER),
    ("/speedup.v1.Experiments/Explain", VIEWER),
    ("/speedup.v1.Experiments/ExplainAll", VIEWER),
    ("/speedup.v1.Experiments/Export", VIEWER),
    ("/speedup.v1.Experiments/Extend", SUBMITTER),
    ("/speedup.v1.Experiments/Get", VIEWER),
    ("/speedup.v1.Experiments/List", VIEWER),
    ("/speedup.v1.Experiments/Pause", SUBMITTER),
    ("/speedup.v1.Experiments/Resume", SUBMITTER),
    ("/speedup.v1.Experiments/Submit", SUBMITTER),
    ("/speedup.v1.Experiments/Watch", VIEWER),
    ("/speedup.v1.Experiments/WatchUndecided", VIEWER),
    ("/speedup.v1.Files/Get", AGENT),
    ("/speedup.v1.Files/Missing", SUBMITTER_OR_AGENT),
    ("/speedup.v1.Files/Put", SUBMITTER_OR_AGENT),
    ("/speedup.v1.Hosts/Approve", SUBMITTER),
    ("/speedup.v1.Hosts/Drain", ADMIN),
    ("/speedup.v1.Hosts/List", VIEWER),
    ("/speedup.v1.Hosts/Quarantine", ADMIN),
    ("/speedup.v1.Hosts/Reset", ADMIN),
    ("/speedup.v1.Hosts/Resume", ADMIN),
    ("/speedup.v1.Hosts/Show", VIEWER),
    ("/speedup.v1.Hosts/Summary", VIEWER),
    ("/speedup.v1.Page/SignIn", VIEWER),
    ("/speedup.v1.Provision/Add", Need::Owner),
    ("/speedup.v1.Provision/AddSshHosts", Need::Owner),
    ("/speedup.v1.Provision/Remove", ADMIN),
    ("/speedup.v1.Provision/RemoveSshHosts", ADMIN),
    ("/speedup.v1.Provision/Show", VIEWER),
    ("/speedup.v1.Provision/ShowSshHosts", VIEWER),
];

/// What a method wants, if there is such a method.
pub(crate) fn need(path: &str) -> Option<Need> {
    let place = METHODS.binary_search_by_key(&path, |(path, _)| path).ok()?;
    METHODS.get(place).map(|(_, need)| *need)
}

/// Whether a role is enough for another. An agent is nothing but an agent, and nobody else is one.
pub(crate) fn is_enough(role: Role, wanted: Role) -> bool {
    match wanted {
        Role::Agent => role == Role::Agent,
        Role::Viewer | Role::Submitter | Role::Admin => role != Role::Agent && role >= wanted,
    }
}

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use speedup_proto::v1;

    use super::*;

    #[test]
    fn every_method_stands_in_the_table_once_and_in_order() {
        assert!(METHODS.is_sorted_by(|(a, _), (b, _)| a < b), "the table is searched");
        let described = FileDescriptorSet::decode(v1::DESCRIPTORS).unwrap();
        let mut found = Vec::new();
        for file in &described.file {
            for service in &file.service {
                let path = |method: &str| format!("/{}.{}/{method}", file.package(), service.name());
                found.extend(service.method.iter().map(|method| path(method.name())));
            }
        }
        assert!(found.len() > 30, "{found:?}");
        for path in &found {
            assert!(need(path).is_some(), "{path} has no role");
        }
        let own = METHODS.iter().filter(|(path, _)| path.starts_with("/speedup."));
        for (path, _) in own {
            assert!(found.iter().any(|found| found == path), "{path} is no method");
        }
    }

    #[test]
    fn an_agent_is_an_agent_and_the_others_may_more_and_more() {
        for (role, enough) in [
            (Role::Viewer, [true, false, false, false]),
            (Role::Submitter, [true, true, false, false]),
            (Role::Admin, [true, true, true, false]),
            (Role::Agent, [false, false, false, true]),
        ] {
            assert_eq!(Role::ALL.map(|wanted| is_enough(role, wanted)), enough, "{role}");
        }
    }
}
