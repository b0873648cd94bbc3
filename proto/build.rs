//! Compiles the .proto files with protox, so that no protoc is needed.

use std::path::PathBuf;

use prost::Message as _;

const FILES: [&str; 15] = [
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
    "speedup/journal/v1/journal.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("speedup_descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        .codec_path("crate::codec::ServerCodec")
        .btree_map(".")
        // A record is moved with its attempt from step to step.
        .boxed(".speedup.v1.EndedAttempt.end.reported")
        // An agent says it once, and other things again and again.
        .boxed(".speedup.v1.AgentMessage.message.join")
        .extern_path(".speedup.v1.ExportAttempts", "crate::encoded::ExportAttempts")
        .extern_path(".speedup.v1.Report", "crate::encoded::SentReport")
        .extern_path(".speedup.v1.Grant", "crate::encoded::SentGrant")
        .compile_fds(descriptors.clone())?;
    // Clients apart from servers, because their codecs differ: of the messages there is one set, which they share.
    let clients = out.join("clients");
    std::fs::create_dir_all(&clients)?;
    tonic_prost_build::configure()
        .build_server(false)
        .out_dir(clients)
        .extern_path(".speedup.v1.ExportAttempts", "crate::encoded::ExportAttempts")
        .extern_path(".speedup.v1", "crate::v1")
        .extern_path(".speedup.journal.v1", "crate::journal::v1")
        .compile_fds(descriptors)?;
    Ok(())
}
