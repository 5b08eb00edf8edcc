use super::*;

fn found<'a>(cookies: &PersonalCookies, value: &'a str) -> Option<&'a str> {
    cookies.matches_cookie_header(value.as_bytes()).map(|name| std::str::from_utf8(name).unwrap())
}

const PERSONAL: &[&str] = &[
    "wordpress_logged_in_0123456789abcdef0123456789abcdef",
    "wordpress_logged_in",
    "wordpress_sec_0123456789abcdef0123456789abcdef",
    "wordpress_0123456789abcdef0123456789abcdef",
    "wordpress_no_cache",
    "wp-postpass_0123456789abcdef0123456789abcdef",
    "wp-resetpass-0123456789abcdef0123456789abcdef",
    "comment_author_0123456789abcdef0123456789abcdef",
    "comment_author_email_0123456789abcdef0123456789abcdef",
    "woocommerce_items_in_cart",
    "woocommerce_cart_hash",
    "wp_woocommerce_session_0123456789abcdef0123456789abcdef",
    "edd_items_in_cart",
    "wptouch_switch_toggle",
    "wptouch_switch_toogle",
    "PHPSESSID",
    "NO_CACHE",
    "bp_x",
    "SimpleSAMLSessionID",
    "duo_x",
    "JSESSIONID",
    "ASP.NET_SessionId",
    "connect.sid",
    "koa:sess.sig",
    "_shop_session",
    "sb-abc-auth-token",
];

const SHARED: &[&str] = &[
    "wordpress_test_cookie",
    "_session",
    "_shop_sessions",
    "shop_session_seen",
    "sb-auth-token",
    "mysid",
    "wordpress_",
    "wordpress_0123xyz",
    "wordpress",
    "xwordpress_logged_in_1",
    "woocommerce_items_in_cart2",
    "woocommerce_recently_viewed",
    "wp-settings-time-1",
    "phpsessid",
    "PHPSESSID2",
    "NO_CACHES",
    "_ga",
    "_gid",
    "bp",
    "tk_ai",
    "",
];

/// Cookie value that contains personal names; only names of cookies must be compared.
const TRAP: &str = "wordpress_logged_in_1,PHPSESSID=\"NO_CACHE\" comment_author_1&x=PHPSESSID";

#[test]
fn each_personal_name_is_found_wherever_it_stands() {
    let cookies = PersonalCookies::builtin();
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut pairs: Vec<String> = (0..random.usize(0..8))
            .map(|_| {
                format!("{}={}", SHARED[random.usize(..SHARED.len())], if random.bool() { TRAP } else { "" })
            })
            .collect();
        let separator = if random.bool() { "; " } else { ";" };
        assert_eq!(found(&cookies, &pairs.join(separator)), None, "seed {seed}: {pairs:?}");
        let name = PERSONAL[random.usize(..PERSONAL.len())];
        let value = ["=", "", "=0", "=a=b"][random.usize(..4)];
        pairs.insert(random.usize(0..=pairs.len()), format!("{name}{value}"));
        assert_eq!(found(&cookies, &pairs.join(separator)), Some(name), "seed {seed}: {pairs:?}");
    }
}

#[test]
fn test_cookie_is_impersonal_but_not_next_to_session() {
    let cookies = PersonalCookies::builtin();
    assert_eq!(found(&cookies, "wordpress_test_cookie=WP%20Cookie%20check"), None);
    assert_eq!(found(&cookies, "wordpress_test_cookie=1; PHPSESSID=2"), Some("PHPSESSID"));
}

#[test]
fn names_are_read_as_php_reads_them() {
    let cookies = PersonalCookies::builtin();
    for name in [
        "wordpress.logged.in_0123",
        "wordpress logged in_0123",
        "wordpress[logged_in_0123",
        "comment%5fauthor_0123",
        "%50HPSESSID",
        "%20PHPSESSID",
        "PHPSESSID[]",
        "NO.CACHE[a]",
    ] {
        assert_eq!(found(&cookies, &format!("a=b; {name}=1")), Some(name), "{name}");
    }
    for before in [" ", "\t", "\u{b}", " \t "] {
        assert_eq!(found(&cookies, &format!("a=b;{before}PHPSESSID=1")), Some("PHPSESSID"));
        assert_eq!(found(&cookies, &format!("{before}PHPSESSID=1")), Some("PHPSESSID"));
    }
    for name in ["%", "%5", "%zz", "%50", "PHPSESSID%"] {
        assert_eq!(found(&cookies, &format!("{name}=1")), None, "{name}");
    }
}

#[test]
fn a_set_cookie_counts_by_its_name_only_also_when_it_deletes() {
    let cookies = PersonalCookies::builtin();
    for name in PERSONAL {
        for tail in ["=1; Path=/", "=; Max-Age=0", "", "=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT"] {
            let value = format!(" {name}{tail}");
            assert_eq!(cookies.matches_set_cookie(value.as_bytes()), Some(name.as_bytes()), "{value}");
        }
    }
    for name in SHARED {
        let value = format!("{name}=PHPSESSID; PHPSESSID=1; NO_CACHE");
        assert_eq!(cookies.matches_set_cookie(value.as_bytes()), None, "{value}");
    }
    assert_eq!(cookies.matches_set_cookie(b""), None);
}

#[test]
fn names_of_the_configuration_add_to_the_list_or_stand_alone() {
    let added = PersonalCookies::new(true, ["member*", "cart"]);
    assert_eq!(found(&added, "member_of=1"), Some("member_of"));
    assert_eq!(found(&added, "PHPSESSID=1"), Some("PHPSESSID"));
    let alone = PersonalCookies::new(false, ["cart", ""]);
    assert_eq!(found(&alone, "cart=1"), Some("cart"));
    assert_eq!(found(&alone, "carts=1; PHPSESSID=1"), None);
    let all = PersonalCookies::new(false, ["*"]);
    assert_eq!(found(&all, "anything=1"), Some("anything"));
    assert_eq!(found(&all, ""), None);
}

#[test]
fn off_finds_nothing_and_a_cookie_of_the_key_is_taken_out_alone() {
    let off = PersonalCookies::none();
    assert!(off.is_empty() && !PersonalCookies::builtin().is_empty());
    let some = PersonalCookies::builtin().without("PHPSESSID");
    for name in PERSONAL {
        let pair = format!("{name}=1");
        assert_eq!(found(&off, &pair), None);
        assert_eq!(found(&some, &pair).is_some(), *name != "PHPSESSID", "{name}");
    }
}

#[test]
fn comments_and_blank_lines_of_a_list_are_no_patterns() {
    let cookies = PersonalCookies::parse("# PHPSESSID\n\n  \n a* # b*\r\nc[a-f0-9]+\n");
    for (pair, expected) in [
        ("PHPSESSID=1", None),
        ("b=1", None),
        ("abc=1", Some("abc")),
        ("c0f=1", Some("c0f")),
        ("c=1", None),
        ("cF=1", None),
    ] {
        assert_eq!(found(&cookies, pair), expected, "{pair}");
    }
}

#[test]
fn one_star_is_inside_a_name_and_exceptions_follow() {
    let cookies = PersonalCookies::parse("_*_session !_gd_session !_b.c_session # a session\n");
    for (pair, expected) in [
        ("_shop_session=1", Some("_shop_session")),
        ("_gd_session_session=1", Some("_gd_session_session")),
        ("_gd_session=1", None),
        ("_b_c_session=1", None),
        ("_shop_sessions=1", None),
    ] {
        assert_eq!(found(&cookies, pair), expected, "{pair}");
    }
    assert!(cookies.without("_*_session").is_empty());
    assert_eq!(found(&PersonalCookies::builtin(), "_gd_session=1"), None);
    assert_eq!(
        found(&PersonalCookies::builtin().with(["_gd_session"]), "_gd_session=1"),
        Some("_gd_session")
    );
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    let cookies = PersonalCookies::builtin();
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let alphabet = b"w%5f;= \t[]._PHPSESSID\x00\xff";
        let value: Vec<u8> =
            (0..random.usize(0..40)).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
        let _ = (cookies.matches_cookie_header(&value), cookies.matches_set_cookie(&value));
    }
}
