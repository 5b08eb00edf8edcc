//! Lookup of the `error_page` of a status in the place of a request.

use crate::exchange::Exchange;
use crate::runtime::{ErrorPage, Place};

/// Returns the page for a status, unless no further error page is allowed (`recursive_error_pages`).
pub fn page_now<'a>(exchange: &Exchange, place: &'a Place, status: u16) -> Option<&'a ErrorPage> {
    if exchange.request.errors.pages_end { None } else { find(&place.errors.pages, status) }
}

/// Returns whether the place of the request has an error page for a status.
pub fn has_page_now(exchange: &Exchange, status: u16) -> bool {
    page_now(exchange, exchange.request.place(), status).is_some()
}

fn find(pages: &[ErrorPage], status: u16) -> Option<&ErrorPage> {
    pages.iter().find(|page| page.codes.contains(&status))
}
