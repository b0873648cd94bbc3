//! Ids that are 16 bytes on the wire.

use speedup_core::value::id::{AgentId, ExperimentId};
use uuid::Uuid;

use super::field::exactly;
use super::malformed::Malformed;

/// The bytes of an id.
pub fn id_bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// The experiment that a field names.
pub fn experiment_id(bytes: &[u8], field: &str) -> Result<ExperimentId, Malformed> {
    exactly(bytes, field).map(|bytes| ExperimentId(Uuid::from_bytes(bytes)))
}

/// The agent that a field names.
pub fn agent_id(bytes: &[u8], field: &str) -> Result<AgentId, Malformed> {
    exactly(bytes, field).map(|bytes| AgentId(Uuid::from_bytes(bytes)))
}
