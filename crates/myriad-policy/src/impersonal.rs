//! Cookies that do not make a page personal (`impersonal_cookies`). They are omitted from the stored page.
//!
//! By RFC 9111 §7.3, `Set-Cookie` does not prevent a response from being stored. nginx stores no response that sets a
//! cookie, because the cookie may start a session whose token is in the page. Cookies that only count visits, or store
//! a consent or the language of a URL, are harmless.

use crate::PersonalCookies;

/// Name patterns of `impersonal_cookies`, cookies that do not prevent storing a page; cheap to clone. The syntax is
/// that of [`PersonalCookies`].
#[derive(Clone, Debug)]
pub struct ImpersonalCookies(PersonalCookies);

impl Default for ImpersonalCookies {
    /// Returns an empty set.
    fn default() -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::none())
    }
}

impl ImpersonalCookies {
    /// Creates the set from the arguments of `impersonal_cookies`. A trailing `*` matches any rest of the name.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> ImpersonalCookies {
        ImpersonalCookies(PersonalCookies::new(false, names))
    }

    /// Returns whether the value of a `Set-Cookie` field (RFC 6265 §4.1) sets a cookie of this set.
    pub fn sets(&self, value: &[u8]) -> bool {
        self.0.matches_set_cookie(value).is_some()
    }
}
