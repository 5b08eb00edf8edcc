//! Variables of the server. Each is defined by one row: name, compatibility with nginx, dependencies, value. The
//! registry, the compatibility page and the inputs of the shortcut are derived from the rows. This module contains the
//! variables of the request, its connection and its response, by theme; the variables of a feature are in its folder.

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
pub use write::RequestVariable;
