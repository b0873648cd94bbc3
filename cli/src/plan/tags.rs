//! Words to find an experiment by, as they are given beside its plan.

use clap::Args;

/// Tags.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TagArguments {
    /// A word to find the experiment by, beside those of the plan; repeatable
    #[arg(long = "tag", value_name = "WORD|KEY=VALUE")]
    tags: Vec<String>,
}

impl TagArguments {
    /// These and those of the plan, ascending and each once. Whether they are tags is the plan's to check.
    pub(crate) fn of(&self, mut tags: Vec<String>) -> Vec<String> {
        tags.extend(self.tags.iter().cloned());
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}
