//! `optimize`: smaller forms of stored pages with the same meaning, made in the background and sent in place of the pages.
//!
//! ```text
//! hit of a page without an optimized form, or fetch of a page that had one
//!   `-> start: the style sheets, scripts and images of the page are read through the server's locations, as by an
//!       anonymous client
//!         `-> a thread of the compression pool runs `myriad_optimize::optimize`
//!               `-> the bundles that the form names are published, and the form becomes the page's replacement
//! hit of a page with an optimized form -> `sent_page`; every two seconds, the files of the form are checked
//! request for `/_myriad/HASH.css` -> bundles
//! request for an image -> image_copies
//! ```
//!
//! The form belongs to the stored page: purges, eviction and the next fetch remove it. It is not written to disk; after a
//! restart, it is made again. Bundles are pages of the zone, and on its disk.

mod bundles;
mod check;
mod core_time;
mod directives;
mod examine;
mod form;
#[cfg(feature = "image")]
mod image_copies;
#[cfg(feature = "image")]
mod image_copy_work;
mod markers;
mod own_resources;
mod rules;
mod start;
mod variables;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::feature::Feature;
use myriad_net::clock::now_ms;
use myriad_store::ReplacementBody;
use myriad_store::page::Page;

use form::{form_meta, policies};

use crate::journey_step::CacheContext;
use crate::page;

pub use bundles::{bundle_response, names_bundle};
pub use rules::settings_id;
pub(crate) use start::start;

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("optimizer", directives::ROWS)
    .compiled_by(rules::compile)
    .examining_http(examine::examine)
    .with_variables(variables::VARIABLES);

/// Returns the page to send: the optimized form of a stored page if there is a valid one and no body filter of the
/// location changes the page, otherwise the page itself. Starts to make a missing form (not at the first request for
/// the page), and to check the files of a form. Does nothing where `optimize` is off.
#[inline]
pub(crate) fn sent_page(exchange: &mut Exchange, cached: CacheContext<'_>, page: Page) -> Page {
    let settings = cached.cache.optimize;
    if settings == 0 || !is_for(exchange) {
        return page;
    }
    match page.replacement() {
        Some(form) if form.state().is_valid(settings) => {
            if form.state().begin_check(exchange.request.received.at_ms) {
                check::start(exchange, cached, &page);
            }
            let Some(form) = form.object() else { return page };
            if exchange.request.place().filters.change(page.meta().media_type()) {
                return page;
            }
            exchange.request.cache.report.optimized = true;
            form.clone()
        }
        _ => {
            if page.hits() > 0 {
                start(exchange, cached, &page);
            }
            page
        }
    }
}

/// Returns whether a request may get the optimized form: true for requests of clients, and for requests by which a
/// known visitor gets the shared page; false for requests that are only explained, and for other subrequests.
fn is_for(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    let lookup = &request.cache.lookup;
    let is_of_client = !request.is_subrequest() || lookup.stored_only && !lookup.fetches_nothing;
    request.received.sink.is_none() && is_of_client
}

/// Provides a page with an optimized form if it replaces a page with a valid one: copies the form if the body and the
/// facts that affect the form are equal, otherwise starts to make a new form if the replaced page had hits. Does
/// nothing for a page with `no-transform`.
pub(crate) fn after_fetch(exchange: &Exchange, cached: CacheContext<'_>, previous: &Page, page: &Page) {
    let Some(form) = previous.replacement().filter(|form| form.state().is_valid(cached.cache.optimize))
    else {
        return;
    };
    let (old, new) = (previous.meta(), page.meta());
    if !is_for(exchange) || new.no_transform {
        return;
    }
    let is_equal = old.media_type() == new.media_type()
        && old.cut() == new.cut()
        && policies(old).eq(policies(new))
        && previous.body().same_bytes(&page.body());
    match form.object() {
        Some(object) if is_equal => {
            let body = ReplacementBody {
                meta: form_meta(page, object.meta().cut(), &object.body()),
                body: object.body(),
                alternatives: page::alternatives_of(object),
            };
            // Fails if the page is not stored any more.
            let _ = cached.cache.zone.zone.replace(page, Some(body), form.state().copy(), now_ms());
        }
        Some(_) if previous.hits() > 0 => start(exchange, cached, page),
        _ => {}
    }
}
