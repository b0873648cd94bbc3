//! `speedup agent facts`: what makes this host identical to another or not.

use std::{fs::File, io, io::Read as _, path::Path, path::PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde::{Deserialize, Serialize};
use speedup_core::fingerprint::{ClassId, Difference, Fact, Fingerprint, HardwareId};

use crate::{
    arguments::Output, arguments::OutputArgument, command::print, command::print_json, compose,
    compose::Hardware, compose::Probed, console::Console, console::Paint, console::render::table::Column,
    console::render::table::table, exit::Exit, exit::failure::Failure,
};

/// The form of the JSON that is printed and read.
const SCHEMA_VERSION: u32 = 1;
/// Most bytes of the facts of another host: as many and as long as there may be, with every byte escaped.
const MAX_FACTS_BYTES: u64 = 16 << 20;
/// From so many words on, of two values only the words that differ are shown: a processor has a hundred flags.
const MANY_WORDS: usize = 12;

/// Prints the facts and class of this host, or compares them with another's
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup agent facts --format json -o here.json\n\
    \x20 speedup agent facts --against there.json\n\n\
    Hosts of one class are identical. With --against, the exit code is 1 if they are not. Run this command as the \
    agent's user: another user may lack the right to read all serial numbers, and then gets another hardware id.")]
pub(crate) struct FactsArguments {
    /// The root of the host's files: /, or a copy of another machine's
    #[arg(long, value_name = "DIR", default_value = "/")]
    sysroot: PathBuf,
    /// Print the differences from the facts in this file, which another host printed with --format json
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgument,
}

/// What `--format json` prints of a host.
#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    class: ClassId,
    hardware: Hardware,
    fingerprint: Fingerprint,
}

/// What is read of it again. The class is not: it follows from the facts.
#[derive(Debug, Deserialize)]
struct There {
    schema_version: u32,
    fingerprint: Fingerprint,
    hardware: HardwareThere,
}

#[derive(Debug, Deserialize)]
struct HardwareThere {
    id: Option<HardwareId>,
}

/// What `--against` prints as JSON.
#[derive(Debug, Serialize)]
struct Comparison {
    schema_version: u32,
    here: ClassId,
    there: ClassId,
    is_one_class: bool,
    /// Nothing where the hardware of one is not known.
    is_one_machine: Option<bool>,
    differences: Vec<Difference>,
}

pub(super) fn execute(arguments: &FactsArguments, console: &Console) -> Result<Exit, Failure> {
    let probed = compose::probe(&arguments.sysroot)?;
    match &arguments.against {
        Some(file) => against(&probed, file, arguments.output.output, console),
        None => {
            tell(probed, arguments.output.output, console)?;
            Ok(Exit::Done)
        }
    }
}

fn tell(probed: Probed, output: Output, console: &Console) -> Result<(), Failure> {
    let Probed { fingerprint, hardware } = probed;
    let class = fingerprint.class();
    let unread = fingerprint.unreadable().count();
    match output {
        Output::Json => {
            print_json(console, &Answer { schema_version: SCHEMA_VERSION, class, hardware, fingerprint })?;
        }
        Output::Table => {
            print(console, &shown(&fingerprint, console.out))?;
            print(console, "")?;
            print(console, &format!("class {class}"))?;
            print(console, &hardware_shown(&hardware))?;
        }
    }
    if unread > 0 {
        let they = if unread == 1 { "1 fact" } else { &format!("{unread} facts") };
        console.talk(format_args!(
            "{they} could not be read: hosts may differ in what the class does not show."
        ));
    }
    Ok(())
}

fn against(probed: &Probed, file: &Path, output: Output, console: &Console) -> Result<Exit, Failure> {
    let other = there(file)?;
    let (here, there) = (&probed.fingerprint, &other.fingerprint);
    let is_one_machine = probed.hardware.id.zip(other.hardware.id).map(|(here, there)| here == there);
    let comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        here: here.class(),
        there: there.class(),
        is_one_class: here.class() == there.class(),
        is_one_machine,
        differences: here.differences(there),
    };
    match output {
        Output::Json => print_json(console, &comparison)?,
        Output::Table if comparison.is_one_class => {
            print(console, &format!("No fact differs: both hosts are of class {}.", comparison.here))?;
        }
        Output::Table => print(console, &differences_shown(&comparison.differences, console.out))?,
    }
    if is_one_machine == Some(true) {
        console.talk("Both are one machine, by its serial numbers and addresses.");
    }
    Ok(if comparison.is_one_class { Exit::Done } else { Exit::Failed })
}

fn there(file: &Path) -> Result<There, Failure> {
    let tried = || format!("cannot read the facts in {}", file.display());
    let bytes = bytes_of(file).with_context(tried).map_err(Failure::usage)?;
    let there = serde_json::from_slice::<There>(&bytes).map_err(anyhow::Error::from);
    let there = there.and_then(|there| match there.schema_version {
        SCHEMA_VERSION => Ok(there),
        other => Err(anyhow!("they have schema version {other}; this release reads {SCHEMA_VERSION}")),
    });
    there.with_context(tried).map_err(|error| {
        Failure::usage(error)
            .hint("print them there with `speedup agent facts --format json`, by the same release")
    })
}

fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_FACTS_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FACTS_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_FACTS_BYTES} bytes")));
    }
    Ok(bytes)
}

fn shown(fingerprint: &Fingerprint, paint: Paint) -> String {
    let columns = [Column::Words("fact"), Column::Words("here")];
    table(&columns, fingerprint.iter().map(|(name, fact)| vec![name.to_owned(), words(fact)]), paint)
}

fn words(fact: &Fact) -> String {
    match fact {
        Fact::Value(value) => value.clone(),
        Fact::Absent => "(absent)".to_owned(),
        Fact::Unreadable(why) => format!("(unreadable: {why})"),
    }
}

fn hardware_shown(hardware: &Hardware) -> String {
    let Some(id) = hardware.id else {
        return "hardware unknown: it shows no serial number and no address".to_owned();
    };
    let marks = hardware.marks.iter().map(|(kind, count)| match count {
        1 => (*kind).to_owned(),
        count => format!("{kind} ({count})"),
    });
    let marks = marks.collect::<Vec<_>>().join(", ");
    let unread = hardware.unreadable.keys().copied().collect::<Vec<_>>().join(", ");
    let without = if unread.is_empty() { unread } else { format!("; unreadable: {unread}") };
    format!("hardware {id}, from {marks}{without}")
}

fn differences_shown(differences: &[Difference], paint: Paint) -> String {
    let columns = [Column::Words("fact"), Column::Words("here"), Column::Words("there")];
    let rows = differences.iter().map(|difference| {
        let (here, there) = sides(&difference.here, &difference.there);
        vec![difference.fact.clone(), here, there]
    });
    table(&columns, rows, paint)
}

/// Both values, or of two long lists of words those that the other lacks.
fn sides(here: &Fact, there: &Fact) -> (String, String) {
    let (Fact::Value(left), Fact::Value(right)) = (here, there) else { return (words(here), words(there)) };
    let [left_words, right_words] = [left, right].map(|text| text.split_whitespace().collect::<Vec<_>>());
    let more = |of: &[&str], than: &[&str]| -> Vec<String> {
        of.iter().filter(|word| !than.contains(word)).map(ToString::to_string).collect()
    };
    let (only_left, only_right) = (more(&left_words, &right_words), more(&right_words, &left_words));
    let is_short = left_words.len().max(right_words.len()) < MANY_WORDS;
    if is_short || only_left.len() + only_right.len() == 0 {
        return (left.clone(), right.clone());
    }
    let told = |only: Vec<String>| {
        if only.is_empty() { "...".to_owned() } else { format!("... {}", only.join(" ")) }
    };
    (told(only_left), told(only_right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Fact {
        Fact::Value(text.to_owned())
    }

    #[test]
    fn of_long_lists_only_the_words_that_differ_are_shown() {
        let flags = "a b c d e f g h i j k l";
        let (here, there) = sides(&value(flags), &value(&flags.replace('c', "avx")));
        assert_eq!((here.as_str(), there.as_str()), ("... c", "... avx"));
        let (here, there) = sides(&value(flags), &value(&flags[2..]));
        assert_eq!((here.as_str(), there.as_str()), ("... a", "..."));
        let (here, _) = sides(&value(flags), &value("l k j i h g f e d c b a"));
        assert_eq!(here, flags, "another order is seen only whole");
        assert_eq!(sides(&value("a b"), &value("a")), ("a b".to_owned(), "a".to_owned()));
        let unread = Fact::Unreadable("no".to_owned());
        assert_eq!(sides(&unread, &Fact::Absent), ("(unreadable: no)".to_owned(), "(absent)".to_owned()));
    }
}
