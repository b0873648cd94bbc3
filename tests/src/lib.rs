//! Proves: whole-system tests.
