use super::*;
use myriad_http::Fields;

fn tags(fields: &[(&str, &str)]) -> Vec<String> {
    let fields: Fields = fields.iter().copied().collect();
    Tags::of(&fields).names().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn asked(target: &str, fields: &[(&str, &str)], judge: impl Fn(Wanted<'_>)) {
    let fields: Fields = fields.iter().copied().collect();
    judge(wanted(target.as_bytes(), &fields));
}

fn covers(pattern: &str, url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, target) = rest.split_at(rest.find('/').unwrap());
    let subject = Subject::new(scheme.as_bytes(), host.as_bytes(), target.as_bytes());
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
    assert!(tags.labels().any(|label| label == OVERFLOWN));
    let one = "x".repeat(100_000);
    let fields: Fields = [("xkey", one.as_str())].into_iter().collect();
    let tags = Tags::of(&fields);
    assert_eq!((tags.names().count(), tags.is_empty()), (0, false));
    assert_eq!(tags.labels().collect::<Vec<_>>(), [OVERFLOWN]);
    assert!(!Tags::parse(b"a b").labels().any(|label| label == OVERFLOWN));
}

#[test]
fn label_of_a_url_tells_host_path_and_query_but_no_scheme() {
    let label = |scheme: &str, host: &str, target: &str| {
        Subject::new(scheme.as_bytes(), host.as_bytes(), target.as_bytes()).label()
    };
    let page = label("http", "a", "/x");
    assert_eq!(page, label("https", "a", "/x"));
    assert_eq!(page, label("http", "a", "/x?"));
    for other in
        [label("http", "b", "/x"), label("http", "a", "/x/"), label("http", "a", "/x?y"), tag_label(b"a/x")]
    {
        assert_ne!(page, other);
    }
    assert_ne!(label("http", "a", "/x?y"), label("http", "a", "/xy"));
    assert_ne!(label("http", "ab", "/"), label("http", "a", "b/"));
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
fn plugins_are_understood() {
    asked("/post/?x=1", &[("X-Purge-Method", "default")], |wanted| assert_eq!(wanted, Wanted::Url));
    asked("/post/", &[], |wanted| assert_eq!(wanted, Wanted::Url));
    asked("/.*", &[("X-Purge-Method", "regex")], |wanted| assert_eq!(wanted, Wanted::Regex(b"/.*")));
    asked("/.*", &[], |wanted| assert_eq!(wanted, Wanted::Regex(b"/.*")));
    asked("/a/*", &[], |wanted| assert_eq!(wanted, Wanted::Prefix(b"/a/")));
    asked("/a/*", &[("X-Purge-Method", "exact")], |wanted| assert_eq!(wanted, Wanted::Url));
    asked("/purgeall", &[], |wanted| assert_eq!(wanted, Wanted::Host));
    asked("/", &[("X-Purge-Method", "all of it")], |wanted| assert_eq!(wanted, Wanted::Unknown));
    asked("/", &[("Surrogate-Key", "a b")], |wanted| assert_eq!(wanted, Wanted::Tags(Tags::parse(b"a b"))));
    let by_pattern = |pattern| [("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", pattern)];
    asked("/", &by_pattern("p-12|t-5"), |wanted| assert_eq!(wanted, Wanted::Tags(Tags::parse(b"p-12 t-5"))));
    asked("/", &by_pattern("p-1[0-9]"), |wanted| assert_eq!(wanted, Wanted::TagRegex(b"p-1[0-9]")));
}

#[test]
fn soft_and_forwarded_are_told_by_fields() {
    let fields = |name: &str, value: &str| -> Fields { [(name, value)].into_iter().collect() };
    assert!(is_soft(&fields("Fastly-Soft-Purge", "1")));
    assert!(!is_soft(&fields("X-Soft-Purge", "0")));
    for name in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"] {
        assert!(is_forwarded(&fields(name, "")), "{name}");
    }
    assert!(!is_forwarded(&fields("X-Forwarded-Proto", "https")));
}
