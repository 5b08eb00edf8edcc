//! `image_filter*`: images are tested, measured, resized, cropped, rotated, and converted to a smaller format that the
//! browser accepts. A response is held back until its image has been processed, because a response that is no image
//! results in 415.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directive table; settings |
//! | `rules` | settings of a place |
//! | `task` | parameters of a request |
//! | `held_response` | responses that are held back |
//! | `body` | partially read body |
//! | `pool` | threads that process images |
//! | `accept` | formats that a browser accepts |

mod accept;
mod body;
mod directives;
mod held_response;
mod pool;
mod rules;
mod settings;
mod task;

use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("image", directives::ROWS).compiled_by(rules::compile);
