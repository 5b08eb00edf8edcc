//! Values of memcached as answers (`memcached_*`): pages that an application keeps there, under the key `$memcached_key`.
//!
//! What is not there is an error of our own, 404: `error_page 404 = @application;` leads to whoever makes the page.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
