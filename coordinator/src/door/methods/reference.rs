//! The page of the reference on the API is made from the .proto files and the table of methods: `docs/reference/api.md`. The test
//! fails when the page in the repository is not what they say; `SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-coordinator
//! reference` writes it anew.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
};
use speedup_access::Role;
use speedup_proto::v1;

use super::{METHODS, Need, is_enough, need};

/// The package that is the API; the journal's is no one's to call.
const API: &str = "speedup.v1";

/// Numbers of fields in `descriptor.proto`, by which a comment is found: of a file, a message, an enum, a service.
const MESSAGES: i32 = 4;
const ENUMS: i32 = 5;
const SERVICES: i32 = 6;
const FIELDS: i32 = 2;
const NESTED: i32 = 3;
const NESTED_ENUMS: i32 = 4;
const VALUES: i32 = 2;
const METHODS_OF_SERVICE: i32 = 2;

#[test]
fn the_page_of_the_api_is_that_of_the_proto_files() {
    let set = FileDescriptorSet::decode(v1::DESCRIPTORS).expect("descriptors");
    let files: Vec<Page<'_>> = set.file.iter().filter(|file| file.package() == API).map(Page::of).collect();
    let mut text = format!(
        "# API\n\nMade from the `.proto` files of package `{API}` (`proto/proto/speedup/v1/`). The coordinator serves it by gRPC, over \
         TLS with\ncertificates on both sides ([access.md](../access.md)), and describes it by the standard reflection service. Numbers of \
         fields never\nchange their meaning. [For programs](../api.md) has examples.\n\nEvery method is open to those who stand under *who*, and to nobody else; what changes \
         an experiment wants its owner\nbeyond that, or an admin.\n"
    );
    others(&mut text);
    files.iter().for_each(|page| page.services(&mut text));
    files.iter().for_each(|page| page.messages(&mut text));
    meet(&text);
}

/// The methods that are not of this package: no .proto file of ours has words for them.
fn others(text: &mut String) {
    text.push_str("\n| standard method | who |\n|---|---|\n");
    let own = format!("/{API}.");
    for (path, need) in METHODS.iter().filter(|(path, _)| !path.starts_with(&own)) {
        writeln!(text, "| `{}` | {} |", path.trim_start_matches('/'), who(*need))
            .expect("a string takes all");
    }
}

/// Whom a need lets in, by the guard's own rule.
fn who(need: Need) -> String {
    let enough = |wanted: Role| Role::ALL.into_iter().filter(move |role| is_enough(*role, wanted));
    match need {
        Need::Nothing => "anybody".to_owned(),
        Need::Certificate => "any certificate".to_owned(),
        Need::Renewable => "any certificate, also an expired one".to_owned(),
        Need::Role(wanted) => enough(wanted).map(Role::name).collect::<Vec<_>>().join(", "),
        Need::Owner => "the coordinator's own user".to_owned(),
        Need::RoleOrAgent(wanted) => {
            enough(wanted).chain([Role::Agent]).map(Role::name).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The page in the repository is `text`, or becomes it where that is asked.
fn meet(text: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/api.md");
    if std::env::var_os("SPEEDUP_REFERENCE_PAGES").is_some_and(|wanted| wanted == "write") {
        std::fs::write(&page, text).expect("the page can be written");
    }
    let there = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        there == text,
        "docs/reference/api.md is stale; SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-coordinator reference writes it \
         anew"
    );
}

/// A file and its comments, by their places.
struct Page<'a> {
    file: &'a FileDescriptorProto,
    comments: BTreeMap<&'a [i32], String>,
}

impl<'a> Page<'a> {
    fn of(file: &'a FileDescriptorProto) -> Self {
        let places = file.source_code_info.as_ref().expect("the descriptors hold comments");
        let comments = places.location.iter().filter_map(|place| {
            let before = place.leading_comments.as_deref().unwrap_or_default();
            let behind = place.trailing_comments.as_deref().unwrap_or_default();
            let words: Vec<&str> = before.lines().chain(behind.lines()).map(str::trim).collect();
            let words = words.join(" ").trim().replace('<', "&lt;");
            (!words.is_empty()).then_some((place.path.as_slice(), words))
        });
        Self { file, comments: comments.collect() }
    }

    fn words(&self, place: &[i32]) -> &str {
        self.comments.get(place).map_or("", String::as_str)
    }

    fn services(&self, text: &mut String) {
        for (at, service) in (0..).zip(&self.file.service) {
            writeln!(text, "\n## Service {}\n", service.name()).expect("a string takes all");
            paragraph(self.words(&[SERVICES, at]), text);
            text.push_str("| method | who | asks | answers | meaning |\n|---|---|---|---|---|\n");
            for (below, method) in (0..).zip(&service.method) {
                let stream = |is: bool| if is { "stream of " } else { "" };
                let path = format!("/{API}.{}/{}", service.name(), method.name());
                let need = need(&path).expect("every method stands in the table");
                writeln!(
                    text,
                    "| `{}` | {} | {}{} | {}{} | {} |",
                    method.name(),
                    who(need),
                    stream(method.client_streaming()),
                    link(method.input_type()),
                    stream(method.server_streaming()),
                    link(method.output_type()),
                    self.words(&[SERVICES, at, METHODS_OF_SERVICE, below])
                )
                .expect("a string takes all");
            }
        }
    }

    fn messages(&self, text: &mut String) {
        for (at, message) in (0..).zip(&self.file.message_type) {
            self.message(message, "", &[MESSAGES, at], text);
        }
        for (at, kinds) in (0..).zip(&self.file.enum_type) {
            self.kinds(kinds, "", &[ENUMS, at], text);
        }
    }

    fn message(&self, message: &DescriptorProto, outer: &str, place: &[i32], text: &mut String) {
        let name = format!("{outer}{}", message.name());
        writeln!(text, "\n## {name}\n").expect("a string takes all");
        paragraph(self.words(place), text);
        if message.field.is_empty() {
            text.push_str("It has no fields.\n");
        } else {
            text.push_str("| number | field | type | meaning |\n|---|---|---|---|\n");
        }
        for (at, field) in (0..).zip(&message.field) {
            let words = self.words(&[place, &[FIELDS, at]].concat());
            let choice = oneof(message, field).map(|name| format!("one of `{name}`. ")).unwrap_or_default();
            let kind = kind(message, field);
            writeln!(text, "| {} | `{}` | {kind} | {choice}{words} |", field.number(), field.name())
                .expect("a string takes all");
        }
        let below = format!("{name}.");
        for (at, nested) in (0..).zip(&message.nested_type) {
            if !nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry) {
                self.message(nested, &below, &[place, &[NESTED, at]].concat(), text);
            }
        }
        for (at, nested) in (0..).zip(&message.enum_type) {
            self.kinds(nested, &below, &[place, &[NESTED_ENUMS, at]].concat(), text);
        }
    }

    fn kinds(&self, kinds: &EnumDescriptorProto, outer: &str, place: &[i32], text: &mut String) {
        writeln!(text, "\n## {outer}{}\n", kinds.name()).expect("a string takes all");
        paragraph(self.words(place), text);
        text.push_str("| number | value | meaning |\n|---|---|---|\n");
        for (at, value) in (0..).zip(&kinds.value) {
            let words = self.words(&[place, &[VALUES, at]].concat());
            writeln!(text, "| {} | `{}` | {words} |", value.number(), value.name())
                .expect("a string takes all");
        }
    }
}

fn paragraph(words: &str, text: &mut String) {
    if !words.is_empty() {
        writeln!(text, "{words}\n").expect("a string takes all");
    }
}

/// The choice of which a field is part; that of an optional field is the compiler's own.
fn oneof<'a>(message: &'a DescriptorProto, field: &FieldDescriptorProto) -> Option<&'a str> {
    let at = usize::try_from(field.oneof_index.filter(|_| !field.proto3_optional())?).ok()?;
    Some(message.oneof_decl.get(at)?.name())
}

/// The type of a field, linked where it is one of ours.
fn kind(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let own = field.type_name().rsplit('.').next().unwrap_or_default();
    let entry = message.nested_type.iter().find(|nested| {
        nested.name() == own && nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry)
    });
    if let Some(entry) = entry {
        return format!("map from {} to {}", kind(entry, &entry.field[0]), kind(entry, &entry.field[1]));
    }
    let of = match field.r#type() {
        Type::Message | Type::Enum | Type::Group => link(field.type_name()),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    };
    match field.label() {
        Label::Repeated => format!("repeated {of}"),
        Label::Optional if field.proto3_optional() => format!("optional {of}"),
        Label::Optional | Label::Required => of,
    }
}

/// `.speedup.v1.Record` as a link to its heading.
fn link(name: &str) -> String {
    let name = name.trim_start_matches('.');
    match name.strip_prefix(API).and_then(|name| name.strip_prefix('.')) {
        Some(own) => format!("[{own}](#{})", own.to_lowercase().replace('.', "")),
        None => format!("`{name}`"),
    }
}
