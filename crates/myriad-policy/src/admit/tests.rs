use super::*;
use crate::{IgnoreHeaders, ImpersonalCookies, PersonalCookies, StatusMatch, ValidFor};

const NOW: u64 = 1_795_226_400_000;

fn facts(status: u16, fields: &Fields) -> ResponseFacts<'_> {
    ResponseFacts {
        status,
        fields,
        method: Method::Get,
        authorization: false,
        personal: false,
        cookies: false,
        piece: false,
        no_cache: false,
        uses: 1,
        usable_page: false,
        large_request: false,
        delay_ms: 0,
    }
}

/// Returns rules with `*_cache_valid any 10s` that ignore all response fields that can be ignored.
fn greedy() -> CachePolicy {
    CachePolicy {
        valid: vec![ValidFor { status: StatusMatch::Any, ms: 10_000 }],
        ignore: IgnoreHeaders {
            cache_control: true,
            expires: true,
            set_cookie: true,
            vary: true,
            x_accel_expires: true,
        },
        ..CachePolicy::default()
    }
}

fn judged(status: u16, fields: &[(&str, &str)], rules: &CachePolicy) -> Admission {
    let fields: Fields = fields.iter().copied().collect();
    admit(&facts(status, &fields), rules, NOW)
}

fn refused(fields: &[(&str, &str)], rules: &CachePolicy) -> Option<StoreRefusal> {
    match judged(200, fields, rules) {
        Admission::Store(_) => None,
        Admission::Refuse(refusal) => Some(refusal),
    }
}

/// Returns random rules; the personal cookies are always the built-in list.
fn any_rules(random: &mut fastrand::Rng) -> CachePolicy {
    let mut flag = || random.bool();
    let ignore = IgnoreHeaders {
        cache_control: flag(),
        expires: flag(),
        set_cookie: flag(),
        vary: flag(),
        x_accel_expires: flag(),
    };
    let rest =
        CachePolicy { ignore, rfc9111: flag(), authorization_in_key: flag(), revalidate: flag(), ..greedy() };
    if flag() { rest } else { CachePolicy { valid: Vec::new(), ..rest } }
}

/// Returns random response fields that allow storing.
fn inviting(random: &mut fastrand::Rng) -> Vec<(&'static str, &'static str)> {
    let choices = [
        ("X-Accel-Expires", "3600"),
        ("Cache-Control", "public, s-maxage=60"),
        ("Expires", "Sat, 21 Nov 2026 03:00:00 GMT"),
        ("Set-Cookie", "theme=dark"),
        ("Vary", "Accept-Encoding, X-Device"),
        ("Content-Type", "text/html"),
    ];
    choices.into_iter().filter(|_| random.bool()).collect()
}

fn shuffled<'a>(mut fields: Vec<(&'a str, &'a str)>, random: &mut fastrand::Rng) -> Fields {
    random.shuffle(&mut fields);
    fields.into_iter().collect()
}

#[test]
fn plain_page_is_stored_for_time_given_by_rules() {
    let fields = [
        ("Content-Type", "text/html"),
        ("Cache-Control", "max-age=5, stale-while-revalidate=2, stale-if-error=4"),
    ];
    let expected = Lifetime {
        fresh_until: NOW + 5_000,
        stale_updating_until: NOW + 7_000,
        stale_error_until: NOW + 9_000,
        must_revalidate: false,
        valid_ms: 5_000,
        source: ValiditySource::MaxAge,
        born: None,
    };
    assert_eq!(judged(200, &fields, &CachePolicy::default()), Admission::Store(expected));
    assert_eq!(refused(&[], &greedy()), None);
    assert_eq!(refused(&[], &CachePolicy::default()), Some(StoreRefusal::NoValidity));
}

#[test]
fn private_response_is_never_stored_despite_rules_and_other_fields() {
    let spellings = ["private", "max-age=60, PRIVATE", "public, private=\"x-user\"", "s-maxage=60,private"];
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let mut fields = inviting(&mut random);
        fields.push(("Cache-Control", spellings[random.usize(..spellings.len())]));
        let fields = shuffled(fields, &mut random);
        let verdict = admit(&facts(200, &fields), &rules, NOW);
        assert_eq!(verdict, Admission::Refuse(StoreRefusal::Private), "seed {seed}: {fields:?}");
    }
}

#[test]
fn an_answer_that_sets_a_personal_cookie_is_never_stored() {
    let cookies = [
        "PHPSESSID=1; path=/",
        "wordpress_logged_in_0f=x; HttpOnly",
        "woocommerce_cart_hash=deleted; Max-Age=0",
    ];
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let mut fields = inviting(&mut random);
        fields.push(("Set-Cookie", cookies[random.usize(..cookies.len())]));
        let fields = shuffled(fields, &mut random);
        let verdict = admit(&facts(200, &fields), &rules, NOW);
        assert_eq!(verdict, Admission::Refuse(StoreRefusal::PersonalCookie), "seed {seed}: {fields:?}");
    }
    let off = CachePolicy { personal: PersonalCookies::none(), ..greedy() };
    assert_eq!(refused(&[("Set-Cookie", cookies[0])], &off), None);
}

#[test]
fn a_personal_request_or_a_head_never_fills_a_shared_page() {
    for seed in 0..1000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let fields = shuffled(inviting(&mut random), &mut random);
        let personal = ResponseFacts { personal: true, ..facts(200, &fields) };
        assert_eq!(
            admit(&personal, &rules, NOW),
            Admission::Refuse(StoreRefusal::PersonalRequest),
            "seed {seed}"
        );
        for method in [Method::Head, Method::Post, Method::Delete, Method::Other] {
            let other = ResponseFacts { method, ..facts(200, &fields) };
            assert_eq!(admit(&other, &rules, NOW), Admission::Refuse(StoreRefusal::Method), "seed {seed}");
        }
    }
}

#[test]
fn a_server_error_never_takes_the_place_of_a_usable_page() {
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut rules = any_rules(&mut random);
        let status = random.u16(500..600);
        rules.valid.insert(0, ValidFor { status: StatusMatch::Code(status), ms: 60_000 });
        let fields = shuffled(inviting(&mut random), &mut random);
        let over_page = ResponseFacts { usable_page: true, ..facts(status, &fields) };
        assert!(matches!(admit(&over_page, &rules, NOW), Admission::Refuse(_)), "seed {seed}: {status}");
    }
}

#[test]
fn a_server_error_is_stored_only_by_its_own_code_or_by_its_own_word() {
    for status in (500..600).filter(|status| *status != 501) {
        assert_eq!(judged(status, &[], &greedy()), Admission::Refuse(StoreRefusal::NoValidity), "{status}");
    }
    let mut rules = greedy();
    rules.valid.push(ValidFor { status: StatusMatch::Code(503), ms: 1_000 });
    assert!(matches!(judged(503, &[], &rules), Admission::Store(lifetime) if lifetime.valid_ms == 1_000));
    let own_word = judged(503, &[("Cache-Control", "max-age=3")], &CachePolicy::default());
    assert!(matches!(own_word, Admission::Store(lifetime) if lifetime.valid_ms == 3_000));
}

#[test]
fn an_error_of_the_request_is_stored_only_by_its_own_code() {
    let words = [("Cache-Control", "public, max-age=60"), ("X-Accel-Expires", "60"), ("Age", "1")];
    for status in [400, 405, 411, 412, 413, 414, 415, 416, 417, 431, 501] {
        for word in words {
            let any = CachePolicy { ignore: IgnoreHeaders::default(), ..greedy() };
            assert_eq!(
                judged(status, &[word], &any),
                Admission::Refuse(StoreRefusal::RequestError),
                "{status} {word:?}"
            );
            let mut named = any.clone();
            named.valid.push(ValidFor { status: StatusMatch::Code(status), ms: 1_000 });
            assert!(matches!(judged(status, &[word], &named), Admission::Store(_)), "{status} {word:?}");
        }
        let rfc9111 = CachePolicy { rfc9111: true, ..CachePolicy::default() };
        let explicit = judged(status, &words[..1], &rfc9111);
        assert!(matches!(explicit, Admission::Store(lifetime) if lifetime.valid_ms == 60_000), "{status}");
        let any = CachePolicy { rfc9111: true, ..greedy() };
        for fields in [&[][..], &[("Cache-Control", "no-store")], &[("Cache-Control", "max-age=0")]] {
            assert_eq!(
                judged(status, fields, &any),
                Admission::Refuse(StoreRefusal::RequestError),
                "{status} {fields:?}"
            );
        }
    }
    assert!(matches!(judged(404, &[], &greedy()), Admission::Store(_)));
    assert!(StoreRefusal::RequestError.concerns_request() && !StoreRefusal::NoValidity.concerns_request());
}

#[test]
fn a_large_request_stores_no_client_error_and_any_other_answer() {
    for rfc9111 in [false, true] {
        let mut rules = CachePolicy { rfc9111, ..greedy() };
        rules.valid.insert(0, ValidFor { status: StatusMatch::Code(403), ms: 1_000 });
        let fields: Fields = [("Cache-Control", "max-age=60")].into_iter().collect();
        for status in [200, 301, 400, 403, 404, 431, 499] {
            let verdict =
                admit(&ResponseFacts { large_request: true, ..facts(status, &fields) }, &rules, NOW);
            let expected = if status < 400 { None } else { Some(StoreRefusal::LargeRequest) };
            let refusal = match verdict {
                Admission::Store(_) => None,
                Admission::Refuse(why) => Some(why),
            };
            assert_eq!(refusal, expected, "{status}");
        }
    }
}

#[test]
fn a_set_cookie_needs_to_be_ignored() {
    let fields = [("Set-Cookie", "theme=dark")];
    assert_eq!(refused(&fields, &greedy()), None);
    let mut rules = greedy();
    rules.ignore.set_cookie = false;
    assert_eq!(refused(&fields, &rules), Some(StoreRefusal::SetCookie));
}

#[test]
fn vary_star_is_not_stored_unless_vary_is_ignored() {
    let fields = [("Vary", "Accept-Encoding, *")];
    assert_eq!(refused(&fields, &greedy()), None);
    let mut rules = greedy();
    rules.ignore.vary = false;
    assert_eq!(refused(&fields, &rules), Some(StoreRefusal::Vary));
    assert_eq!(refused(&[("Vary", "Accept-Encoding, Cookie")], &rules), None);
}

#[test]
fn parts_confirmations_and_interim_answers_are_no_pages() {
    for status in [100, 101, 103, 206, 304, 600, 999, 0] {
        assert_eq!(
            judged(status, &[("X-Accel-Expires", "9")], &greedy()),
            Admission::Refuse(StoreRefusal::Status)
        );
    }
    for status in [200, 203, 204, 301, 302, 307, 404, 410] {
        assert!(matches!(judged(status, &[], &greedy()), Admission::Store(_)), "{status}");
    }
}

#[test]
fn an_answer_to_authorization_needs_leave_to_be_shared() {
    let store = |cache_control: &str, authorization_in_key| {
        let fields: Fields =
            [("Cache-Control", cache_control), ("X-Accel-Expires", "9")].into_iter().collect();
        let facts = ResponseFacts { authorization: true, ..facts(200, &fields) };
        admit(&facts, &CachePolicy { authorization_in_key, ..CachePolicy::default() }, NOW)
    };
    let refused = Admission::Refuse(StoreRefusal::Authorization);
    assert_eq!(store("max-age=60", false), refused);
    assert_eq!(store("no-transform", false), refused);
    for leave in ["public", "s-maxage=60", "must-revalidate"] {
        assert!(matches!(store(leave, false), Admission::Store(_)), "{leave}");
    }
    assert!(matches!(store("max-age=60", true), Admission::Store(_)));
}

#[test]
fn no_cache_and_min_uses_keep_an_answer_out() {
    let fields = Fields::new();
    let rules = CachePolicy { min_uses: 3, ..greedy() };
    let with = |uses, no_cache| admit(&ResponseFacts { no_cache, uses, ..facts(200, &fields) }, &rules, NOW);
    assert_eq!(with(2, false), Admission::Refuse(StoreRefusal::MinUses));
    assert!(matches!(with(3, false), Admission::Store(_)));
    assert_eq!(with(3, true), Admission::Refuse(StoreRefusal::NoCache));
}

#[test]
fn whatever_is_stored_is_fresh_now_and_stale_later_in_order() {
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let fields = shuffled(inviting(&mut random), &mut random);
        if let Admission::Store(lifetime) = admit(&facts(random.u16(200..500), &fields), &rules, NOW) {
            assert!(NOW < lifetime.fresh_until, "seed {seed}");
            assert!((0..64).contains(&(lifetime.fresh_until - NOW - lifetime.valid_ms)), "seed {seed}");
            assert!(lifetime.fresh_until <= lifetime.stale_updating_until);
            assert!(lifetime.stale_updating_until <= lifetime.stale_error_until);
        }
    }
}

#[test]
fn verdicts_on_this_request_alone_are_not_remembered_and_the_others_briefly() {
    for refusal in [
        StoreRefusal::Method,
        StoreRefusal::PersonalRequest,
        StoreRefusal::Authorization,
        StoreRefusal::ServerError,
        StoreRefusal::MinUses,
    ] {
        assert_eq!(refusal.hit_for_miss_ms(), 0, "{refusal:?}");
    }
    for refusal in [
        StoreRefusal::Private,
        StoreRefusal::SetCookie,
        StoreRefusal::CacheControl,
        StoreRefusal::NoValidity,
        StoreRefusal::Vary,
    ] {
        assert!((1..=10_000).contains(&refusal.hit_for_miss_ms()), "{refusal:?}");
    }
}

/// Tests that a response that is not stored invalidates the stored page if the reason belongs to the page, not to the
/// visitor.
#[test]
fn what_is_stored_is_taken_back_by_reasons_of_the_page_and_by_none_of_the_visitor() {
    let of_the_page = [
        StoreRefusal::Private,
        StoreRefusal::PersonalCookie,
        StoreRefusal::SetCookie,
        StoreRefusal::Vary,
        StoreRefusal::XAccelExpires,
        StoreRefusal::CacheControl,
        StoreRefusal::Expired,
        StoreRefusal::NoValidity,
    ];
    let of_the_visitor = [
        StoreRefusal::Method,
        StoreRefusal::Status,
        StoreRefusal::PersonalRequest,
        StoreRefusal::Authorization,
        StoreRefusal::NoCache,
        StoreRefusal::ServerError,
        StoreRefusal::MinUses,
    ];
    for status in [200, 204, 301, 302, 401, 403, 404, 410, 451] {
        for why in of_the_page {
            assert!(invalidates_stored_page(status, why, false, false), "{status} {why:?}");
            let is_gone = matches!(status, 404 | 410);
            assert_eq!(
                invalidates_stored_page(status, why, false, true),
                is_gone,
                "bypassed: {status} {why:?}"
            );
        }
        for why in of_the_visitor {
            assert!(!invalidates_stored_page(status, why, false, false), "{status} {why:?}");
        }
        assert!(invalidates_stored_page(status, StoreRefusal::NoCache, true, false));
    }
    for status in [304, 400, 405, 408, 411, 412, 413, 414, 415, 416, 417, 421, 429, 431, 500, 502, 503, 504] {
        let expected = status == 304;
        for why in of_the_page {
            assert_eq!(invalidates_stored_page(status, why, false, false), expected, "{status} {why:?}");
        }
    }
}

#[test]
fn negative_responses_are_stored_briefly_despite_no_cache_and_never_stale() {
    let rules = CachePolicy { negative: vec![(404, 10_000), (410, 0)], ..CachePolicy::default() };
    let of_wordpress = [
        ("Expires", "Wed, 11 Jan 1984 05:00:00 GMT"),
        ("Cache-Control", "no-cache, must-revalidate, max-age=0"),
    ];
    for rfc9111 in [false, true] {
        let rules = CachePolicy { rfc9111, ..rules.clone() };
        for fields in [&of_wordpress[..], &[("Cache-Control", "no-store")], &of_wordpress[..1], &[]] {
            let Admission::Store(lifetime) = judged(404, fields, &rules) else { panic!("{fields:?}") };
            assert_eq!((lifetime.fresh_until, lifetime.valid_ms), (NOW + 10_000, 10_000));
            assert!(lifetime.must_revalidate);
            assert!(matches!(judged(200, fields, &rules), Admission::Refuse(_)), "no page that is there");
            assert!(matches!(judged(410, fields, &rules), Admission::Refuse(_)), "0 stores nothing");
        }
        for (field, why) in [
            (("Cache-Control", "private, no-cache"), StoreRefusal::Private),
            (("Set-Cookie", "a=b"), StoreRefusal::SetCookie),
            (("Set-Cookie", "PHPSESSID=b"), StoreRefusal::PersonalCookie),
            (("X-Accel-Expires", "0"), StoreRefusal::XAccelExpires),
        ] {
            assert_eq!(judged(404, &[field], &rules), Admission::Refuse(why), "{field:?}");
        }
        let own = judged(404, &[("Cache-Control", "max-age=60")], &rules);
        assert!(matches!(own, Admission::Store(Lifetime { valid_ms: 60_000, .. })), "its own word: {own:?}");
    }
}

/// Returns the lifetime of a stored 200 with these fields.
fn stored(fields: &[(&str, &str)], rules: &CachePolicy) -> Lifetime {
    match judged(200, fields, rules) {
        Admission::Store(lifetime) => lifetime,
        Admission::Refuse(refusal) => panic!("{refusal:?}"),
    }
}

#[test]
fn not_modified_response_renews_original_lifetime_unless_it_overrides_it() {
    let rules = CachePolicy { ignore: IgnoreHeaders::default(), ..greedy() };
    let later = NOW + 50_000;
    let confirm = |page: &Lifetime, fields: &[(&str, &str)]| {
        let fields: Fields = fields.iter().copied().collect();
        let facts = ResponseFacts { no_cache: true, uses: 0, usable_page: true, ..facts(200, &fields) };
        revalidated(&facts, page, &rules, later)
    };
    let by_word = stored(&[("Cache-Control", "max-age=60, stale-if-error=5")], &rules);
    let expected = Lifetime {
        fresh_until: later + 60_000,
        stale_updating_until: later + 60_000,
        stale_error_until: later + 65_000,
        ..by_word
    };
    assert_eq!(confirm(&by_word, &[]), Admission::Store(expected));
    let renewed = confirm(&by_word, &[("Cache-Control", "max-age=7")]);
    assert!(matches!(renewed, Admission::Store(lifetime) if lifetime.fresh_until == later + 7_000));
    // Stored with the validity of an old configuration, renewed with the current configuration.
    let by_rule = Lifetime { valid_ms: 1, ..stored(&[], &rules) };
    let renewed = confirm(&by_rule, &[]);
    assert!(
        matches!(renewed, Admission::Store(lifetime) if lifetime.fresh_until == (later + 10_000).next_multiple_of(64))
    );
    for (field, refusal) in [
        (("Cache-Control", "private"), StoreRefusal::Private),
        (("X-LiteSpeed-Cache-Control", "private,max-age=1800"), StoreRefusal::Private),
        (("X-LiteSpeed-Cache-Control", "no-cache"), StoreRefusal::Private),
        (("X-LiteSpeed-Vary", "cookie=_lscache_vary"), StoreRefusal::Private),
        (("Set-Cookie", "PHPSESSID=1"), StoreRefusal::PersonalCookie),
        (("Set-Cookie", "a=b"), StoreRefusal::SetCookie),
        (("Cache-Control", "no-store"), StoreRefusal::CacheControl),
    ] {
        assert_eq!(confirm(&by_word, &[field]), Admission::Refuse(refusal), "{field:?}");
        assert_eq!(refusal.protects_visitors(), refusal != StoreRefusal::CacheControl);
    }
}

#[test]
fn not_modified_response_renews_page_without_lifetime_fields() {
    let rules = CachePolicy::default();
    let page = stored(&[("X-Accel-Expires", "30")], &rules);
    let fields = Fields::new();
    let renewed = revalidated(&facts(200, &fields), &page, &rules, NOW + 99_000);
    assert!(matches!(renewed, Admission::Store(lifetime) if lifetime.fresh_until == NOW + 129_000));
}

#[test]
fn range_piece_with_range_in_key_is_stored_as_own_page() {
    let fields: Fields = [("Cache-Control", "max-age=60")].into_iter().collect();
    let rules = CachePolicy::default();
    let piece = |status| admit(&ResponseFacts { piece: true, ..facts(status, &fields) }, &rules, NOW);
    assert!(matches!(piece(206), Admission::Store(_)));
    assert_eq!(piece(304), Admission::Refuse(StoreRefusal::Status));
    assert_eq!(admit(&facts(206, &fields), &rules, NOW), Admission::Refuse(StoreRefusal::Status));
}

/// Returns the reason why a response with these fields is not stored while `impersonal_cookies` lists `names`; `None`
/// if it is stored. `cookies` is true if the request to the origin had cookies.
fn refused_of(cookies: bool, fields: &[(&str, &str)], names: &[&str]) -> Option<StoreRefusal> {
    let rules = CachePolicy {
        ignore: IgnoreHeaders::default(),
        impersonal: ImpersonalCookies::new(names.iter().copied()),
        ..greedy()
    };
    let fields: Fields = fields.iter().copied().collect();
    match admit(&ResponseFacts { cookies, ..facts(200, &fields) }, &rules, NOW) {
        Admission::Store(_) => None,
        Admission::Refuse(why) => Some(why),
    }
}

#[test]
fn listed_cookie_does_not_prevent_storing() {
    let set = [("Set-Cookie", "pll_language=en; path=/")];
    assert_eq!(refused_of(false, &set, &["pll_language"]), None);
    assert_eq!(refused_of(false, &set, &["pll_*"]), None);
    assert_eq!(refused_of(false, &set, &[]), Some(StoreRefusal::SetCookie));
    assert_eq!(refused_of(false, &set, &["pll_lang"]), Some(StoreRefusal::SetCookie));
    assert_eq!(
        refused_of(false, &set, &["PLL_LANGUAGE"]),
        Some(StoreRefusal::SetCookie),
        "names have a case"
    );
}

#[test]
fn single_unlisted_cookie_prevents_storing() {
    let both = [("Set-Cookie", "pll_language=en"), ("Set-Cookie", "token=1")];
    assert_eq!(refused_of(false, &both, &["pll_language"]), Some(StoreRefusal::SetCookie));
    let reversed = [both[1], both[0]];
    assert_eq!(refused_of(false, &reversed, &["pll_language"]), Some(StoreRefusal::SetCookie));
    let unnamed = [("Set-Cookie", "=pll_language"), ("Set-Cookie", "")];
    assert_eq!(refused_of(false, &unnamed, &["pll_language"]), Some(StoreRefusal::SetCookie));
}

#[test]
fn response_to_request_with_cookies_is_not_stored() {
    let set = [("Set-Cookie", "pll_language=en")];
    assert_eq!(refused_of(true, &set, &["pll_language"]), Some(StoreRefusal::SetCookie));
}

#[test]
fn neither_a_session_nor_private_is_stored_whatever_is_listed() {
    let session = [("Set-Cookie", "PHPSESSID=1")];
    assert_eq!(refused_of(false, &session, &["PHPSESSID", "PHP*"]), Some(StoreRefusal::PersonalCookie));
    let private = [("Set-Cookie", "pll_language=en"), ("Cache-Control", "private")];
    assert_eq!(refused_of(false, &private, &["pll_language"]), Some(StoreRefusal::Private));
    let no_store = [("Set-Cookie", "pll_language=en"), ("Cache-Control", "no-store")];
    assert_eq!(refused_of(false, &no_store, &["pll_language"]), Some(StoreRefusal::CacheControl));
}
