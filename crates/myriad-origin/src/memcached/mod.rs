//! Responses read from memcached (`memcached_*`): an application stores responses under the key `$memcached_key`.
//!
//! A missing value is a 404, for which `error_page 404 = @application;` can redirect to the application that creates
//! the value.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
