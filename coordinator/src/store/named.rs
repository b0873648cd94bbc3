//! Which contents are named: as files of plans, and as products of builds.

use std::collections::BTreeSet;

use speedup_core::value::id::ExperimentId;
use speedup_proto::v1;
use uuid::Uuid;
use v1::ended_attempt::End;

use super::{Store, StoreError};

/// Attempts that are looked at together.
const LOOKED_AT: usize = 256;

/// Of a plan the files and the numbers of builds alone: its benchmarks and runs may be millions.
#[derive(prost::Message)]
struct NamesOfPlan {
    #[prost(message, optional, tag = "1")]
    experiment: Option<NamesOfExperiment>,
}

#[derive(prost::Message)]
struct NamesOfExperiment {
    #[prost(message, repeated, tag = "4")]
    versions: Vec<v1::Version>,
    #[prost(message, repeated, tag = "31")]
    files: Vec<v1::StagedFile>,
    #[prost(message, optional, tag = "25")]
    rule: Option<v1::Rule>,
}

impl NamesOfExperiment {
    /// Before which run all builds are: the first runs of the plan, in a bisection any.
    fn end_of_builds(&self) -> u32 {
        let rule = self.rule.as_ref().and_then(|rule| rule.rule.as_ref());
        if matches!(rule, Some(v1::rule::Rule::Bisection(_))) {
            return u32::MAX;
        }
        let builds = self.versions.iter().filter_map(|version| version.build.as_ref());
        builds.map(|build| build.builds).fold(0, u32::saturating_add)
    }
}

impl Store {
    /// The hashes of all contents that experiments name.
    pub(crate) fn named_blobs(&self) -> Result<BTreeSet<[u8; 32]>, StoreError> {
        let mut named = BTreeSet::new();
        let mut plans = self.plans.iter();
        while let Some((key, plan)) = self.guard(|| plans.next().transpose())? {
            let NamesOfPlan { experiment } = self.decode(&plan)?;
            let Some(experiment) = experiment else { continue };
            let end = experiment.end_of_builds();
            if let Some(id) = Uuid::from_slice(&key).ok().filter(|_| end > 0) {
                self.name_products(ExperimentId(id), end, &mut named)?;
            }
            named.extend(experiment.files.iter().filter_map(|file| hash(&file.blake3)));
        }
        Ok(named)
    }

    /// Adds what the builds of an experiment made; they are among the runs before `end`.
    fn name_products(
        &self,
        experiment: ExperimentId,
        end: u32,
        named: &mut BTreeSet<[u8; 32]>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.attempts(experiment, after, LOOKED_AT)?;
            for ended in &page {
                let Some(lease) = ended.lease.as_ref().filter(|lease| lease.run < end) else {
                    return Ok(());
                };
                after = Some((lease.run, lease.attempt));
                if let Some(End::Reported(record)) = &ended.end {
                    named.extend(record.products.iter().filter_map(|product| hash(&product.blake3)));
                }
            }
            if page.is_empty() {
                return Ok(());
            }
        }
    }
}

fn hash(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}
