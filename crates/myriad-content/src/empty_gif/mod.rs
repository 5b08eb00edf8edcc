//! `empty_gif`: a transparent picture of one pixel (nginx's empty gif module).

mod handler;
mod image;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("empty_gif", handler::ROWS);
