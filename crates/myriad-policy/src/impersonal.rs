//! Cookies that do not make a page personal. They are omitted from the stored page.
//!
//! By RFC 9111 section 7.3, `Set-Cookie` does not prevent a response from being stored. nginx stores no response with a
//! cookie, because the cookie may start a session whose token is in the page. Cookies that only count visits, or store
//! a consent or the language of an address, do not do this.

use crate::PersonalCookies;

/// Names of such cookies (`impersonal_cookies`), parsed like those of personal cookies; cheap to clone.
#[derive(Clone, Debug)]
pub struct ImpersonalCookies(PersonalCookies);

impl Default for ImpersonalCookies {
    /// Returns an empty set.
    fn default() -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::none())
    }
}

impl ImpersonalCookies {
    /// Creates the set of an `impersonal_cookies` directive. A trailing `*` matches any rest.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::new(false, names))
    }

    /// Returns whether the value of a `Set-Cookie` field (RFC 6265 section 4.1) sets such a cookie.
    pub fn sets(&self, value: &[u8]) -> bool {
        self.0.matches_set_cookie(value).is_some()
    }
}
