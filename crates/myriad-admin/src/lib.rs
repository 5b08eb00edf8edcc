//! Counters and snapshots for people and monitoring.
