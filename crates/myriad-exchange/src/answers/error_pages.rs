//! Which `error_page` a status has at the place where the request is.

use crate::exchange::Exchange;
use crate::runtime::{ErrorPage, Place};

/// The page for a status, unless no further one may follow (`recursive_error_pages`).
pub fn page_now<'a>(exchange: &Exchange, place: &'a Place, status: u16) -> Option<&'a ErrorPage> {
    if exchange.request.errors.pages_end { None } else { find(&place.errors.pages, status) }
}

/// Whether the place where the request is answers a status with a page of its own.
pub fn has_page_now(exchange: &Exchange, status: u16) -> bool {
    page_now(exchange, exchange.request.place(), status).is_some()
}

fn find(pages: &[ErrorPage], status: u16) -> Option<&ErrorPage> {
    pages.iter().find(|page| page.codes.contains(&status))
}
