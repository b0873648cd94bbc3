//! The gRPC door of the analysis.
