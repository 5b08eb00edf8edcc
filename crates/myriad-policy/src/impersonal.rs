//! Cookies that say nothing of the page that sets them: a stored page leaves them out.
//!
//! RFC 9111 section 7.3: a `Set-Cookie` by itself does not keep an answer out of a cache. nginx stores none that has one, for the
//! cookie may begin a session whose token stands in the page. A cookie that only counts, or remembers a consent or the language
//! of an address, does no such thing.

use myriad_http::{Fields, Known};

use crate::{PersonalCookies, ResponseFacts, Rules};

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

/// Whether the cookies of an answer may be left out of its stored page: each of them is listed, and the origin was told no
/// cookie, so that the answer was made for nobody in particular.
///
/// Personal cookies are none of these whatever is listed: they are judged before.
pub(crate) fn may_be_left_out(response: &ResponseFacts<'_>, rules: &Rules) -> bool {
    !response.cookies && response.fields.known_all(Known::SetCookie).all(|value| rules.impersonal.sets(value))
}

/// Whether the visitor who caused a shared fetch keeps a cookie as it is: it is listed and theirs already, which the origin was
/// not told, so that it set the cookie as for a newcomer. A consent that was given would be taken back.
pub fn keeps_own_cookie(request: &Fields, set_cookie: &[u8], rules: &Rules) -> bool {
    let name = set_cookie.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default().trim_ascii();
    rules.shared_fetch.hides_cookies(request)
        && rules.impersonal.sets(set_cookie)
        && request.known_all(Known::Cookie).any(|sent| myriad_http::uri::cookie(sent, name).is_some())
}

#[cfg(test)]
mod tests {
    use myriad_http::Method;

    use super::*;
    use crate::{Admission, Refusal, SharedFetch, StatusMatch, ValidFor, admit};

    fn rules(names: &[&str]) -> Rules {
        Rules {
            valid: vec![ValidFor { status: StatusMatch::Any, ms: 10_000 }],
            impersonal: ImpersonalCookies::new(names.iter().copied()),
            shared_fetch: SharedFetch { on: true, ..SharedFetch::default() },
            ..Rules::default()
        }
    }

    fn refused(cookies: bool, fields: &[(&str, &str)], names: &[&str]) -> Option<Refusal> {
        let fields: Fields = fields.iter().copied().collect();
        let facts = ResponseFacts {
            status: 200,
            fields: &fields,
            method: Method::Get,
            authorization: false,
            personal: false,
            cookies,
            piece: false,
            no_cache: false,
            uses: 1,
            usable_page: false,
            large_request: false,
            delay_ms: 0,
        };
        match admit(&facts, &rules(names), 1_795_226_400_000) {
            Admission::Store(_) => None,
            Admission::Refuse(why) => Some(why),
        }
    }

    #[test]
    fn a_listed_cookie_keeps_no_page_out() {
        let set = [("Set-Cookie", "pll_language=en; path=/")];
        assert_eq!(refused(false, &set, &["pll_language"]), None);
        assert_eq!(refused(false, &set, &["pll_*"]), None);
        assert_eq!(refused(false, &set, &[]), Some(Refusal::SetCookie));
        assert_eq!(refused(false, &set, &["pll_lang"]), Some(Refusal::SetCookie));
        assert_eq!(refused(false, &set, &["PLL_LANGUAGE"]), Some(Refusal::SetCookie), "names have a case");
    }

    #[test]
    fn one_cookie_that_is_not_listed_keeps_the_page_out() {
        let both = [("Set-Cookie", "pll_language=en"), ("Set-Cookie", "token=1")];
        assert_eq!(refused(false, &both, &["pll_language"]), Some(Refusal::SetCookie));
        let reversed = [both[1], both[0]];
        assert_eq!(refused(false, &reversed, &["pll_language"]), Some(Refusal::SetCookie));
        let unnamed = [("Set-Cookie", "=pll_language"), ("Set-Cookie", "")];
        assert_eq!(refused(false, &unnamed, &["pll_language"]), Some(Refusal::SetCookie));
    }

    #[test]
    fn an_answer_to_a_request_that_told_cookies_is_not_stored() {
        let set = [("Set-Cookie", "pll_language=en")];
        assert_eq!(refused(true, &set, &["pll_language"]), Some(Refusal::SetCookie));
    }

    #[test]
    fn neither_a_session_nor_private_is_stored_whatever_is_listed() {
        let session = [("Set-Cookie", "PHPSESSID=1")];
        assert_eq!(refused(false, &session, &["PHPSESSID", "PHP*"]), Some(Refusal::PersonalCookie));
        let private = [("Set-Cookie", "pll_language=en"), ("Cache-Control", "private")];
        assert_eq!(refused(false, &private, &["pll_language"]), Some(Refusal::Private));
        let no_store = [("Set-Cookie", "pll_language=en"), ("Cache-Control", "no-store")];
        assert_eq!(refused(false, &no_store, &["pll_language"]), Some(Refusal::CacheControl));
    }

    #[test]
    fn who_has_the_cookie_keeps_it() {
        let keeps = |sent: &str, set: &[u8]| {
            let request: Fields = [("Cookie", sent)].into_iter().collect();
            keeps_own_cookie(&request, set, &rules(&["consent", "pll_*"]))
        };
        assert!(keeps("a=1; consent=yes", b"consent=unset; path=/"));
        assert!(!keeps("a=1; xconsent=yes", b"consent=unset"));
        assert!(!keeps("consent=yes", b"pll_language=en"), "another one");
        assert!(!keeps("a=1", b"a=2"), "not listed");
    }
}
