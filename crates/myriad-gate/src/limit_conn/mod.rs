//! `limit_conn`: how many requests a visitor has under way.

mod check;
mod compile;
mod table;

pub(super) use compile::{Zones, check};
pub(super) use table::ConnectionTable;

#[cfg(test)]
mod tests;
