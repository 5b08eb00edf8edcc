//! Values of a request that belong to its visitor.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;
use myriad_http::{Fields, Known};

use super::encodings::{MAX_LENGTH, MIN_LENGTH, encoded_forms};
use crate::percent::{form_decoded, percent_decoded};

/// Maximum number of values of a request that are searched for. Browsers with the cookies of many services have some
/// 30.
const MAX_VALUES: usize = 96;
/// Minimum length in bytes of a `User-Agent` that is searched for.
const MIN_BROWSER_LENGTH: usize = 24;
/// Parts of names of arguments whose values are secrets.
const SECRET_NAMES: [&[u8]; 10] = [
    b"token",
    b"secret",
    b"session",
    b"sid",
    b"auth",
    b"password",
    b"passwd",
    b"apikey",
    b"api_key",
    b"signature",
];
/// Words that are no data of a visitor, such as choices of consent in cookies: built-in list, sorted.
static PUBLIC_WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut words: Vec<&str> = include_str!("public_values.list")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    words.sort_unstable();
    words
});

/// Origin of a value that must not occur in a shared page, or sign of a page for one visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeakKind {
    /// Value of a cookie of the request.
    Cookie,
    /// Credentials in `Authorization`.
    Credentials,
    /// Query argument with a secret or an email address.
    Argument,
    /// Name in the subject of the client certificate.
    Certificate,
    /// Address of the client.
    Address,
    /// `User-Agent` of the request.
    UserAgent,
    /// Value of a cookie that the response sets.
    NewCookie,
    /// Token of a form, if the request or the response has a session cookie.
    FormToken,
    /// Page for a visitor who is logged in: an administration bar, or the class `logged-in` of WordPress.
    LoggedIn,
}

impl LeakKind {
    /// Returns the kind in words, for messages: `value of the request's cookie`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cookie => "value of the request's cookie",
            Self::Credentials => "credentials of the request",
            Self::Argument => "value of the query argument",
            Self::Certificate => "subject of the client certificate",
            Self::Address => "client address",
            Self::UserAgent => "User-Agent of the request",
            Self::NewCookie => "value of the new cookie",
            Self::FormToken => "token of a form for the session",
            Self::LoggedIn => "sign of a logged-in visitor",
        }
    }
}

/// Value that belongs to one visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateValue {
    /// Kind of the value, by its source in the request or response.
    pub kind: LeakKind,
    /// Name of the cookie or argument; empty for other kinds.
    pub name: Box<[u8]>,
    /// Value without encoding: at least 8 bytes, and at most the first 64.
    pub value: Box<[u8]>,
}

impl PrivateValue {
    /// Returns whether a text contains the value, directly or in one of the encodings of [`encoded_forms`] (such as
    /// percent-encoding, HTML entities, JSON or base64).
    pub fn occurs_in(&self, text: &[u8]) -> bool {
        let has = |text: &[u8]| {
            encoded_forms(&self.value).iter().any(|form| memmem::find(text, &form.bytes).is_some())
        };
        has(text) || has(&form_decoded(text))
    }
}

/// Subject of a client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateSubject {
    /// Common name and email addresses.
    pub names: Vec<Vec<u8>>,
    /// Texts in which an origin may get the subject (`$ssl_client_s_dn`, `$ssl_client_s_dn_legacy`).
    pub texts: Vec<String>,
}

/// Values of a request that must not occur in a shared page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateValues {
    /// Values, at most 96.
    pub list: Vec<PrivateValue>,
    /// False if the request has more values. A search for those in the list then proves nothing.
    pub is_complete: bool,
}

/// Request whose response may be stored and shared.
#[derive(Clone, Copy, Debug)]
pub struct PrivateInput<'a> {
    /// Header fields of the client.
    pub fields: &'a Fields,
    /// Query string, without `?`.
    pub arguments: &'a [u8],
    /// Address of the client; `None` if it is unknown.
    pub client: Option<IpAddr>,
    /// Subject of the client's certificate; `None` without one.
    pub certificate: Option<&'a CertificateSubject>,
    /// Request head as sent to the origin, in the encoding of its protocol. Values that it does not contain are not
    /// searched for, except names in a client certificate that it contains in another form.
    pub sent: &'a [u8],
    /// Cache key: visitors with different values in the key share no page.
    pub key: &'a [u8],
}

/// Returns the values of a request that belong to its visitor, that the origin has received, and that the cache key
/// does not contain.
pub fn private_values(input: &PrivateInput<'_>) -> PrivateValues {
    let found = PrivateValues { list: Vec::new(), is_complete: true };
    let mut values = ValueCollector { input, key: form_decoded(input.key), found };
    for (name, value) in input.fields.cookie_pairs().filter_map(split_pair) {
        values.add_decoded(LeakKind::Cookie, name, value.trim_ascii(), true);
    }
    for (name, value) in input.arguments.split(|byte| *byte == b'&').filter_map(split_pair) {
        let is_secret = is_secret_name(name) || looks_like_secret(&form_decoded(value));
        values.add_decoded(LeakKind::Argument, name, value, is_secret);
    }
    if let Some(credentials) = input.fields.known(Known::Authorization) {
        values.add_credentials(credentials);
    }
    if let Some(subject) = input.certificate {
        values.add_certificate(subject);
    }
    if let Some(address) = input.client.filter(|address| is_public(*address)) {
        let text = address.to_string();
        values.add(LeakKind::Address, b"", text.as_bytes(), text.as_bytes());
    }
    // Short names are those of programs, which many clients use.
    if let Some(browser) =
        input.fields.known(Known::UserAgent).filter(|name| name.len() >= MIN_BROWSER_LENGTH)
    {
        values.add(LeakKind::UserAgent, b"", browser, browser);
    }
    values.found
}

/// Returns the cookie of a `Set-Cookie` field (RFC 6265 section 4.1) whose value must not occur in a shared page;
/// `None` if the value is shorter than 8 bytes or is no data of a visitor.
pub(super) fn new_cookie(field: &[u8]) -> Option<PrivateValue> {
    let pair = field.split(|byte| *byte == b';').next().unwrap_or_default();
    let (name, value) = split_pair(pair.trim_ascii())?;
    let value = form_decoded(value.trim_ascii());
    let is_private = value.len() >= MIN_LENGTH && !is_public_text(&value);
    is_private.then(|| PrivateValue {
        kind: LeakKind::NewCookie,
        name: name.into(),
        value: shortened(&value).into(),
    })
}

/// Collector of the values of a request.
struct ValueCollector<'a> {
    input: &'a PrivateInput<'a>,
    /// Cache key, decoded.
    key: Cow<'a, [u8]>,
    found: PrivateValues,
}

impl ValueCollector<'_> {
    /// Adds a URL-encoded value, and the email addresses in it. The value itself is left out if `is_private` is false,
    /// or if it is no data of a visitor ([`is_public_text`]).
    fn add_decoded(&mut self, kind: LeakKind, name: &[u8], value: &[u8], is_private: bool) {
        let decoded = form_decoded(value);
        if is_private && !is_public_text(&decoded) {
            self.add(kind, name, value, &decoded);
            // A `+` is a space for PHP, but not for all applications.
            self.add(kind, name, value, &percent_decoded(value));
        }
        for email in emails(&decoded).filter(|email| **email != *decoded || !is_private) {
            self.add(kind, name, value, email);
        }
    }

    /// Adds the token of `Authorization`, and of basic authentication (RFC 7617) also the user and the password.
    fn add_credentials(&mut self, credentials: &[u8]) {
        let Some(space) = memchr::memchr(b' ', credentials) else { return };
        let token = credentials[space..].trim_ascii();
        self.add(LeakKind::Credentials, b"", token, token);
        if credentials[..space].eq_ignore_ascii_case(b"basic")
            && let Ok(decoded) = BASE64_STANDARD.decode(token)
        {
            for part in decoded.splitn(2, |byte| *byte == b':') {
                self.add(LeakKind::Credentials, b"", token, part);
            }
        }
    }

    /// Adds the names in a subject, if the origin gets the subject, the name, or the certificate.
    fn add_certificate(&mut self, subject: &CertificateSubject) {
        let has = |text: &[u8]| memmem::find(self.input.sent, text).is_some();
        let is_sent = subject.texts.iter().any(|text| !text.is_empty() && has(text.as_bytes()))
            || [&b"BEGIN CERTIFICATE"[..], b"BEGIN%20CERTIFICATE"].into_iter().any(has);
        for name in &subject.names {
            let value = PrivateValue {
                kind: LeakKind::Certificate,
                name: Box::default(),
                value: shortened(name).into(),
            };
            if is_sent || value.occurs_in(self.input.sent) {
                self.push(value, name);
            }
        }
    }

    /// Adds `value`, cut to 64 bytes, under the conditions of [`Self::push`], if the request to the origin contains it
    /// in the form `sent`.
    fn add(&mut self, kind: LeakKind, name: &[u8], sent: &[u8], value: &[u8]) {
        if memmem::find(self.input.sent, sent).is_some() {
            self.push(PrivateValue { kind, name: name.into(), value: shortened(value).into() }, sent);
        }
    }

    /// Adds a value that the origin receives, unless it has less than 8 bytes, is in the list already, or is in the
    /// cache key (also in the form `sent`). If the list is full, marks it as incomplete instead; nothing is added after
    /// that.
    fn push(&mut self, value: PrivateValue, sent: &[u8]) {
        let is_in_key = |text: &[u8]| {
            [self.input.key, &self.key].into_iter().any(|key| memmem::find(key, text).is_some())
        };
        let is_known = |known: &PrivateValue| known.value == value.value;
        if value.value.len() < MIN_LENGTH
            || !self.found.is_complete
            || self.found.list.iter().any(is_known)
            || is_in_key(&value.value)
            || is_in_key(sent)
        {
            return;
        }
        if self.found.list.len() >= MAX_VALUES {
            self.found.is_complete = false;
        } else {
            self.found.list.push(value);
        }
    }
}

fn shortened(value: &[u8]) -> &[u8] {
    &value[..value.len().min(MAX_LENGTH)]
}

fn split_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', pair)?;
    Some((&pair[..at], &pair[at + 1..]))
}

/// Returns whether the value of a query argument with this name is assumed to be a secret: the name contains one of
/// [`SECRET_NAMES`] in any case of its letters, or is `key` or `code`.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| memmem::find(&name, part).is_some()) || name == b"key" || name == b"code"
}

/// Returns whether a value is long and random: at least 20 letters, digits and `-_.=`, of which at least four are
/// digits and at least four are not.
fn looks_like_secret(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.len() >= 20
        && (4..value.len() - 3).contains(&digits)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'='))
}

/// Returns whether a text is assumed to be no data of a visitor: a URL; an absolute path of a folder or below one, without
/// `=`; at least one of [`PUBLIC_WORDS`], with others of up to three bytes; a date; a text in the form of a time zone's
/// name; or a number of up to ten digits.
fn is_public_text(text: &[u8]) -> bool {
    let is_path = text.starts_with(b"/")
        && (text.ends_with(b"/") || text[1..].contains(&b'/'))
        && !text.contains(&b'=');
    let is_url = is_path || text.starts_with(b"http://") || text.starts_with(b"https://");
    let is_number = text.len() <= 10 && text.iter().all(u8::is_ascii_digit);
    let is_date = is_number || is_iso_date(text);
    is_url || is_date || is_time_zone(text) || has_public_words(text)
}

/// Returns whether a text is a date with or without a time (ISO 8601): `2026-11-29 10:00:00`.
fn is_iso_date(text: &[u8]) -> bool {
    let begins_with_date = text.len() >= 10
        && text.len() < 26
        && text[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    begins_with_date && text.iter().all(|byte| byte.is_ascii_digit() || b"-:.TZ +".contains(byte))
}

fn has_public_words(text: &[u8]) -> bool {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_'));
    words().any(is_public_word) && words().all(|word| word.len() < 4 || is_public_word(word))
}

fn is_public_word(word: &[u8]) -> bool {
    let word = word.to_ascii_lowercase();
    str::from_utf8(&word).is_ok_and(|word| PUBLIC_WORDS.binary_search(&word).is_ok())
}

/// Length in bytes of the longest name of a time zone, `America/Argentina/ComodRivadavia`.
const LONGEST_TIME_ZONE: usize = 32;

/// Returns whether a text has the form of the name of a time zone: `Europe/Berlin`, `America/Port-au-Prince`.
fn is_time_zone(text: &[u8]) -> bool {
    const AREAS: [&[u8]; 10] = [
        b"Africa/",
        b"America/",
        b"Antarctica/",
        b"Arctic/",
        b"Asia/",
        b"Atlantic/",
        b"Australia/",
        b"Europe/",
        b"Indian/",
        b"Pacific/",
    ];
    let is_part_of_name = |byte: &u8| byte.is_ascii_alphabetic() || b"/_-".contains(byte);
    text.len() <= LONGEST_TIME_ZONE
        && text.iter().all(is_part_of_name)
        && AREAS.iter().any(|area| text.starts_with(area))
}

/// Returns the email addresses in a text, without dots before and punctuation after them.
fn emails(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| !byte.is_ascii_alphanumeric() && !b"@._+-".contains(byte));
    let words = words.map(|word| {
        let start = word.iter().position(|byte| *byte != b'.').unwrap_or(word.len());
        let end = word.iter().rposition(u8::is_ascii_alphanumeric).map_or(start, |last| last + 1);
        word.get(start..end).unwrap_or_default()
    });
    words.filter(|word| {
        split_at_sign(word).is_some_and(|(user, host)| {
            !user.is_empty() && host.len() > 3 && host[1..host.len() - 1].contains(&b'.')
        })
    })
}

fn split_at_sign(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'@', word)?;
    Some((&word[..at], &word[at + 1..])).filter(|(_, host)| !host.contains(&b'@'))
}

/// Returns whether an address belongs to 100.64.0.0/10, which providers use for many clients (RFC 6598).
fn is_shared(address: std::net::Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && second & 0xc0 == 64
}

/// Returns whether an address is public: networks for local use (RFC 6890) are shared by many visitors.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            !(v4.is_private()
                || is_shared(v4)
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified())
        }
        IpAddr::V6(v6) => {
            !(v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fields: &[(&str, &str)], arguments: &str, key: &str) -> Vec<String> {
        let fields: Fields = fields.iter().copied().collect();
        let head: Vec<u8> =
            fields.iter().flat_map(|(name, value)| [name, b": ", value, b"\r\n"].concat()).collect();
        let sent =
            [b"GET /?", arguments.as_bytes(), b" HTTP/1.1\r\nX-Real-IP: 192.0.2.7\r\n", &head].concat();
        let client = Some("192.0.2.7".parse().expect("an address"));
        let input = PrivateInput {
            fields: &fields,
            arguments: arguments.as_bytes(),
            client,
            certificate: None,
            sent: &sent,
            key: key.as_bytes(),
        };
        let values = private_values(&input);
        assert!(values.is_complete);
        let values = values.list.iter();
        values
            .map(|value| {
                format!("{}={}", String::from_utf8_lossy(&value.name), String::from_utf8_lossy(&value.value))
            })
            .collect()
    }

    #[test]
    fn names_of_time_zones_are_public_and_secrets_that_begin_like_one_are_not() {
        for name in ["Europe/Berlin", "America/Argentina/ComodRivadavia", "America/Port-au-Prince"] {
            assert!(is_public_text(name.as_bytes()), "{name}");
        }
        for value in ["Europe/8f3a9c21d4", "Asia/margarete@example.org", "Europe/Margarete.Musterfrau"] {
            assert!(!is_public_text(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn values_of_the_visitor_are_found() {
        let fields = [
            ("Cookie", "name=Margarete; cart=%7B%22mail%22%3A%22ann%40example.org%22%7D"),
            ("Authorization", "Basic bWFyZ2FyZXRlOm15LXNlY3JldA=="),
            ("User-Agent", "Lynx/2.9.2 libwww-FM/2.14"),
        ];
        assert_eq!(
            found(&fields, "page=2&to=bob%40example.org&reset_token=abcdefgh", "/"),
            [
                "name=Margarete",
                "cart={\"mail\":\"ann@example.org\"}",
                "cart=ann@example.org",
                "to=bob@example.org",
                "reset_token=abcdefgh",
                "=bWFyZ2FyZXRlOm15LXNlY3JldA==",
                "=margarete",
                "=my-secret",
                "=192.0.2.7",
                "=Lynx/2.9.2 libwww-FM/2.14",
            ]
        );
    }

    #[test]
    fn punctuation_around_an_address_does_not_belong_to_it() {
        for text in [
            "write+to+ann%40example.org.",
            "write+to+...ann%40example.org...",
            "ann%40example.org-%2C+or+call",
            "%3Cann%40example.org%3E.",
            "ann%40example.org%3F",
        ] {
            let found = found(&[], &format!("text={text}"), "/");
            assert!(found.contains(&"text=ann@example.org".to_owned()), "{text}: {found:?}");
        }
        assert_eq!(
            emails(b"_ann@example.org .@. @ a@b. @example.org").collect::<Vec<_>>(),
            [b"_ann@example.org"]
        );
    }

    #[test]
    fn public_and_short_values_and_those_in_the_key_are_left_out() {
        let cookies = "lang=en; consent=necessary%2Canalytics; seen=2026-11-29; at=1795961542; last=%2Fproduct%2Fcup%2F; zone=Europe%2FBerlin; \
             currency=CHF; theme=dark-mode; group=wholesale-7";
        assert_eq!(
            found(&[("Cookie", cookies)], "id=12345678&q=a+long+text", "/wholesale-7"),
            ["=192.0.2.7"]
        );
    }

    #[test]
    fn numbers_and_names_are_private() {
        let cookies = "card=123456789012; name=Eva+Kim+Lee; session=ab+cd/ef12==";
        let values = [
            "card=123456789012",
            "name=Eva Kim Lee",
            "name=Eva+Kim+Lee",
            "session=ab cd/ef12==",
            "session=ab+cd/ef12==",
        ];
        assert_eq!(found(&[("Cookie", cookies)], "", "/")[..5], values);
    }

    #[test]
    fn value_occurs_in_a_text_in_any_form() {
        let value = PrivateValue {
            kind: LeakKind::Cookie,
            name: Box::default(),
            value: (*b"ann@example.org").into(),
        };
        for text in ["x=ann@example.org", "x=ann%40example%2eorg", "x=YW5uQGV4YW1wbGUub3Jn"] {
            assert!(value.occurs_in(text.as_bytes()), "{text}");
        }
        assert!(!value.occurs_in(b"x=ann@example.com"));
    }

    #[test]
    fn values_that_the_origin_does_not_receive_are_left_out() {
        let fields: Fields = [("Cookie", "name=Margarete")].into_iter().collect();
        let input = PrivateInput {
            fields: &fields,
            arguments: b"",
            client: None,
            certificate: None,
            sent: b"GET / HTTP/1.1\r\n\r\n",
            key: b"",
        };
        assert_eq!(private_values(&input).list, []);
    }

    #[test]
    fn too_many_values_are_not_complete() {
        for (count, expected) in [(96, true), (97, false)] {
            let cookies: Vec<String> =
                (0..count).map(|number| format!("c{number}=value-of-{number}")).collect();
            let cookies = cookies.join("; ");
            let fields: Fields = [("Cookie", &*cookies)].into_iter().collect();
            let input = PrivateInput {
                fields: &fields,
                arguments: b"",
                client: None,
                certificate: None,
                sent: cookies.as_bytes(),
                key: b"",
            };
            let values = private_values(&input);
            assert_eq!((values.list.len(), values.is_complete), (96, expected), "{count}");
        }
    }

    #[test]
    fn names_of_a_certificate_are_private_if_the_origin_gets_them() {
        let subject = CertificateSubject {
            names: vec![b"Margarete, Meier".to_vec(), b"ann@example.org".to_vec()],
            texts: vec!["emailAddress=ann@example.org,CN=Margarete\\, Meier".to_owned()],
        };
        let names = |sent: &str, key: &str| {
            let input = PrivateInput {
                fields: &Fields::new(),
                arguments: b"",
                client: None,
                certificate: Some(&subject),
                sent: sent.as_bytes(),
                key: key.as_bytes(),
            };
            let values = private_values(&input).list.into_iter();
            values.map(|value| String::from_utf8_lossy(&value.value).into_owned()).collect::<Vec<_>>()
        };
        let both = ["Margarete, Meier", "ann@example.org"];
        assert_eq!(names("emailAddress=ann@example.org,CN=Margarete\\, Meier", ""), both);
        assert_eq!(names("-----BEGIN%20CERTIFICATE-----", ""), both);
        assert_eq!(names("X-User: ann@example.org", ""), both[1..]);
        assert_eq!(names("X-User: ann@example.org", "/ann@example.org"), both[..0]);
        assert_eq!(names("GET / HTTP/1.1", ""), both[..0]);
    }

    #[test]
    fn addresses_for_local_use_belong_to_many_visitors() {
        for (address, expected) in [
            ("192.0.2.7", true),
            ("10.0.0.1", false),
            ("127.0.0.1", false),
            ("100.64.1.1", false),
            ("::ffff:10.0.0.1", false),
            ("2001:db8::1", true),
            ("fd00::1", false),
        ] {
            assert_eq!(is_public(address.parse().expect("an address")), expected, "{address}");
        }
    }
}
