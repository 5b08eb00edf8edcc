//! Cluster of several machines with one cache: every purge reaches every node, and every node confirms it.
//!
//! - [`record`] is the format of everything that is stored in Valkey or on disk: authenticated, with a version.
//! - [`node`] is the state machine of one node. It does no I/O: events and the time enter, actions leave. Production and
//!   the simulation run the same code.
//! - [`gate`] decides whether a node may use a page that another node has fetched.
//!
//! The reasons of the protocol are in docs/decisions/120-cluster-purge-log.md.

#![forbid(unsafe_code)]

pub mod gate;
pub mod node;
pub mod record;
