//! Limits of messages, which are checked before decoding, and of texts for which `core` has no limit.

/// Most exclusions of hosts in an export: every host of a large pool several times. Later ones are left out.
pub const MAX_EXCLUSIONS: usize = 10_000;

/// Most bytes of a message from a user: an experiment of 100 000 benchmarks fits.
pub const MAX_REQUEST_BYTES: usize = 64 << 20;
/// Most bytes of a message from an agent: a report with both streams of output kept whole, and as many values of
/// own metrics as a run may have.
pub const MAX_AGENT_MESSAGE_BYTES: usize = 4 << 20;
/// Most stages of a plan: each is an extension of another shape.
pub const MAX_STAGES: usize = 1_000;
/// Most bytes of a list of CPUs: every second of 8,192 by its own number.
pub const MAX_CPU_LIST_BYTES: usize = 20 << 10;
/// Most bytes of a message to an agent: a work order.
pub const MAX_GRANT_BYTES: usize = 16 << 20;
/// Most bytes of one piece of a file's content; a message holds little else.
pub const MAX_PIECE_BYTES: usize = 256 << 10;
/// Most bytes of a message that carries a piece of a file's content.
pub const MAX_PIECE_MESSAGE_BYTES: usize = MAX_PIECE_BYTES + (4 << 10);
/// Most bytes of an answer to a user: a status list, a piece of an export, a report.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Most bytes of the name of a requester; longer ones are cut when they are received. A user's name, a host's and a few words.
pub const MAX_BY_BYTES: usize = 512;

/// Most bytes of a message about access: a page of certificates has at most 10,000 entries of 300 bytes.
pub const MAX_ACCESS_BYTES: usize = 4 << 20;

/// Most bytes of a message from someone without a certificate: a token and a signing request.
pub const MAX_ACCESS_REQUEST_BYTES: usize = 16 << 10;

/// Most events of an answer: each has a few hundred bytes, and people read them page by page.
pub const MAX_EVENTS: usize = 1_000;
