//! What came of the mutants, and which of those that live are known to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use crate::mutant::{Mutant, lasting_name};
use crate::trial::Fate;

/// What came of the mutants so far.
pub(crate) struct Tally(Mutex<Kept>);

struct Kept {
    file: File,
    fates: BTreeMap<String, Fate>,
}

impl Tally {
    /// None yet, to be written to this file as they come.
    pub(crate) fn begin(file: &Path) -> anyhow::Result<Self> {
        let file = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self(Mutex::new(Kept { file, fates: BTreeMap::new() })))
    }

    /// One more.
    pub(crate) fn add(&self, mutant: &Mutant, fate: Fate) -> anyhow::Result<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(kept.file, "{}\t{}", fate.word(), mutant.name)?;
        if matches!(fate, Fate::Missed | Fate::Timeout) {
            println!("{:8} {}", fate.word(), mutant.name);
        }
        kept.fates.insert(mutant.name.clone(), fate);
        Ok(())
    }

    /// Says how many there were of each fate, by file; gives the number of survivors that the page does not name.
    pub(crate) fn conclude(&self, known: &str) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_file: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        let mut total = [0; 4];
        for (name, fate) in &kept.fates {
            let file = name.split(':').next().unwrap_or_default();
            by_file.entry(file).or_default()[*fate as usize] += 1;
            total[*fate as usize] += 1;
        }
        println!("{:>7} {:>8} {:>7} {:>9}", "caught", "timeout", "missed", "unviable");
        for (file, counts) in by_file.into_iter().chain([("in all", total)]) {
            let [caught, timeout, missed, unviable] = counts;
            println!("{caught:>7} {timeout:>8} {missed:>7} {unviable:>9}  {file}");
        }
        let viable = total[0] + total[1] + total[2];
        println!(
            "{:.1} % of {viable} are caught",
            100.0 * (total[0] + total[1]) as f64 / viable.max(1) as f64
        );
        // Within a table a bar is escaped.
        let known = known.replace("\\|", "|");
        let named = |name: &str| known.contains(&lasting_name(name));
        kept.fates.iter().filter(|(name, fate)| **fate == Fate::Missed && !named(name)).count()
    }
}

/// The mutants of which nothing more is to be learnt, by a file of fates: those that were caught, and those that do not
/// compile.
pub(crate) fn done(fates: &Path) -> anyhow::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(fates).with_context(|| format!("cannot read {}", fates.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let is_done = |fate: &str| [Fate::Caught.word(), Fate::Unviable.word()].contains(&fate);
    Ok(lines.filter(|(fate, _)| is_done(fate)).map(|(_, name)| name.to_owned()).collect())
}
