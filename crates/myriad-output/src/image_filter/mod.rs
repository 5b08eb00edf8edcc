//! `image_filter*`: images are tested, measured, resized, cropped, rotated, and converted to a smaller format that the
//! client accepts. A response is held back until its image has been processed, because it is replaced by a 415 if it is
//! no image.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `rules` | directives, their settings, compiled settings |
//! | `task` | evaluation of the settings for a request |
//! | `held_response` | processing of responses that are held back |
//! | `body` | body of which the first bytes have been read |
//! | `pool` | threads that process images |
//! | `accept` | formats that a client accepts |

mod accept;
mod body;
mod directives;
mod held_response;
mod pool;
mod rules;
mod settings;
mod task;

use myriad_exchange::feature::Feature;

pub use accept::accepted as accepted_formats;

/// Registration of the directives `image_filter*`.
pub const FEATURE: Feature = Feature::new("image", directives::ROWS).compiled_by(rules::compile);
