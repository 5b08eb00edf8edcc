//! Decides whether a `Set-Cookie` of a shared fetch would overwrite a cookie that the client already has.

use myriad_http::{Fields, Known, uri};

use crate::CachePolicy;

/// Returns true if this `Set-Cookie` of a response shared by several clients must not be forwarded to the client, which
/// then retains its cookie of this name. This is the case if the cookie matches `impersonal_cookies`, the client's
/// request contains a cookie of this name, and the shared fetch sent only cookies of the cache key to the origin. The
/// origin has then usually set the cookie as for a first visit; forwarding it would reset, for example, a consent.
pub fn client_retains_cookie(request: &Fields, set_cookie: &[u8], rules: &CachePolicy) -> bool {
    let name = set_cookie.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default().trim_ascii();
    rules.shared_fetch.hides_cookies(request)
        && rules.impersonal.sets(set_cookie)
        && request.known_all(Known::Cookie).any(|sent| uri::cookie(sent, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImpersonalCookies, SharedFetch};

    #[test]
    fn client_with_impersonal_cookie_retains_it() {
        let rules = CachePolicy {
            impersonal: ImpersonalCookies::new(["consent", "pll_*"]),
            shared_fetch: SharedFetch { on: true, ..SharedFetch::default() },
            ..CachePolicy::default()
        };
        let retains = |sent: &str, set: &[u8]| {
            let request: Fields = [("Cookie", sent)].into_iter().collect();
            client_retains_cookie(&request, set, &rules)
        };
        assert!(retains("a=1; consent=yes", b"consent=unset; path=/"));
        assert!(!retains("a=1; xconsent=yes", b"consent=unset"));
        assert!(!retains("consent=yes", b"pll_language=en"), "another one");
        assert!(!retains("a=1", b"a=2"), "not listed");
    }
}
