//! Compiles the .proto files with protox, so that no protoc is needed.

use std::path::PathBuf;

use prost::Message as _;

const FILES: [&str; 16] = [
    "speedup/v1/environment.proto",
    "speedup/v1/conditions.proto",
    "speedup/v1/experiment.proto",
    "speedup/v1/attempt.proto",
    "speedup/v1/experiments.proto",
    "speedup/v1/hosts.proto",
    "speedup/v1/agents.proto",
    "speedup/v1/analysis.proto",
    "speedup/v1/files.proto",
    "speedup/v1/access.proto",
    "speedup/v1/provision.proto",
    "speedup/v1/events.proto",
    "speedup/v1/page.proto",
    "speedup/journal/v1/access.proto",
    "speedup/journal/v1/checkpoint.proto",
    "speedup/journal/v1/journal.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("speedup_descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .btree_map(".")
        .extern_path(".speedup.v1.ExportAttempts", "crate::stored::ExportAttempts")
        .compile_fds(descriptors)?;
    Ok(())
}
