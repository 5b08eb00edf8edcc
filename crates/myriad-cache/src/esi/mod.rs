//! `esi*`: known visitors served from the cache.
//!
//! ```text
//! origin -> cutting: the markup is cut out as the page is stored; its holes are kept with it
//!
//! known visitor -> known: the same URL asked for by a stranger (no cookies), who may cause its fetch
//!                    -- a page that says `known` --> filling: its bytes, and this visitor's parts in the holes
//!                    \- none ----------------------> to the origin, as ever
//! parts: stored for this visitor (part_store), or requested, together where their origin specifies how (asking)
//! ```
//!
//! A page that does not say `known` is filled for everybody, as ESI 1.0 has it; so is what is not stored, on its way ([`passing`]).

mod asking;
mod changes;
mod cutting;
mod directives;
mod filling;
mod hosts;
mod known;
mod part_store;
mod passing;
mod rules;
mod settings;
mod slots;
mod visitor;

use myriad_exchange::feature::Feature;

/// Fields by which an origin speaks to `esi` alone, in lower case: visitors see none of them.
pub const OWN_FIELDS: [&[u8]; 3] = [b"x-myriad-esi", b"x-myriad-private-purge", b"x-litespeed-cache-control"];

pub(crate) use changes::watch;
pub(crate) use cutting::{Cutting, is_filled, is_marked, uncut};
pub(crate) use filling::fill_for_everybody;
pub(crate) use known::{IN_VAIN, explain, is_for_known, is_in_vain, may_read, run};
pub(crate) use passing::respond;
pub use settings::is_on;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("esi", directives::ROWS).compiled_by(rules::compile);
