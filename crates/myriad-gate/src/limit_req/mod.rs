//! `limit_req`: how fast a visitor asks, by a leaky bucket for each.

mod bucket;
mod check;
mod compile;
mod table;

pub(super) use compile::{Zones, check};
pub(super) use table::RequestTable;

#[cfg(test)]
mod tests;
