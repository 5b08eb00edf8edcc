//! Variables of nginx and Myriad. A row defines each variable: its name, compatibility with nginx, dependencies and
//! value. The registry, the compatibility page and the inputs of the shortcut follow from the rows.
//!
//! This module contains the variables of requests, connections and responses, by theme. The variables of a feature are
//! in its folder.

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
