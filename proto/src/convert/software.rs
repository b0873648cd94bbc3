//! The software that a plan wants, and what it came to on a host.

use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::software::{
    Container, ContainerLauncher, MAX_NAME_BYTES, MAX_NAMES, MAX_WORDS, Software, USUAL_TIMEOUT,
};
use speedup_core::run::software::{
    ImageIdentity, MAX_DIGEST_BYTES, MAX_VARIABLES, MAX_VARIABLES_BYTES, MadeVariables, UsedContainer,
    UsedSoftware, UsedVariables,
};
use speedup_core::value::time::Span;

use super::field::{at_most, chosen, cut, exactly, no_longer, optional, reason};
use super::malformed::Malformed;
use crate::v1;
use v1::container::{Apptainer, Launcher as WireLauncher, Words};
use v1::used_container::Identity;

impl From<&Software> for v1::Software {
    fn from(software: &Software) -> Self {
        let Software { prologue, modules, spack_environment, spack, container, timeout, blake3 } =
            software.clone();
        Self {
            prologue,
            modules,
            spack_environment,
            spack,
            container: container.map(Into::into),
            timeout_ns: timeout.0,
            blake3: blake3.map(|hash| hash.0.to_vec()),
        }
    }
}

impl TryFrom<v1::Software> for Software {
    type Error = Malformed;

    fn try_from(wire: v1::Software) -> Result<Self, Malformed> {
        at_most(wire.modules.len(), MAX_NAMES, "modules")?;
        at_most(wire.spack.len(), MAX_NAMES, "spack")?;
        let blake3 = wire.blake3.map(|hash| exactly(&hash, "blake3").map(ContentHash)).transpose()?;
        Ok(Self {
            prologue: wire.prologue,
            modules: wire.modules,
            spack_environment: wire.spack_environment,
            spack: wire.spack,
            container: optional(wire.container, "container")?,
            timeout: if wire.timeout_ns == 0 { USUAL_TIMEOUT } else { Span(wire.timeout_ns) },
            blake3,
        })
    }
}

impl From<Container> for v1::Container {
    fn from(container: Container) -> Self {
        let launcher = match container.launcher {
            ContainerLauncher::Apptainer => WireLauncher::Apptainer(Apptainer {}),
            ContainerLauncher::Words(words) => WireLauncher::Words(Words { words }),
        };
        let Container { image, digest, probe, .. } = container;
        Self { image, launcher: Some(launcher), digest, probe }
    }
}

impl TryFrom<v1::Container> for Container {
    type Error = Malformed;

    fn try_from(wire: v1::Container) -> Result<Self, Malformed> {
        let launcher = match chosen(wire.launcher, "launcher")? {
            WireLauncher::Apptainer(Apptainer {}) => ContainerLauncher::Apptainer,
            WireLauncher::Words(Words { words }) => {
                at_most(words.len(), MAX_WORDS, "launcher.words")?;
                ContainerLauncher::Words(words)
            }
        };
        at_most(wire.digest.len(), MAX_WORDS, "digest")?;
        at_most(wire.probe.len(), MAX_WORDS, "probe")?;
        Ok(Self { image: wire.image, launcher, digest: wire.digest, probe: wire.probe })
    }
}

impl From<&UsedSoftware> for v1::UsedSoftware {
    fn from(used: &UsedSoftware) -> Self {
        let UsedSoftware { variables, container } = used.clone();
        Self { variables: variables.map(Into::into), container: container.map(Into::into) }
    }
}

impl TryFrom<v1::UsedSoftware> for UsedSoftware {
    type Error = Malformed;

    fn try_from(wire: v1::UsedSoftware) -> Result<Self, Malformed> {
        Ok(Self {
            variables: optional(wire.variables, "variables")?,
            container: optional(wire.container, "container")?,
        })
    }
}

impl From<UsedVariables> for v1::UsedVariables {
    fn from(used: UsedVariables) -> Self {
        let made = used.made.map(|made| {
            let MadeVariables { variables, ended_unix_ns, took } = made;
            v1::MadeVariables { variables: variables.into_iter().collect(), ended_unix_ns, took_ns: took.0 }
        });
        Self { blake3: used.blake3.0.to_vec(), made }
    }
}

impl TryFrom<v1::UsedVariables> for UsedVariables {
    type Error = Malformed;

    fn try_from(wire: v1::UsedVariables) -> Result<Self, Malformed> {
        Ok(Self { blake3: ContentHash(exactly(&wire.blake3, "blake3")?), made: optional(wire.made, "made")? })
    }
}

impl TryFrom<v1::MadeVariables> for MadeVariables {
    type Error = Malformed;

    fn try_from(wire: v1::MadeVariables) -> Result<Self, Malformed> {
        let v1::MadeVariables { variables, ended_unix_ns, took_ns } = wire;
        at_most(variables.len(), MAX_VARIABLES, "variables")?;
        let bytes = variables.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        no_longer(bytes, MAX_VARIABLES_BYTES, "variables")?;
        Ok(Self { variables: variables.into_iter().collect(), ended_unix_ns, took: Span(took_ns) })
    }
}

impl From<UsedContainer> for v1::UsedContainer {
    fn from(used: UsedContainer) -> Self {
        let identity = match used.identity {
            ImageIdentity::Blake3(hash) => Identity::Blake3(hash.0.to_vec()),
            ImageIdentity::Told(digest) => Identity::Told(digest),
            ImageIdentity::Unknown { reason } => Identity::Unknown(reason),
        };
        Self { image: used.image, identity: Some(identity), start_ns: used.start.map(|start| start.0) }
    }
}

impl TryFrom<v1::UsedContainer> for UsedContainer {
    type Error = Malformed;

    fn try_from(wire: v1::UsedContainer) -> Result<Self, Malformed> {
        let identity = match chosen(wire.identity, "identity")? {
            Identity::Blake3(hash) => ImageIdentity::Blake3(ContentHash(exactly(&hash, "blake3")?)),
            Identity::Told(digest) => ImageIdentity::Told(cut(digest, MAX_DIGEST_BYTES)),
            Identity::Unknown(text) => ImageIdentity::Unknown { reason: reason(text) },
        };
        Ok(Self { image: cut(wire.image, MAX_NAME_BYTES), identity, start: wire.start_ns.map(Span) })
    }
}
