//! Messages made from the description of the API: any value of any message, as bytes, and bytes that are nearly one.

use std::collections::BTreeMap;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::below;
use speedup_proto::v1;

/// How deep messages lie within each other; plans have fewer.
const DEPTH: usize = 7;
/// Most elements of a list: what matters is none, one and several.
const ELEMENTS: u64 = 4;
/// Texts that are ordinary, empty, long, of other scripts, or meant ill.
const TEXTS: [&str; 17] = [
    "",
    "a",
    "old",
    "any",
    "viewer",
    "elsewhere",
    "../../../etc/passwd",
    "/proc/self/mem",
    "a\0b\n\x1b[2J",
    "{input}{input}{{",
    "é漢\u{202e}\u{feff}",
    "-1",
    "999999999999999999999999999999",
    "01920000-0000-7000-8000-000000000001",
    PLAN,
    r#"{"experiment": {"name": "fuzzed"}, "versions": {"a": {"baseline": true}, "b": {}}}"#,
    "[versions.a]\nbaseline = 7\n[versions.a]",
];
/// A plan as text.
const PLAN: &str = "[experiment]\nname = \"fuzzed\"\n[versions.a]\nbaseline = true\n[versions.b]\n[benchmarks.true]\n\
    command = [\"true\"]\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n";
/// Numbers at which something ends.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 3, 64, 255, 65_536, 1 << 31, u32::MAX as u64, 1 << 53, i64::MAX as u64, u64::MAX];
/// Lengths of hashes, ids, tokens and serial numbers, and those beside them.
const LENGTHS: [usize; 7] = [0, 1, 15, 16, 17, 32, 3_000];

/// One method of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// As it stands in a request.
    pub path: String,
    /// The full name of what is asked with.
    pub input: String,
    /// Whether several messages may be asked with.
    pub streams_in: bool,
}

/// The described API.
#[derive(Debug)]
pub struct Api {
    messages: BTreeMap<String, DescriptorProto>,
    methods: Vec<Method>,
    /// Ids that exist, for fields of text.
    known: Vec<String>,
}

impl Api {
    /// The API as it is described to those who ask for it. Fields of text hold one of `known` now and then.
    pub fn described(known: Vec<String>) -> Self {
        let files = FileDescriptorSet::decode(v1::DESCRIPTORS).expect("a description").file;
        let (mut messages, mut methods) = (BTreeMap::new(), Vec::new());
        for file in files {
            let package = format!(".{}", file.package());
            file.message_type.iter().for_each(|message| enter(&mut messages, &package, message.clone()));
            for service in &file.service {
                methods.extend(service.method.iter().map(|method| Method {
                    path: format!("/{}.{}/{}", file.package(), service.name(), method.name()),
                    input: method.input_type().to_owned(),
                    streams_in: method.client_streaming(),
                }));
            }
        }
        Self { messages, methods, known }
    }

    /// All methods.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// A message of this type: any, nearly one, or mere bytes.
    pub fn bytes(&self, name: &str, random: &mut ChaCha8Rng) -> Vec<u8> {
        match below(10, random) {
            0 => (0..below(200, random)).map(|_| below(256, random) as u8).collect(),
            1..4 => mutated(self.message(name, DEPTH, random), random),
            _ => self.message(name, DEPTH, random),
        }
    }

    /// Nearly this message: a few bytes of it are others.
    pub fn nearly(&self, message: Vec<u8>, random: &mut ChaCha8Rng) -> Vec<u8> {
        mutated(message, random)
    }

    fn message(&self, name: &str, depth: usize, random: &mut ChaCha8Rng) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Some(described) = self.messages.get(name).filter(|_| depth > 0) else { return bytes };
        for field in &described.field {
            let times = match field.label() {
                Label::Repeated => below(ELEMENTS, random),
                Label::Optional | Label::Required => u64::from(below(4, random) > 0),
            };
            (0..times).for_each(|_| self.field(field, depth, random, &mut bytes));
        }
        bytes
    }

    fn field(
        &self,
        field: &FieldDescriptorProto,
        depth: usize,
        random: &mut ChaCha8Rng,
        bytes: &mut Vec<u8>,
    ) {
        let tag = |wire: u64| (u64::from(field.number().unsigned_abs()) << 3) | wire;
        match field.r#type() {
            Type::Double | Type::Fixed64 | Type::Sfixed64 => {
                varint(tag(1), bytes);
                let floats = [0.0, -0.0, 0.5, -1.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE];
                bytes.extend(pick(&floats, random).to_le_bytes());
            }
            Type::Float | Type::Fixed32 | Type::Sfixed32 => {
                varint(tag(5), bytes);
                bytes.extend((*pick(&NUMBERS, random) as u32).to_le_bytes());
            }
            Type::String => {
                varint(tag(2), bytes);
                let long = "x".repeat(3_000);
                let text = match below(12, random) {
                    0 => long.as_str(),
                    1..4 if !self.known.is_empty() => pick(&self.known, random),
                    _ => pick(&TEXTS, random),
                };
                varint(text.len() as u64, bytes);
                bytes.extend(text.as_bytes());
            }
            Type::Bytes => {
                varint(tag(2), bytes);
                let value = vec![below(256, random) as u8; *pick(&LENGTHS, random)];
                varint(value.len() as u64, bytes);
                bytes.extend(value);
            }
            Type::Message | Type::Group => {
                varint(tag(2), bytes);
                let value = self.message(field.type_name(), depth - 1, random);
                varint(value.len() as u64, bytes);
                bytes.extend(value);
            }
            Type::Enum => {
                varint(tag(0), bytes);
                varint(below(12, random), bytes);
            }
            Type::Int64
            | Type::Uint64
            | Type::Int32
            | Type::Bool
            | Type::Uint32
            | Type::Sint32
            | Type::Sint64 => {
                varint(tag(0), bytes);
                varint(*pick(&NUMBERS, random), bytes);
            }
        }
    }
}

fn enter(messages: &mut BTreeMap<String, DescriptorProto>, scope: &str, message: DescriptorProto) {
    let name = format!("{scope}.{}", message.name());
    message.nested_type.iter().for_each(|nested| enter(messages, &name, nested.clone()));
    messages.insert(name, message);
}

fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn pick<'a, T>(of: &'a [T], random: &mut ChaCha8Rng) -> &'a T {
    &of[below(of.len() as u64, random) as usize]
}

/// A few bytes changed, removed or doubled.
fn mutated(mut bytes: Vec<u8>, random: &mut ChaCha8Rng) -> Vec<u8> {
    for _ in 0..=below(4, random) {
        if bytes.is_empty() {
            break;
        }
        let at = below(bytes.len() as u64, random) as usize;
        match below(3, random) {
            0 => bytes[at] = below(256, random) as u8,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, bytes[at]),
        }
    }
    bytes
}

/// How an agent joins whose host has this name, by its owner's word.
pub fn join(host: &str) -> v1::AgentMessage {
    let (host, boot) = (host.to_owned(), host.to_owned());
    let facts = v1::HostFacts { host, boot, named_by_owner: true, ..Default::default() };
    let join = v1::Join { facts: Some(facts), agent: vec![7; 16], agent_epoch: 1 };
    v1::AgentMessage { message: Some(v1::agent_message::Message::Join(Box::new(join))) }
}

#[cfg(test)]
mod tests {
    use speedup_core::value::seed::Seed;

    use super::*;

    #[test]
    fn what_is_made_is_what_the_api_reads() {
        let api = Api::described(Vec::new());
        let random = &mut Seed(1).child("wire");
        let read = (0..200).filter(|_| {
            let bytes = api.message(".speedup.v1.SubmitRequest", DEPTH, random);
            v1::SubmitRequest::decode(&*bytes).is_ok()
        });
        assert_eq!(read.count(), 200, "without mutation every message is one");
        assert!(api.methods().iter().any(|method| method.path == "/speedup.v1.Agents/Session"));
    }
}
