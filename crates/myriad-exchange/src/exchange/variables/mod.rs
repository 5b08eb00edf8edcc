//! The variables that the server makes. Each is one row: name, how it fares beside nginx, what its value
//! follows from, the value. Nothing else names it: the registry, the page of compatibility and what requests may take the short
//! way come from the rows. Here are those of the request, its connection and its answer, in the file of their theme; a
//! feature's stand in its folder.

mod answer;
mod body;
mod connection;
mod fields;
mod files;
mod moment;
mod names;
mod refused;
mod request;
mod rows;
mod site;
pub mod write;

pub use names::VariableNames;
pub use refused::{DocumentedVariable, documented};
pub use rows::ROWS;
pub use write::Row;
