//! The variables that the server makes. Each is one row, in the file of its theme: name, how it fares beside nginx, what its
//! value follows from, the value. Nothing else names it: the catalogue, the page of compatibility and what requests may take
//! the short way come from the rows.

mod access;
mod answer;
mod body;
mod cache;
mod certificate;
mod connection;
mod fields;
mod files;
mod moment;
mod names;
mod origin;
mod pass;
mod refused;
mod request;
pub mod rows;
mod site;
mod tls;
mod write;

pub use names::VariableNames;
pub use refused::{DocumentedVariable, documented};
