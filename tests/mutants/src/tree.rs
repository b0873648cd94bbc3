//! The copy of the repository into which mutants are woven, and its builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde::Deserialize;

use crate::mutant::Mutant;
use crate::weave::{SWITCH, SWITCH_CALL, weave};
use crate::{Numbered, number};

/// Beside the profile of the normal test run: what is tried a thousand times is worth a longer compilation.
const CONFIGURATION: [&str; 2] =
    ["profile.dev.package.speedup-core.opt-level=2", "profile.dev.package.speedup-simulation.opt-level=2"];

/// A copy of the repository.
pub(crate) struct Tree {
    root: PathBuf,
    packages: Vec<String>,
    /// The sources that were changed, as they were.
    originals: BTreeMap<String, String>,
    programs: Vec<PathBuf>,
}

/// What cargo says of a build, as far as it matters here.
#[derive(Deserialize)]
struct Said {
    reason: String,
    executable: Option<PathBuf>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    code: Option<Code>,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
}

/// Errors of types, which a mutant has by itself as well: mismatched types, a trait that is not implemented, an operator that
/// is not defined, a method that is not there.
const OF_TYPES: [&str; 4] = ["E0308", "E0277", "E0369", "E0599"];

/// The error of a match that does not cover all there is.
const LACKS_AN_ARM: &str = "E0004";

/// What became of the mutants.
pub(crate) struct Sorted<'a> {
    /// They are in the one build.
    pub(crate) woven: Vec<Numbered<'a>>,
    /// They have to be built apart.
    pub(crate) apart: Vec<&'a Mutant>,
    /// Their types are wrong.
    pub(crate) unviable: Vec<&'a Mutant>,
}

enum Build {
    /// The test programs, in the order of the packages.
    Done(Vec<PathBuf>),
    Failed(Vec<Diagnostic>),
}

impl Tree {
    /// The copy at this place.
    pub(crate) fn open(root: &Path, packages: Vec<String>) -> anyhow::Result<Self> {
        let root = root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
        Ok(Self { root, packages, originals: BTreeMap::new(), programs: Vec::new() })
    }

    /// The test programs of the latest whole build.
    pub(crate) fn test_programs(&self) -> Vec<PathBuf> {
        self.programs.clone()
    }

    /// Weaves in as many mutants as compile, and builds.
    pub(crate) fn weave<'a>(&mut self, mutants: &'a [Mutant]) -> anyhow::Result<Sorted<'a>> {
        let numbered = || mutants.iter().enumerate().map(|(at, mutant)| (number(at), mutant));
        // Those that do not compile, with whether that is for their types.
        let mut left_out: BTreeMap<u32, bool> = BTreeMap::new();
        for mutant in mutants {
            self.original(&mutant.file)?;
        }
        self.add_switches(mutants)?;
        loop {
            let mut woven: BTreeSet<u32> = BTreeSet::new();
            for (file, source) in &self.originals {
                let of_file = numbered()
                    .filter(|(number, mutant)| mutant.file == *file && !left_out.contains_key(number));
                let of_file: Vec<_> = of_file.collect();
                if of_file.is_empty() && !mutants.iter().any(|mutant| mutant.file == *file) {
                    continue;
                }
                let result = weave(source, &of_file).with_context(|| file.clone())?;
                let text = if file.ends_with("src/lib.rs") { result.text + SWITCH } else { result.text };
                std::fs::write(self.root.join(file), text)?;
                woven.extend(result.numbers);
            }
            match self.build()? {
                Build::Done(programs) => {
                    self.programs = programs;
                    let (inside, outside): (Vec<_>, Vec<_>) =
                        numbered().partition(|(number, _)| woven.contains(number));
                    let (unviable, apart): (Vec<_>, Vec<_>) =
                        outside.into_iter().partition(|(number, _)| left_out.get(number) == Some(&true));
                    let mutants =
                        |some: Vec<Numbered<'a>>| some.into_iter().map(|(_, mutant)| mutant).collect();
                    return Ok(Sorted { woven: inside, apart: mutants(apart), unviable: mutants(unviable) });
                }
                Build::Failed(errors) => {
                    let before = left_out.len();
                    for error in &errors {
                        let code = error.code.as_ref().map_or("", |code| &code.code);
                        let of_types = OF_TYPES.contains(&code);
                        let culprits = self.culprits(error);
                        left_out.extend(culprits.into_iter().map(|number| (number, of_types)));
                    }
                    let messages =
                        || errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
                    anyhow::ensure!(left_out.len() > before, "the copy does not compile: {}", messages());
                }
            }
        }
    }

    /// A switch in each crate that has mutants.
    fn add_switches(&mut self, mutants: &[Mutant]) -> anyhow::Result<()> {
        let crates: BTreeSet<&str> = mutants
            .iter()
            .filter_map(|mutant| mutant.file.split_once("src/").map(|(folder, _)| folder))
            .collect();
        for folder in crates {
            let first = format!("{folder}src/lib.rs");
            let source = self.original(&first)?;
            std::fs::write(self.root.join(&first), format!("{source}{SWITCH}"))?;
        }
        Ok(())
    }

    fn original(&mut self, file: &str) -> anyhow::Result<String> {
        if let Some(source) = self.originals.get(file) {
            return Ok(source.clone());
        }
        let source =
            std::fs::read_to_string(self.root.join(file)).with_context(|| format!("cannot read {file}"))?;
        self.originals.insert(file.to_owned(), source.clone());
        Ok(source)
    }

    /// The mutants at which an error points: the switch before its place. A match lacks an arm that stands after it.
    fn culprits(&self, error: &Diagnostic) -> Vec<u32> {
        let lacks_an_arm = error.code.as_ref().is_some_and(|code| code.code == LACKS_AN_ARM);
        let culprit = |span: &DiagnosticSpan| {
            let text = std::fs::read_to_string(self.root.join(&span.file_name)).ok()?;
            let (before, after) = text.split_at_checked(span.byte_start)?;
            let arm = || Some(before.len() + after.find(&format!("! {SWITCH_CALL}"))? + "! ".len());
            let nearest = || before.rfind(SWITCH_CALL).or_else(|| text.find(SWITCH_CALL));
            let switch = lacks_an_arm.then(arm).flatten().or_else(nearest)? + SWITCH_CALL.len();
            let digits = text[switch..].trim_start();
            let end = digits.find(|sign: char| !sign.is_ascii_digit())?;
            digits[..end].parse().ok()
        };
        error.spans.iter().filter(|span| span.is_primary).filter_map(culprit).collect()
    }

    /// The packages whose tests are run, in this order.
    pub(crate) fn packages(&self) -> &[String] {
        &self.packages
    }

    /// Puts this mutant alone into the sources.
    pub(crate) fn place(&mut self, mutant: &Mutant) -> anyhow::Result<()> {
        self.restore()?;
        let source = self.original(&mutant.file)?;
        let changed =
            mutant.apply(&source).with_context(|| format!("{} is not in the source", mutant.name))?;
        Ok(std::fs::write(self.root.join(&mutant.file), changed)?)
    }

    /// The test programs of a package as its sources are now, if they compile.
    pub(crate) fn programs_of(&self, package: &str) -> anyhow::Result<Option<Vec<PathBuf>>> {
        Ok(match self.build_package(package)? {
            Build::Done(programs) => Some(programs),
            Build::Failed(_) => None,
        })
    }

    /// Puts all sources back.
    pub(crate) fn restore(&self) -> anyhow::Result<()> {
        for (file, source) in &self.originals {
            let path = self.root.join(file);
            if std::fs::read_to_string(&path)? != *source {
                std::fs::write(path, source)?;
            }
        }
        Ok(())
    }

    fn build(&self) -> anyhow::Result<Build> {
        let mut all = Vec::new();
        for package in &self.packages {
            match self.build_package(package)? {
                Build::Done(programs) => all.extend(programs),
                failed @ Build::Failed(_) => return Ok(failed),
            }
        }
        Ok(Build::Done(all))
    }

    fn build_package(&self, package: &str) -> anyhow::Result<Build> {
        let output = Command::new("cargo")
            .args(["test", "--no-run", "--lib", "--tests", "--message-format=json", "--package", package])
            .args(CONFIGURATION.iter().flat_map(|setting| ["--config", setting]))
            .current_dir(&self.root)
            .stderr(Stdio::null())
            .output()
            .context("cannot start cargo")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = text.lines().filter_map(|line| serde_json::from_str::<Said>(line).ok());
        let (mut programs, mut errors) = (Vec::new(), Vec::new());
        for said in said {
            programs.extend(said.executable.filter(|_| said.reason == "compiler-artifact"));
            errors.extend(said.message.filter(|message| message.level == "error"));
        }
        Ok(if output.status.success() { Build::Done(programs) } else { Build::Failed(errors) })
    }
}
