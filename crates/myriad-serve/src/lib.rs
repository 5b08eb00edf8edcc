//! From the model to a running site: compile, phases, content handlers, access log.

pub mod error_log;
