//! Leak guard of fetches (`leak_guard`): a response with data of the visitor whose request fetched it is not shared.
//!
//! ```text
//! request is made -> FetchGuard: the visitor's values that the origin receives
//! head arrives    -> FetchGuard::examine -> a field has a value: the response is refused
//! body arrives    -> ResponseGuard::examine, piece by piece, before waiters get it
//!                      a value is found: only the client whose request fetched it gets the response
//! afterwards      -> Verification: the page is fetched without the cookies of the visitor; this response is not stored
//!                      value missing: confirmed; after two values, the page is not stored for the time of its validity
//!                      value there:   coincidence, the value is not searched for in this page for an hour
//! ```

mod excuses;
mod fetch_guard;
mod findings;
mod response_guard;
mod verification;

pub(crate) use fetch_guard::FetchGuard;
pub(crate) use findings::report;
pub(crate) use response_guard::{LeakNotice, ResponseGuard};
pub(crate) use verification::{Verification, anonymous_fields};
