//! Leak guard of fetches (`leak_guard`): a response with data of the visitor whose request fetched it is not shared.
//!
//! ```text
//! request is made -> FetchGuard: the visitor's values that the origin receives
//! head arrives    -> FetchGuard::examine -> a field has a value, or the body cannot be searched: response refused
//! body arrives    -> ResponseGuard::examine, piece by piece, before waiters get it
//!                      a value is found: only the client whose request fetched it gets the response
//! afterwards      -> Verification: the page is fetched without the visitor's cookies; this response is not stored
//!                      value missing: confirmed; after values of two clients, the page is not stored for a time
//!                      value there:   coincidence, the value is not searched for in this page for an hour
//!                      no comparable response: unverified
//! ```

use std::sync::LazyLock;

use myriad_policy::PersonalCookies;

mod fetch_guard;
mod findings;
mod response_guard;
pub(crate) mod sampling;
mod verification;

pub(crate) use fetch_guard::{FetchGuard, Unshared};
pub(crate) use findings::{page_of, report};
pub(crate) use response_guard::ResponseGuard;
pub(crate) use verification::{Verification, VerificationSearch, anonymous_fields};

/// Built-in list of names of login and session cookies.
static SESSIONS: LazyLock<PersonalCookies> = LazyLock::new(PersonalCookies::builtin_sessions);
