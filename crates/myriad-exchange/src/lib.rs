//! Core of request processing: the compiled configuration (runtime), a request with its response (exchange),
//! statistics, and the traits that features implement.

pub mod access_log;
pub mod after_sent;
pub mod counters;
pub mod counting;
pub mod exchange;
pub mod failure;
pub mod feature;
pub mod keys;
pub mod observation;
pub mod pressure;
pub mod ranking;
pub mod responses;
pub mod runtime;
pub mod state_storage;
pub mod subrequest;
pub mod trace_context;
pub mod tracing;
pub mod traffic;
pub mod worker;
pub mod worker_caches;
