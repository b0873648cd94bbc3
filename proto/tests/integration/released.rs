//! What a release wrote or said stays readable: the journal shares messages with the API, so an incompatible change of
//! either would make stored observations unreadable.
//!
//! `released/VERSION.txt` has a line for each field, enum value and method of a release, as the wire knows it: names of fields
//! do not count there, numbers, types and cardinality do. What is added later does not matter. What is taken out has to be
//! `reserved` in its message or enum: what the API says otherwise since a release has new numbers. With `SPEEDUP_RELEASE=VERSION` the test writes the lines of this tree: once, when it is
//! released.

use std::{collections::BTreeMap, collections::BTreeSet, path::Path, path::PathBuf};

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// What the wire knows of this tree: for each field, enum value and method what it is, and what is reserved.
#[derive(Default)]
struct Wire {
    lines: BTreeMap<String, String>,
    reserved: BTreeSet<String>,
}

impl Wire {
    fn of_this_tree() -> Self {
        let set = FileDescriptorSet::decode(speedup_proto::v1::DESCRIPTORS).expect("descriptors");
        let mut wire = Self::default();
        for file in set.file.iter().filter(|file| file.package().starts_with("speedup.")) {
            let package = file.package();
            file.message_type.iter().for_each(|message| wire.message(package, message));
            file.enum_type.iter().for_each(|kind| wire.enumeration(package, kind));
            for service in &file.service {
                for method in &service.method {
                    let stream = |is: bool| if is { "stream " } else { "" };
                    let (from, to) = (method.client_streaming(), method.server_streaming());
                    let takes = format!("{}{}", stream(from), method.input_type());
                    let gives = format!("{}{}", stream(to), method.output_type());
                    let name = format!("method {package}.{}/{}", service.name(), method.name());
                    wire.lines.insert(name, format!("{takes} -> {gives}"));
                }
            }
        }
        wire
    }

    fn message(&mut self, scope: &str, message: &DescriptorProto) {
        let name = format!("{scope}.{}", message.name());
        for field in &message.field {
            self.lines.insert(format!("field {name} {}", field.number()), field_in_words(message, field));
        }
        for range in &message.reserved_range {
            let numbers = range.start()..range.end();
            self.reserved.extend(numbers.map(|number| format!("field {name} {number}")));
        }
        message.enum_type.iter().for_each(|kind| self.enumeration(&name, kind));
        message.nested_type.iter().for_each(|nested| self.message(&name, nested));
    }

    fn enumeration(&mut self, scope: &str, kind: &EnumDescriptorProto) {
        let name = format!("{scope}.{}", kind.name());
        for value in &kind.value {
            self.lines.insert(format!("value {name} {}", value.number()), value.name().to_owned());
        }
        for range in &kind.reserved_range {
            // The end of an enum's range belongs to it.
            let numbers = range.start()..=range.end();
            self.reserved.extend(numbers.map(|number| format!("value {name} {number}")));
        }
    }
}

/// Type and cardinality; `optional` and a field of a oneof are one on the wire.
fn field_in_words(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let is_repeated = field.label() == Label::Repeated;
    let kind = match field.r#type() {
        Type::Message | Type::Enum => field.type_name().to_owned(),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    };
    let nested = message.nested_type.iter();
    let is_map = nested
        .filter(|nested| nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry))
        .any(|nested| kind.ends_with(&format!(".{}", nested.name())));
    match (is_map, is_repeated) {
        (true, _) => format!("map {kind}"),
        (false, true) => format!("repeated {kind}"),
        (false, false) => kind,
    }
}

fn released() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released")
}

/// The release since which the API says some things otherwise, before 1.0; the changelog says how.
const RENAMED_SINCE: &str = "0.1.0";
/// What has another name since then. Names are not on the wire: what is stored is read by the new one.
const RENAMED: [(&str, &str); 2] = [
    ("field speedup.v1.ExperimentStatus ", "field speedup.v1.StoredStatus "),
    (
        "field speedup.v1.ExportHead 1 = .speedup.v1.ExperimentStatus",
        "field speedup.v1.ExportHead 1 = .speedup.v1.StoredStatus",
    ),
];
/// Methods that are called otherwise since then, as what is stored has no methods; and a checkpoint, which only its own release
/// reads.
const CHANGED: [&str; 3] = [
    "method speedup.v1.Experiments/Export = ",
    "method speedup.v1.Experiments/Undecided = ",
    "field speedup.journal.v1.Checkpoint",
];

/// The lines of a release, by the names of today.
fn renamed(version: &str, release: &str) -> String {
    if version != RENAMED_SINCE {
        return release.to_owned();
    }
    let today = |line: &str| {
        let new = RENAMED.iter().find_map(|(was, is)| Some(format!("{is}{}", line.strip_prefix(was)?)));
        new.unwrap_or_else(|| line.to_owned()) + "\n"
    };
    let is_kept = |line: &&str| !CHANGED.iter().any(|changed| line.starts_with(changed));
    release.lines().filter(is_kept).map(today).collect()
}

/// What of a release this tree would not read as it was meant.
fn broken(release: &str, wire: &Wire) -> Vec<String> {
    let lines = release.lines().filter_map(|line| line.split_once(" = "));
    let found = lines.filter_map(|(name, was)| match wire.lines.get(name) {
        Some(is) if is == was => None,
        Some(is) => Some(format!("{name} was {was} and is {is}")),
        None if wire.reserved.contains(name) => None,
        None => Some(format!("{name} ({was}) is gone and not reserved")),
    });
    found.collect()
}

#[test]
fn what_every_release_wrote_is_readable() {
    let wire = Wire::of_this_tree();
    if let Ok(version) = std::env::var("SPEEDUP_RELEASE") {
        let lines: String = wire.lines.iter().map(|(name, what)| format!("{name} = {what}\n")).collect();
        std::fs::write(released().join(format!("{version}.txt")), lines).expect("it is written");
    }
    let mut releases = 0;
    for entry in std::fs::read_dir(released()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let release = std::fs::read_to_string(&path).expect("a release");
        assert!(release.lines().count() > 500, "{} is cut short", path.display());
        let version = path.file_stem().and_then(|name| name.to_str()).expect("a version");
        let broken = broken(&renamed(version, &release), &wire);
        assert!(broken.is_empty(), "{} cannot be read any more:\n{}", path.display(), broken.join("\n"));
        releases += 1;
    }
    assert!(releases > 0, "there is no release to compare with");
}

#[test]
fn what_is_incompatible_is_found() {
    let mut wire = Wire::of_this_tree();
    let lines: String = wire.lines.iter().map(|(name, what)| format!("{name} = {what}\n")).collect();
    assert_eq!(broken(&lines, &wire), [""; 0]);
    let field = "field speedup.v1.HostFacts 1";
    let was = wire.lines.get(field).expect("a field").clone();
    wire.lines.insert(field.to_owned(), "sfixed64".to_owned());
    assert_eq!(broken(&lines, &wire), [format!("{field} was {was} and is sfixed64")]);
    wire.lines.remove(field);
    assert_eq!(broken(&lines, &wire), [format!("{field} ({was}) is gone and not reserved")]);
    wire.reserved.insert(field.to_owned());
    assert_eq!(broken(&lines, &wire), [""; 0], "nobody gives its number to something else");
}
