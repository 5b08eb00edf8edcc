use super::*;

fn fields(list: &[(&str, &str)]) -> Fields {
    list.iter().copied().collect()
}

fn rule(names: &str) -> VaryRule {
    VaryRule::parse([names.as_bytes()]).expect("few names")
}

fn on() -> SharedFetch {
    SharedFetch { on: true, ..SharedFetch::default() }
}

fn sent_lines(shared: &SharedFetch, request: &Fields, varies: &VaryRule) -> Vec<String> {
    let sent = shared.fields_for_origin(request, false, varies, false).expect("another request");
    sent.fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn agent(class: DeviceClass) -> String {
    format!("User-Agent: {}", text(class.user_agent()))
}

#[test]
fn nothing_goes_but_what_is_listed() {
    let request = fields(&[
        ("Host", "a.test"),
        ("X-Forwarded-Host", "evil.test"),
        ("CF-IPCountry", "XX"),
        ("Accept-Language", "de"),
        ("Cookie", "a=b"),
        ("Content-Type", "application/json"),
        ("User-Agent", "sqlmap"),
        ("Sec-CH-UA-Mobile", "?1"),
    ]);
    assert_eq!(sent_lines(&on(), &request, &rule("")), ["Host: a.test", &agent(DeviceClass::Desktop)]);
    let body = on().fields_for_origin(&request, true, &rule(""), false).expect("another request");
    assert!(body.fields.has(Known::ContentType) && !body.fields.has(Known::Cookie));
    assert!(SharedFetch::default().fields_for_origin(&request, false, &rule(""), false).is_none());
}

#[test]
fn what_makes_a_variant_may_go_but_never_a_cookie() {
    let request = fields(&[("X-Theme", "dark"), ("Cookie", "a=b"), ("Accept-Language", "de;q=0.1,en;q=0.2")]);
    let varies = rule("x-theme, cookie, accept-language, x-absent");
    let all = on().fields_for_origin(&request, false, &varies, false).expect("another request");
    let names: Vec<_> = all.varies.names().map(text).collect();
    assert_eq!(names, ["accept-language", "x-theme"], "the answer varies by what was told");
    assert_eq!(
        sent_lines(&on(), &request, &varies),
        ["X-Theme: dark", "Accept-Language: en,de;q=0.95", &agent(DeviceClass::Desktop)]
    );
    let mut variants = [Vec::new(), Vec::new()];
    let rule = rule("accept-language, x-theme, x-absent");
    rule.write_variant(&request, &mut variants[0]).expect("short");
    rule.write_variant(&all.fields, &mut variants[1]).expect("short");
    assert_eq!(variants[0], variants[1], "the page is stored where this visitor looks for it");
}

#[test]
fn what_the_key_holds_goes_as_the_key_has_it() {
    let request = fields(&[
        ("Cookie", "_ga=1; Currency=EUR; x=<script>; lang=DE"),
        ("Accept-Language", "de-AT"),
        ("X-Team", "red"),
    ]);
    let keyed = |cookie, name: &str, values: &[&str]| KeyedInput {
        cookie,
        name: name.as_bytes().into(),
        values: values.iter().map(|value| value.as_bytes().into()).collect(),
    };
    let shared = SharedFetch {
        cookies: vec![(*b"currency").into()],
        fields: vec![(*b"x-team").into()],
        keyed: vec![
            keyed(false, "Accept-Language", &["en", "de"]),
            keyed(false, "X-Empty", &[]),
            keyed(true, "lang", &["en", "de"]),
            keyed(true, "x", &["y"]),
        ],
        ..on()
    };
    let values: Vec<_> = shared.keyed.iter().map(|input| input.value(&request)).collect();
    assert_eq!(values, [&b"de"[..], b"", b"de", b""]);
    let sent = shared.fields_for_origin(&request, false, &rule("accept-language"), false).expect("another");
    let lines: Vec<_> = sent.fields.iter().map(|(name, value)| (text(name), text(value))).collect();
    let desktop = text(DeviceClass::Desktop.user_agent());
    assert_eq!(
        lines,
        [
            ("X-Team", "red"),
            ("Accept-Language", "de"),
            ("Cookie", "currency=EUR; lang=de"),
            ("User-Agent", desktop)
        ]
    );
    assert!(shared.hides_cookies(&request));
    assert!(!SharedFetch { fields: vec![(*b"cookie").into()], ..on() }.hides_cookies(&request));
}

#[test]
fn representative_browser_is_sent_where_device_class_matters() {
    let phone = fields(&[("User-Agent", "evil Mobile"), ("Sec-CH-UA-Mobile", "?0")]);
    let mobile = agent(DeviceClass::Mobile);
    assert_eq!(sent_lines(&on(), &phone, &rule(":device")), [&*mobile, "sec-ch-ua-mobile: ?0"]);
    assert_eq!(sent_lines(&SharedFetch { device: true, ..on() }, &phone, &rule("")), [mobile]);
    assert_eq!(sent_lines(&on(), &phone, &rule("")), [agent(DeviceClass::Desktop)]);
    assert_eq!(sent_lines(&on(), &phone, &rule("user-agent")), ["User-Agent: evil Mobile"]);
    // With `shared_fetch_headers off`, only the device class replaces `User-Agent`.
    let sent =
        SharedFetch::default().fields_for_origin(&phone, false, &rule(""), true).expect("another request");
    assert_eq!(sent.fields.known(Known::UserAgent), Some(DeviceClass::Desktop.user_agent()));
}

#[test]
fn cookies_in_the_key_are_listed_in_any_order_but_the_first_of_a_name_stays_first() {
    let keyed = ["size", "currency"].map(|name| KeyedInput {
        cookie: true,
        name: name.as_bytes().into(),
        values: vec![(*b"one").into(), (*b"two").into()],
    });
    let shared = SharedFetch { keyed: keyed.into(), ..on() };
    for (cookies, expected) in [
        (vec!["size=two; x=y", "currency=one"], vec!["currency=one", "size=two"]),
        (
            vec!["currency=two; currency=one;; size=one; size=one"],
            vec!["currency=two", "currency=one", "size=one"],
        ),
        (vec!["size=three"], vec![]),
    ] {
        let request = fields(&cookies.iter().map(|cookies| ("Cookie", *cookies)).collect::<Vec<_>>());
        let pairs: Vec<_> = shared.keyed_pairs(&request).into_iter().map(text).collect();
        assert_eq!(pairs, expected, "{cookies:?}");
    }
}
