//! `esi*`: shared pages with individual parts for known visitors (visitors with a cookie of `esi_known_cookies`).
//!
//! ```text
//! origin -> cutting: markup is cut out while the page is stored; its holes are stored with the page
//!
//! known visitor -> personalized_page: the same URL, requested without personal cookies, possibly with a fetch
//!                    -- a page marked `known` -----> filled_page: the page, with this visitor's parts in its holes
//!                    \- none ----------------------> the visitor's request goes to the origin
//! parts: stored for this visitor (part_store), or requested, several in one request if possible (part_requests)
//! ```
//!
//! A page not marked `known` is filled for all clients, as in ESI 1.0. A response that is not stored is filled while it
//! is sent ([`unstored_response`]). `visitor` identifies visitors, `changes` detects that their content has changed,
//! and `hosts` limits useless fetches. `comparison` permits pages that the origin has compared with
//! a visitor's own page. `private_response` stores whole responses for one visitor.

mod changes;
mod comparison;
mod cutting;
mod directives;
mod filled_page;
mod holes;
mod hosts;
mod part_requests;
mod part_store;
mod personalized_page;
mod private_response;
mod rules;
mod settings;
mod unstored_response;
mod visitor;

use myriad_exchange::feature::Feature;

/// Response fields, in lower case, that are not sent to clients where `esi` is on, unless `*_pass_header` names them.
/// `X-LiteSpeed-Cache-Control` may also specify the lifetime of a page.
pub const OWN_FIELDS: [&[u8]; 5] = [
    b"x-myriad-esi",
    b"x-myriad-private-cache",
    b"x-myriad-private-purge",
    b"x-myriad-visitor",
    b"x-litespeed-cache-control",
];

pub(crate) use changes::watch;
pub(crate) use comparison::check_response;
pub(crate) use cutting::{Cutting, data_without_markup, is_filled, is_marked};
pub(crate) use filled_page::fill_for_all;
pub(crate) use personalized_page::{USELESS_FETCH, explain, is_for_known, is_useless_fetch, may_read, run};
pub(crate) use private_response::store;
pub use settings::is_on;
pub(crate) use unstored_response::respond;

/// Registration of the directives `esi*`; listed in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("esi", directives::ROWS).compiled_by(rules::compile);
