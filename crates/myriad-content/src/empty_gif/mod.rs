//! `empty_gif`: a transparent image of one pixel (nginx's empty_gif module).

mod handler;
mod image;
use myriad_exchange::feature::Feature;

/// Registration of the feature `empty_gif`.
pub const FEATURE: Feature = Feature::new("empty_gif", handler::ROWS);
