//! Cluster of several machines with one cache: every purge reaches every node, and every node confirms it.
//!
//! - [`record`] is the format of everything that is stored in Valkey or on disk: authenticated, with a version.
//! - [`node`] is the state machine of one node. It does no I/O: events and the time enter, actions leave. Production and
//!   the simulation run the same code.
//! - [`gate`] decides whether a node may use a page that another node has fetched.
//! - [`limits`] exchanges the use of limits between nodes, so that a limit applies to all nodes together.
//!
//! The reasons of the protocol are in docs/decisions/120-cluster-purge-log.md, those of `gate` in
//! 124-pages-of-a-cluster.md, those of `limits` in 125-limits-of-a-cluster.md, and those of the encrypted records in
//! 126-secrets-of-a-cluster.md.

#![forbid(unsafe_code)]

pub mod gate;
pub mod limits;
pub mod node;
pub mod record;
