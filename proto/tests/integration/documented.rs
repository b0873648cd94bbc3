//! Whoever reads the .proto files alone, or asks the reflection service, finds out what each service, method, message, field, enum and
//! value means: in a unit, and in an encoding, where it has one.

use prost::Message as _;
use prost_types::field_descriptor_proto::Type;
use prost_types::source_code_info::Location;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// Numbers of fields in `descriptor.proto`, by which a comment is found.
const MESSAGES: i32 = 4;
const ENUMS: i32 = 5;
const SERVICES: i32 = 6;
/// Likewise within a message, an enum and a service.
const FIELDS: i32 = 2;
const NESTED: i32 = 3;
const NESTED_ENUMS: i32 = 4;
const VALUES: i32 = 2;
const METHODS: i32 = 2;

/// Gathers what has no words, or lacks one that it needs.
struct Review<'f> {
    file: &'f FileDescriptorProto,
    comments: &'f [Location],
    wanting: Vec<String>,
}

impl Review<'_> {
    fn words(&self, place: &[i32]) -> String {
        let found = self.comments.iter().find(|location| location.path == place);
        found.map_or_else(String::new, |location| location.leading_comments().trim().to_owned())
    }

    fn look(&mut self, place: &[i32], name: &str) {
        if self.words(place).is_empty() {
            self.wanting.push(format!("{}: {name} has no comment", self.file.name()));
        }
    }

    fn message(&mut self, message: &DescriptorProto, outer: &str, place: &[i32]) {
        if message.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry) {
            return;
        }
        let name = format!("{outer}{}", message.name());
        self.look(place, &name);
        for (at, field) in (0..).zip(&message.field) {
            let (field_name, place) = (format!("{name}.{}", field.name()), [place, &[FIELDS, at]].concat());
            self.look(&place, &field_name);
            let words = self.words(&place);
            let is_bare_moment = field.name().ends_with("_ns") && field.r#type() == Type::Fixed64;
            if is_bare_moment && !words.contains("nanoseconds since 1970") && !words.contains("likewise") {
                self.wanting.push(format!("{field_name} does not say since when it counts"));
            }
        }
        for (at, nested) in (0..).zip(&message.nested_type) {
            self.message(nested, &format!("{name}."), &[place, &[NESTED, at]].concat());
        }
        for (at, kind) in (0..).zip(&message.enum_type) {
            self.kinds(kind, &format!("{name}."), &[place, &[NESTED_ENUMS, at]].concat());
        }
    }

    fn kinds(&mut self, kinds: &EnumDescriptorProto, outer: &str, place: &[i32]) {
        let name = format!("{outer}{}", kinds.name());
        self.look(place, &name);
        // The value 0 of each is none.
        for (at, value) in (0..).zip(&kinds.value).filter(|(_, value)| value.number() != 0) {
            self.look(&[place, &[VALUES, at]].concat(), &format!("{name}.{}", value.name()));
        }
    }

    fn all(&mut self) {
        for (at, message) in (0..).zip(&self.file.message_type) {
            self.message(message, "", &[MESSAGES, at]);
        }
        for (at, kinds) in (0..).zip(&self.file.enum_type) {
            self.kinds(kinds, "", &[ENUMS, at]);
        }
        for (at, service) in (0..).zip(&self.file.service) {
            self.look(&[SERVICES, at], service.name());
            for (below, method) in (0..).zip(&service.method) {
                let name = format!("{}/{}", service.name(), method.name());
                self.look(&[SERVICES, at, METHODS, below], &name);
            }
        }
    }
}

fn is_ours(file: &FileDescriptorProto) -> bool {
    file.package().starts_with("speedup.")
}

fn wanting(file: &FileDescriptorProto) -> Vec<String> {
    let comments = file.source_code_info.as_ref().map_or(&[][..], |info| &info.location);
    let mut review = Review { file, comments, wanting: Vec::new() };
    review.all();
    review.wanting
}

#[test]
fn every_part_of_the_api_has_words() {
    let set = FileDescriptorSet::decode(speedup_proto::v1::DESCRIPTORS).expect("descriptors");
    let files: Vec<_> = set.file.iter().filter(|file| is_ours(file)).collect();
    assert!(files.len() > 10, "{} files", files.len());
    let wanting: Vec<String> = files.iter().flat_map(|file| wanting(file)).collect();
    assert!(wanting.is_empty(), "{}", wanting.join("\n"));
}

#[test]
fn what_has_no_words_is_found() {
    let set = FileDescriptorSet::decode(speedup_proto::v1::DESCRIPTORS).expect("descriptors");
    let mut file = set.file.iter().find(|file| is_ours(file)).expect("a file").clone();
    let info = file.source_code_info.as_mut().expect("comments");
    info.location.iter_mut().for_each(|location| location.leading_comments = None);
    assert!(wanting(&file).len() > 10);
}
