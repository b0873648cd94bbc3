//! Keeps: the owner loop, journal, store and gRPC doors of the coordinator.
