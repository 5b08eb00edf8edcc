//! Cookies that say nothing of the page that sets them: a stored page leaves them out.
//!
//! RFC 9111 section 7.3: a `Set-Cookie` by itself does not keep an answer out of a cache. nginx stores none that has one, for the
//! cookie may begin a session whose token stands in the page. A cookie that only counts, or remembers a consent or the language
//! of an address, does no such thing.

use crate::PersonalCookies;

/// Names of such cookies (`impersonal_cookies`), read as those of personal cookies are; cheap to clone.
#[derive(Clone, Debug)]
pub struct ImpersonalCookies(PersonalCookies);

impl Default for ImpersonalCookies {
    /// None.
    fn default() -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::none())
    }
}

impl ImpersonalCookies {
    /// The names of an `impersonal_cookies` directive; a trailing `*` stands for any rest.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::new(false, names))
    }

    /// Whether the value of a `Set-Cookie` field (RFC 6265 section 4.1) sets such a cookie.
    pub fn sets(&self, value: &[u8]) -> bool {
        self.0.matches_set_cookie(value).is_some()
    }
}
