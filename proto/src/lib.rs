//! The protocol speedup.v1 and the journal's payloads: generated types and conversions.
