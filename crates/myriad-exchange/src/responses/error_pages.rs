//! Search for the `error_page` of a status in a location.

use crate::exchange::Exchange;
use crate::runtime::{ErrorPage, Place};

/// Returns the `error_page` of location `place` for a status; `None` if there is none, or if the request has already
/// used an `error_page` and `recursive_error_pages` is off.
pub fn page_now<'a>(exchange: &Exchange, place: &'a Place, status: u16) -> Option<&'a ErrorPage> {
    if exchange.request.errors.pages_end { None } else { find(&place.errors.pages, status) }
}

/// Returns true if [`page_now`] finds an error page for this status in the location of the request.
pub fn has_page_now(exchange: &Exchange, status: u16) -> bool {
    page_now(exchange, exchange.request.place(), status).is_some()
}

fn find(pages: &[ErrorPage], status: u16) -> Option<&ErrorPage> {
    pages.iter().find(|page| page.codes.contains(&status))
}
