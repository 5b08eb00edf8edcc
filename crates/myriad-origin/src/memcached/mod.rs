//! Values of memcached as responses (`memcached_*`): pages that an application stores under the key `$memcached_key`.
//!
//! A missing value is a 404 of this server: `error_page 404 = @application;` redirects to the application that creates
//! the page.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
