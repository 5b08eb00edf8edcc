use super::*;
use crate::{Methods, PersonalCookies};

fn judged(
    method: Method,
    fields: &[(&str, &str)],
    cache_bypass: bool,
    rules: &CachePolicy,
) -> Option<BypassReason> {
    let fields: Fields = fields.iter().copied().collect();
    bypass(&RequestFacts { method, fields: &fields, has_body: false, cache_bypass }, rules)
}

fn get(fields: &[(&str, &str)]) -> Option<BypassReason> {
    judged(Method::Get, fields, false, &CachePolicy::default())
}

#[test]
fn plain_visitor_uses_cache_despite_own_cache_control() {
    for cache_control in ["no-cache", "no-store", "max-age=0", "only-if-cached"] {
        let fields = [("Cache-Control", cache_control), ("Pragma", "no-cache"), ("Cookie", "_ga=1; _gid=2")];
        assert_eq!(get(&fields), None);
    }
}

#[test]
fn methods_outside_cache_methods_have_no_cache_status() {
    for method in [Method::Post, Method::Put, Method::Delete, Method::Options, Method::Other] {
        assert_eq!(judged(method, &[], false, &CachePolicy::default()), Some(BypassReason::Method));
    }
    assert_eq!(judged(Method::Head, &[], false, &CachePolicy::default()), None);
    let post = CachePolicy { methods: Methods { post: true }, ..CachePolicy::default() };
    assert_eq!(judged(Method::Post, &[], false, &post), None);
    assert_eq!(BypassReason::Method.status(), None);
    assert_eq!(BypassReason::PersonalCookie.status(), Some(CacheStatus::Bypass));
}

#[test]
fn authorization_bypasses_unless_the_key_holds_it() {
    let fields = [("Authorization", "Basic YTpi")];
    assert_eq!(get(&fields), Some(BypassReason::Authorization));
    let keyed = CachePolicy { authorization_in_key: true, ..CachePolicy::default() };
    assert_eq!(judged(Method::Get, &fields, false, &keyed), None);
}

#[test]
fn an_upgrade_bypasses_but_not_the_habitual_offer_of_h2c() {
    for (value, expected) in [
        ("websocket", Some(BypassReason::Upgrade)),
        ("h2c, foo/2", Some(BypassReason::Upgrade)),
        ("h2c", None),
        ("H2C ,", None),
    ] {
        assert_eq!(get(&[("Upgrade", value)]), expected, "{value}");
    }
    assert_eq!(get(&[("Upgrade-Insecure-Requests", "1")]), None);
}

#[test]
fn personal_cookie_in_any_cookie_field_bypasses_cache_and_storing() {
    let fields = [("Cookie", "_ga=1"), ("X", "y"), ("cookie", "a=b; wordpress_logged_in_0f=x")];
    assert_eq!(get(&fields), Some(BypassReason::PersonalCookie));
    assert!(!BypassReason::PersonalCookie.may_store());
    let off = CachePolicy { personal: PersonalCookies::none(), ..CachePolicy::default() };
    assert_eq!(judged(Method::Get, &fields, false, &off), None);
}

#[test]
fn a_condition_skips_the_look_up_only_and_never_hides_a_personal_cookie() {
    let rules = CachePolicy::default();
    assert_eq!(judged(Method::Get, &[], true, &rules), Some(BypassReason::Condition));
    assert!(BypassReason::Condition.may_store());
    let personal = judged(Method::Get, &[("Cookie", "PHPSESSID=1")], true, &rules);
    assert_eq!(personal, Some(BypassReason::PersonalCookie));
}

#[test]
fn request_body_outside_key_bypasses_cache() {
    let fields = Fields::new();
    let facts = |method| RequestFacts { method, fields: &fields, has_body: true, cache_bypass: false };
    let rules = CachePolicy { methods: Methods { post: true }, ..CachePolicy::default() };
    for method in [Method::Get, Method::Head] {
        let reason = bypass(&facts(method), &rules).expect("a reason");
        assert_eq!(reason, BypassReason::Body);
        assert!(!reason.may_store());
    }
    assert_eq!(bypass(&facts(Method::Post), &rules), None);
}

#[test]
fn personal_cookie_with_a_value_in_the_key_does_not_bypass() {
    let keyed = |values: &[&str]| {
        let values = values.iter().map(|value| value.as_bytes().into()).collect();
        let keyed = crate::KeyedInput { cookie: true, name: (*b"wmc_current_currency").into(), values };
        let shared_fetch = crate::SharedFetch { keyed: vec![keyed], ..Default::default() };
        CachePolicy { shared_fetch, ..CachePolicy::default() }
    };
    let listed = keyed(&["EUR", "USD"]);
    for (cookies, expected) in [
        ("wmc_current_currency=EUR", None),
        ("a=b; wmc_current_currency=usd; c=d", None),
        ("wmc_current_currency=CHF", Some("wmc_current_currency")),
        ("wmc_current_currency", Some("wmc_current_currency")),
        ("wmc_current_currency=EUR; wmc_current_currency=CHF", Some("wmc_current_currency")),
        ("wmc.current_currency=EUR", Some("wmc.current_currency")),
        ("%77mc_current_currency=EUR", Some("%77mc_current_currency")),
        ("wmc_current_currency=EUR; PHPSESSID=1", Some("PHPSESSID")),
        ("PHPSESSID=1; wmc_current_currency=EUR", Some("PHPSESSID")),
    ] {
        let fields: Fields = [("Cookie", cookies)].into_iter().collect();
        let found = personal_cookie(&fields, &listed).map(String::from_utf8_lossy);
        assert_eq!(found.as_deref(), expected, "{cookies}");
        let reason = expected.map(|_| BypassReason::PersonalCookie);
        assert_eq!(judged(Method::Get, &[("Cookie", cookies)], false, &listed), reason, "{cookies}");
    }
    assert_eq!(judged(Method::Get, &[("Cookie", "wmc_current_currency=CHF")], false, &keyed(&[])), None);
    assert!(get(&[("Cookie", "wmc_current_currency=EUR")]).is_some(), "a cookie that is not part of the key");
}
