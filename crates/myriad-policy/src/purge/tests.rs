use super::*;
use myriad_http::Fields;

fn tags(fields: &[(&str, &str)]) -> Vec<String> {
    let fields: Fields = fields.iter().copied().collect();
    Tags::of(&fields).names().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn asked(target: &str, fields: &[(&str, &str)]) -> Result<PurgeTarget, &'static str> {
    let fields: Fields = fields.iter().copied().collect();
    parse_purge(target.as_bytes(), b"example.org", &fields).map(|command| command.what)
}

fn url(target: &str) -> PurgeTarget {
    PurgeTarget::Url { host: (*b"example.org").into(), target: target.as_bytes().into() }
}

fn covers(pattern: &str, url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, target) = rest.split_at(rest.find('/').unwrap());
    let subject = PurgeSubject::new(scheme.as_bytes(), host.as_bytes(), target.as_bytes());
    Wildcard::parse(pattern.as_bytes(), b"Example.org").covers(&subject)
}

#[test]
fn tags_come_from_all_their_fields_with_blanks_or_commas() {
    let fields = [
        ("Surrogate-Key", "post-1  home"),
        ("Cache-Tag", "a, b,c d"),
        ("xkey", "home x"),
        ("xkey", "y"),
        ("X-Cache-Tags", "site-1,p-12"),
        ("X-LiteSpeed-Tag", "T1"),
    ];
    assert_eq!(tags(&fields), ["post-1", "home", "a", "b", "c", "d", "x", "y", "site-1", "p-12", "T1"]);
    assert!(tags(&[("Surrogate-Key", " , ,\t")]).is_empty());
}

#[test]
fn tags_beyond_the_bounds_leave_a_page_that_any_tag_covers() {
    let long = (0..20_000).map(|n| format!("t{n}")).collect::<Vec<_>>().join(" ");
    let fields: Fields = [("Surrogate-Key", long.as_str())].into_iter().collect();
    let tags = Tags::of(&fields);
    assert_eq!(tags.names().count(), 512);
    assert!(tags.is_truncated());
    let one = "x".repeat(100_000);
    let fields: Fields = [("xkey", one.as_str())].into_iter().collect();
    let tags = Tags::of(&fields);
    assert_eq!((tags.names().count(), tags.is_empty()), (0, false));
    assert!(tags.is_truncated() && !Tags::parse(b"a b").is_truncated());
}

#[test]
fn url_label_covers_host_path_and_query_without_scheme() {
    let label = |host: &str, target: &str| {
        PurgeSubject::new(b"http", host.as_bytes(), target.as_bytes()).label_to_purge()
    };
    let page = label("a", "/x");
    assert_eq!(page, PurgeSubject::new(b"https", b"a", b"/x").label_to_purge());
    assert_eq!(page, label("a", "/x?"));
    for other in [label("b", "/x"), label("a", "/x/"), label("a", "/x?y"), Tags::label(b"a/x")] {
        assert_ne!(page, other);
    }
    assert_ne!(label("a", "/x?y"), label("a", "/xy"));
    assert_ne!(label("ab", "/"), label("a", "b/"));
}

#[test]
fn page_with_a_query_bears_the_label_of_its_path_too() {
    let page = PurgeSubject::new(b"http", b"a", b"/x?y=1");
    assert_eq!(page.path_label(), PurgeSubject::new(b"http", b"a", b"/x").label_to_purge());
    assert_eq!(page.query_label(), Some(PurgeSubject::new(b"http", b"a", b"/x?y=1").label_to_purge()));
    assert_ne!(page.query_label(), Some(PurgeSubject::new(b"http", b"a", b"/x?y=2").label_to_purge()));
}

#[test]
fn ways_to_write_a_path_have_one_label() {
    let label = |target: &str| PurgeSubject::new(b"http", b"a", target.as_bytes()).label_to_purge();
    for target in ["/caf%c3%a9/", "/caf%C3%A9/", "//caf%C3%A9/", "/x/../caf%C3%A9/", "/./%63af%C3%A9/"] {
        assert_eq!(label(target), label("/caf\u{e9}/"), "{target}");
    }
    // Invalid paths are distinguished as well.
    assert_ne!(label("/%zz"), label("/%zy"));
}

#[test]
fn wildcard_is_of_the_host_that_was_asked_unless_it_names_one() {
    assert!(covers("/news/*", "https://example.org/news/2024/a?x=1"));
    assert!(!covers("/news/*", "https://example.net/news/2024"));
    assert!(covers("*.example.net/news/*", "http://www.example.net/news/"));
    assert!(covers("HTTPS://example.net/*", "https://example.net/"));
    assert!(!covers("https://example.net/*", "http://example.net/"));
    assert!(covers("*", "http://any/where?x"));
    assert!(covers("example.net", "http://example.net/where"));
    assert!(!covers("example.net", "http://www.example.net/where"));
}

#[test]
fn wildcard_without_a_query_covers_any() {
    assert!(covers("/shop", "http://example.org/shop?color=red"));
    assert!(covers("/shop?color=*", "http://example.org/shop?color=red"));
    assert!(!covers("/shop?color=*", "http://example.org/shop"));
    assert!(!covers("/shop", "http://example.org/shop/"));
}

#[test]
fn stars_anywhere_and_many_of_them() {
    for (pattern, path, fits) in [
        ("/*a*b", "/xxaxxb", true),
        ("/*a*b", "/xxaxxbc", false),
        ("/a**", "/a", true),
        ("/*.css", "/x.css.css", true),
        ("/a*a", "/a", false),
        ("/[x]", "/[x]", true),
    ] {
        assert_eq!(covers(pattern, &format!("http://example.org{path}")), fits, "{pattern} {path}");
    }
    let long = format!("http://example.org/{}", "a".repeat(4000));
    assert!(!covers(&format!("/{}b", "a*".repeat(1000)), &long));
}

#[test]
fn wildcard_covers_however_a_path_is_written() {
    assert!(covers("/caf%c3%a9/*", "http://example.org/caf%C3%A9/x"));
    assert!(covers("/news/*", "http://example.org//news/x"));
    assert!(covers("//news/*", "http://example.org//news/x"));
}

#[test]
fn plugins_are_understood() {
    let regex = |pattern: &str| PurgeTarget::regex(Some(b"example.org"), pattern.as_bytes());
    let wildcard =
        |pattern: &str| Ok(PurgeTarget::Wildcard(Wildcard::parse(pattern.as_bytes(), b"example.org")));
    let tags = |list: &str| Ok(PurgeTarget::Tags(Tags::parse(list.as_bytes())));
    assert_eq!(asked("/post/?x=1", &[("X-Purge-Method", "default")]), Ok(url("/post/?x=1")));
    assert_eq!(asked("/post/", &[]), Ok(url("/post/")));
    assert_eq!(asked("/.*", &[("X-Purge-Method", "regex")]), regex("^(?:/.*)"));
    assert_eq!(asked("/.*", &[]), regex("^(?:/.*)"));
    assert_eq!(asked("/x", &[("X-Purge-Regex", "^/a/.*$")]), regex("^/a/.*$"));
    assert_eq!(asked("/x", &[("X-VC-Purge-Method", "regex")]), regex("^(?:/x)"));
    assert_eq!(asked("/a/*", &[]), wildcard("/a/*"));
    assert_eq!(asked("/a/*", &[("X-Purge-Method", "exact")]), Ok(url("/a/*")));
    assert_eq!(asked("/purgeall", &[]), Ok(PurgeTarget::Host((*b"example.org").into())));
    assert!(asked("/", &[("X-Purge-Method", "all of it")]).is_err());
    for name in ["Surrogate-Key", "Cache-Tag", "xkey", "xkey-purge", "X-Cache-Tags"] {
        assert_eq!(asked("/", &[(name, "a b")]), tags("a b"), "{name}");
    }
    let by_pattern = |pattern| [("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", pattern)];
    assert_eq!(asked("/", &by_pattern("p-12|t-5")), tags("p-12 t-5"));
    assert_eq!(asked("/", &by_pattern("p-1[0-9]")), PurgeTarget::tag_regex(b"p-1[0-9]"));
    assert!(asked("/", &[("X-Purge-Method", "tags")]).is_err());
    for name in ["Surrogate-Key", "xkey-purge", "xkey-softpurge"] {
        assert_eq!(asked("/", &[(name, "a"), (name, "b c")]), tags("a b c"), "all fields {name}");
    }
    for name in ["X-Purge-Regex", "X-Cache-Tags-Pattern"] {
        for method in ["tags", "regex"] {
            let fields = [("X-Purge-Method", method), (name, "a"), (name, "b")];
            let is_read = (method == "tags") == (name == "X-Cache-Tags-Pattern");
            assert_eq!(
                asked("/", &fields) == Err("X-Purge-Regex or X-Cache-Tags-Pattern is repeated"),
                is_read
            );
        }
    }
}

#[test]
fn patterns_and_tags_of_a_purge_are_bounded() {
    assert!(asked("/", &[("xkey", &"a".repeat(20_000))]).is_err());
    let many = (0..513).map(|tag| tag.to_string()).collect::<Vec<_>>().join(" ");
    for name in ["xkey", "xkey-purge", "Surrogate-Key"] {
        assert!(asked("/", &[(name, &many)]).is_err(), "{name}");
        assert!(asked("/", &[("X-Purge-Method", "tags"), (name, &many)]).is_err(), "{name}");
    }
    assert!(PurgeTarget::regex(None, &[b'a'; 4096]).is_ok());
    assert!(PurgeTarget::regex(None, &[b'a'; 4097]).is_err());
    assert!(PurgeTarget::tag_regex(b"\xff").is_err());
}

#[test]
fn url_is_read_with_and_without_its_parts() {
    for (text, target) in [
        ("https://Example.org:8443/a?b#c", "/a?b"),
        ("example.org/a", "/a"),
        ("http://example.org", "/"),
        ("http://example.org?b", "/?b"),
        ("example.org/?next=https://other.test/", "/?next=https://other.test/"),
    ] {
        assert_eq!(PurgeTarget::url(text.as_bytes()), Some(url(target)), "{text}");
    }
    assert_eq!(PurgeTarget::url(b"/a"), None);
    assert_eq!(PurgeTarget::url(b""), None);
}

#[test]
fn litespeed_purges_of_an_answer() {
    let read = |value: &str| {
        let mut out = Vec::new();
        litespeed(value.as_bytes(), b"example.org", &mut out);
        out
    };
    let tags =
        |list: &str, soft| PurgeCommand { what: PurgeTarget::Tags(Tags::parse(list.as_bytes())), soft };
    assert_eq!(read("*"), [PurgeCommand::hard(PurgeTarget::Host((*b"example.org").into()))]);
    assert_eq!(read("private, *"), []);
    assert_eq!(read("tag=a, tag=b"), [tags("a b", false)]);
    assert_eq!(read("a,b"), [tags("a b", false)]);
    assert_eq!(read("public,stale,tag=a;private,tag=b"), [tags("a", true)]);
    assert_eq!(read("/x, tag=a"), [PurgeCommand::hard(url("/x")), tags("a", false)]);
    assert_eq!(read(&"/x,".repeat(1000)).len(), 256);
}

#[test]
fn purge_as_bytes_comes_back_and_damage_is_refused() {
    let mut all = vec![
        url("/x?y"),
        PurgeTarget::regex(None, b"^/a").unwrap(),
        PurgeTarget::regex(Some(b"h"), b"^/a").unwrap(),
        PurgeTarget::Tags(Tags::parse(b"a b")),
        PurgeTarget::tag_regex(b"a|b").unwrap(),
        PurgeTarget::KeyPrefix((*b"k\0k").into()),
        PurgeTarget::Host((*b"h").into()),
        PurgeTarget::All,
    ];
    for pattern in ["*", "/a?*", "https://*.b/c*", "h/"] {
        all.push(PurgeTarget::Wildcard(Wildcard::parse(pattern.as_bytes(), b"example.org")));
    }
    for (what, soft) in all.into_iter().zip([true, false].into_iter().cycle()) {
        let command = PurgeCommand { what, soft };
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(PurgeCommand::decode(&bytes), Some(command.clone()));
        assert_eq!(PurgeCommand::decode(&[&bytes[..], b"x"].concat()), None);
        for length in 0..bytes.len() {
            assert_eq!(PurgeCommand::decode(&bytes[..length]), None, "{command:?}");
        }
    }
}

#[test]
fn keys_as_bytes_come_back() {
    for keys in [vec![], vec![b"a"[..].into()], vec![b"a"[..].into(), b""[..].into()]] {
        let command = PurgeCommand::hard(PurgeTarget::Keys(keys));
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(PurgeCommand::decode(&bytes), Some(command));
    }
}

#[test]
fn any_bytes_are_a_purge_or_refused() {
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..12)).collect();
        if let Some(command) = PurgeCommand::decode(&bytes) {
            let mut again = Vec::new();
            command.encode(&mut again);
            assert_eq!(PurgeCommand::decode(&again), Some(command), "{seed}");
        }
        let alphabet = b"/*?;,= a:tagpublicstale";
        let text: Vec<u8> =
            (0..random.usize(..40)).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
        litespeed(&text, b"h", &mut Vec::new());
        Wildcard::parse(&text, b"h").covers(&PurgeSubject::new(b"http", b"h", &text));
        PurgeTarget::url(&text);
    }
}

#[test]
fn soft_and_forwarded_purges_are_detected_by_fields() {
    let fields = |name: &str, value: &str| -> Fields { [(name, value)].into_iter().collect() };
    let soft = |name, value| parse_purge(b"/", b"h", &fields(name, value)).unwrap().soft;
    assert!(soft("Fastly-Soft-Purge", "1") && soft("X-Soft-Purge", "1") && soft("xkey-softpurge", "a"));
    assert!(!soft("X-Soft-Purge", "0"));
    for name in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "x-forwarded-proto", "CF-Connecting-IP"]
    {
        assert!(is_forwarded(&fields(name, "")), "{name}");
    }
    assert!(!is_forwarded(&fields("X-Forward", "https")));
}

#[test]
fn a_target_that_is_no_url_is_a_regex() {
    let sitemaps = r"/([a-z0-9_\-]*?)sitemap([a-z0-9_\-]*)?\.(?:xml|xsl)";
    let pattern = format!("^(?:{sitemaps})");
    let regex =
        |pattern: &str| PurgeTarget::Regex { host: Some((*b"example.org").into()), pattern: pattern.into() };
    assert_eq!(asked(sitemaps, &[]), Ok(regex(&pattern)));
    assert_eq!(asked("/a[b](c)?d=[e]", &[]), Ok(url("/a[b](c)?d=[e]")));
    assert_eq!(asked(sitemaps, &[("X-Purge-Method", "exact")]), Ok(url(sitemaps)));
}
