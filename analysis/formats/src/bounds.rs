//! What a file may cost: every reader stops with a named error at these, so no input takes more than a known amount of
//! memory and time.

/// Bytes of a file, packed and unpacked: hyperfine's second format takes about 500 bytes a run, so this is 100,000 runs
/// and more.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// Values of a file over all series.
pub const MAX_VALUES: usize = 4_000_000;

/// Series of a file: a suite of thousands of benchmarks with a dozen metrics each fits.
pub const MAX_SERIES: usize = 65_536;

/// Bytes of one name: Linux executes no longer argument, and hyperfine names a benchmark by its command line.
pub const MAX_NAME_BYTES: usize = 131_072;

/// Bytes of a name in a message.
pub(crate) const MAX_EXCERPT_BYTES: usize = 4_096;

/// Labels of one series.
pub const MAX_LABELS: usize = 64;

/// Bytes of all labels of one series together: what they say of a command stands in it as well.
pub const MAX_LABEL_BYTES: usize = MAX_NAME_BYTES;

/// Columns of a table.
pub const MAX_COLUMNS: usize = 1_024;

/// Failures, and as many warnings, that are kept of one file; a tool that reports more than that measured nothing.
pub const MAX_REMARKS: usize = 65_536;

/// Arrays and objects inside each other; no known format goes beyond eight.
pub const MAX_NESTING: usize = 64;

/// Values of any kind in one JSON text: about 60 bytes of memory each.
pub const MAX_JSON_NODES: usize = 4_000_000;

/// Characters of one number: the longest exact decimal form of a 64-bit float has fewer than 800 significant digits, and no
/// tool prints more than 40.
pub const MAX_NUMBER_CHARS: usize = 400;
