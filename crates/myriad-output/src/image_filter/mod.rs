//! `image_filter*`: pictures are tested, measured, made smaller, cut, turned, and given a format that a browser takes and that is
//! smaller. An answer is held back until it is known what becomes of its picture, for what is none is answered with 415.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `rules` | the same for a place |
//! | `wanted` | what a request asks for |
//! | `hold` | the answers that are held back |
//! | `body` | what is read of a picture, and how it goes on |
//! | `pool` | the threads that work on pictures |
//! | `accept` | the formats that a browser takes |

mod accept;
mod body;
mod directives;
mod hold;
mod pool;
mod rules;
mod settings;
mod wanted;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("image", directives::ROWS).compiled_by(rules::compile);
