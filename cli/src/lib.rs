//! Asks: the command speedup.
