//! Variables of the server. Each is defined by one row: name, compatibility with nginx, dependencies, value. The
//! registry, the compatibility page and the inputs of the shortcut are derived from the rows. This module contains the
//! variables of the request, its connection and its response, by theme; the variables of a feature are in its folder.

mod answer;
mod body;
mod connection;
mod fields;
mod files;
mod names;
mod request;
mod rows;
mod site;
mod time;
mod unsupported;
pub mod write;

pub use names::VariableNames;
pub use rows::ROWS;
pub use unsupported::{DocumentedVariable, documented};
pub use write::RequestVariable;
