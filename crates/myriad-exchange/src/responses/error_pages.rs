//! Search for the `error_page` of a status in a location.

use crate::exchange::Exchange;
use crate::runtime::{ErrorPage, Place};

/// Returns the error page of a location for a status; `None` if there is none, or if no further error page may be used
/// (`recursive_error_pages off`).
pub fn page_now<'a>(exchange: &Exchange, place: &'a Place, status: u16) -> Option<&'a ErrorPage> {
    if exchange.request.errors.pages_end { None } else { find(&place.errors.pages, status) }
}

/// Returns true if the location of the request has an error page for a status that may be used now.
pub fn has_page_now(exchange: &Exchange, status: u16) -> bool {
    page_now(exchange, exchange.request.place(), status).is_some()
}

fn find(pages: &[ErrorPage], status: u16) -> Option<&ErrorPage> {
    pages.iter().find(|page| page.codes.contains(&status))
}
