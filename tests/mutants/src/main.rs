//! Mutation tests of the heart at a fraction of a second each.
//!
//! cargo-mutants names the mutants. Instead of building each of them, this program weaves them all into one copy of the
//! sources: where a mutant changes an operator, the copy has both operators and asks a switch which of them counts. The
//! copy is built once, and its tests are run once a mutant, which an environment variable switches on.
//!
//! A mutant whose types are wrong is unviable. One that cannot have a switch (another `impl Trait` is returned, the place
//! has to be constant) is built by itself in the end, as cargo-mutants would.
//!
//! In reading order: `mutant` (what cargo-mutants says), `weave` (all of them into a source), `tree` (the copy and its
//! builds), `trial` (one mutant against the tests), `tally` (what came of them, and which survivors are known).
#![expect(clippy::print_stdout, reason = "it is a program for the terminal")]

mod mutant;
mod tally;
mod tree;
mod trial;
mod weave;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser;

use crate::mutant::Mutant;
use crate::tally::Tally;
use crate::tree::{Sorted, Tree};
use crate::trial::{Fate, Trials};

/// Tries mutants against the tests.
#[derive(Parser)]
struct Options {
    /// What `cargo mutants --list --json` printed.
    list: PathBuf,
    /// A copy of the repository, whose sources are changed.
    tree: PathBuf,
    /// Where the fate of each mutant is written, one a line.
    fates: PathBuf,
    /// The page that names the mutants which may live.
    #[arg(long)]
    known: PathBuf,
    /// Packages whose tests are run, in this order.
    #[arg(long = "test-package", required = true)]
    packages: Vec<String>,
    /// Only mutants whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only mutants that lived, took too long or were not tried according to this file of fates.
    #[arg(long)]
    again: Option<PathBuf>,
    /// How many mutants are tried at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Whether mutants that cannot be woven in are left out, instead of being built by themselves.
    #[arg(long)]
    woven_only: bool,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let mut mutants = mutant::read(&options.list)?;
    if let Some(only) = &options.only {
        mutants.retain(|mutant| mutant.name.contains(only));
    }
    if let Some(fates) = &options.again {
        let done = tally::done(fates)?;
        mutants.retain(|mutant| !done.contains(&mutant.name));
    }
    anyhow::ensure!(!mutants.is_empty(), "no mutant is left to try");
    let begin = Instant::now();
    let mut tree = Tree::open(&options.tree, options.packages.clone())?;
    let Sorted { woven, apart, unviable } = tree.weave(&mutants)?;
    println!("{} mutants in one build, {} apart, after {:.0?}", woven.len(), apart.len(), begin.elapsed());

    let tally = Tally::begin(&options.fates)?;
    unviable.into_iter().try_for_each(|mutant| tally.add(mutant, Fate::Unviable))?;
    let trials = Trials::measure(tree.test_programs())?;
    println!("undisturbed, the tests take {:.1?}", trials.undisturbed());
    trials.try_all(&woven, options.jobs, &tally)?;
    if !options.woven_only {
        for mutant in &apart {
            tally.add(mutant, fate_apart(&mut tree, mutant, &trials)?)?;
        }
        tree.restore()?;
    }
    let known = std::fs::read_to_string(&options.known)
        .with_context(|| format!("cannot read {}", options.known.display()))?;
    let unknown = tally.conclude(&known);
    println!("after {:.0?}", begin.elapsed());
    anyhow::ensure!(unknown == 0, "{unknown} survivors are not named in {}", options.known.display());
    Ok(())
}

/// What comes of a mutant that is built by itself: a package is built only where the tests of those before it passed.
fn fate_apart(tree: &mut Tree, mutant: &Mutant, trials: &Trials) -> anyhow::Result<Fate> {
    tree.place(mutant)?;
    for package in tree.packages() {
        let Some(programs) = tree.programs_of(package)? else { return Ok(Fate::Unviable) };
        match trials.with(programs).fate(None)? {
            Fate::Missed => {}
            fate @ (Fate::Caught | Fate::Timeout | Fate::Unviable) => return Ok(fate),
        }
    }
    Ok(Fate::Missed)
}

/// The number by which a mutant is switched on; none is 0.
fn number(at: usize) -> u32 {
    at as u32 + 1
}

/// A mutant with the number by which it is switched on.
type Numbered<'a> = (u32, &'a Mutant);
