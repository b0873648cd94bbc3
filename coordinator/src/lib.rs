//! The coordinator's shell: it gives the machine of `speedup-core` a clock, a journal, a store and gRPC doors. It
//! records and does not conclude: nothing here knows a statistic.
//!
//! One task owns the machine (`owner`); everyone else holds a [`Handle`]. What the machine decides goes, in groups, to
//! the `committer`, which makes it durable and only then sends grants, acknowledgements and answers. From there it
//! goes to the `indexer`, which keeps the `store` in step; the store can always be rebuilt from the journal.
//!
//! In reading order: `server` (what starts and stops), `recovery`, `timeline`, `drain_guard`, `owner` and `handle`, `orders`,
//! `committer`, `indexer`, `store`, `fault` (which ends the process), `component` (what may fail while it goes on),
//! `checkpoint`, `status`, `blobs` (the content of staged files), `door`,
//! `gate` (counts connections), `admission` (who is let in), `open_files`, `provision` (an engine is asked for hosts), `metrics`
//! (what is counted), `monitor` (health, and the pages of metrics), `backup`.

mod admission;
mod backup;
mod blobs;
mod checkpoint;
mod committer;
mod component;
mod door;
mod drain_guard;
mod fault;
mod gate;
mod handle;
mod indexer;
mod metrics;
mod monitor;
mod open_files;
mod orders;
mod owner;
mod provision;
mod recovery;
mod server;
mod status;
mod store;
mod timeline;

pub use admission::{Admission, AdmissionError, OwnError};
pub use backup::{BackupError, Contents, ManifestError, back_up, restore};
pub use component::CoordinatorComponent;
pub use fault::Broken;
pub use handle::{Gone, Handle};
pub use open_files::raise_open_files;
pub use provision::{AgentPlace, RecordError, ResumeError, nearby};
pub use server::{Coordinator, Options, Security, StartError, Ways, start};
pub use store::StoreCache;
