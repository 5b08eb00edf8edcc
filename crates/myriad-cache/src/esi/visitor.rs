//! Identification of known visitors: the key of their parts, and the marks by which a change finds these parts.

use std::net::IpAddr;
use std::sync::LazyLock;

use aws_lc_rs::{hmac, rand};
use myriad_exchange::exchange::Request;
use myriad_http::{Fields, Known, client_network};
use myriad_policy::{PersonalCookies, SharedFetch, VaryRule};
use smallvec::SmallVec;

/// HMAC under a random key of this process, which identifies a visitor or a cookie.
pub(super) type Digest = [u8; 32];

/// Marks of a visitor: digests of cookies. A change by a request affects all visitors that have one of the request's
/// marks.
pub(super) type Marks = SmallVec<[Digest; 4]>;

/// Minimum length in bytes of a session cookie's value that counts as secret: a shorter value can be guessed.
const MIN_SECRET: usize = 16;
/// Maximum number of session cookies of a request that are used; real sites set fewer.
const MAX_SESSIONS: usize = 8;

/// Names of the cookies of known visitors (`esi_known_cookies`), and of those that are secrets of one visitor
/// (`esi_session_cookies`).
#[derive(Clone)]
pub(super) struct KnownCookies {
    pub known: PersonalCookies,
    pub sessions: PersonalCookies,
}

/// Known visitor (`esi_known_cookies`), identified by cookies.
#[derive(Clone)]
pub(super) struct Visitor {
    /// Key of the visitor's ESI parts: a digest of all known cookies, the cookies in the cache key, and the host.
    /// Without a session cookie, or with too many, a digest of the scheme and of the header fields of requests for
    /// parts.
    pub id: Digest,
    /// One mark (digest) for each session cookie, and one for all known cookies together: browsers send some cookies
    /// only to some paths, so single cookies must be recognized too.
    pub marks: Marks,
    /// Network of the client: /24 of an IPv4 address, /64 of an IPv6 address; `None` if the address is unknown.
    pub network: Option<IpAddr>,
    /// Header fields of requests for parts, if several visitors may have the same known cookies; `None` to send the
    /// client's own fields.
    pub fields: Option<Fields>,
}

/// Properties of a request that identify its visitor.
pub(super) struct VisitorRequest<'a> {
    /// Header fields of the request.
    pub fields: &'a Fields,
    /// Host of the request, as used by the cache.
    pub host: &'a [u8],
    /// Scheme of the request: `http` or `https`.
    pub scheme: &'a str,
    /// Address of the client; `None` if it is unknown.
    pub client: Option<IpAddr>,
}

impl<'a> From<&'a Request> for VisitorRequest<'a> {
    fn from(request: &'a Request) -> Self {
        Self {
            fields: request.received.head.fields(),
            host: &request.route.host,
            scheme: request.scheme(),
            client: request.client(),
        }
    }
}

impl Visitor {
    /// Returns the visitor of a request, regardless of the order of its cookies; `None` without a known cookie.
    pub(super) fn of(
        request: &VisitorRequest<'_>,
        cookies: &KnownCookies,
        shared: &SharedFetch,
    ) -> Option<Self> {
        let fields = request.fields;
        let mut all = known_pairs(fields, &cookies.known);
        if all.is_empty() {
            return None;
        }
        let marks = marks_of(&all, &cookies.sessions);
        let network = request.client.map(network_of);
        let sessions = all.iter().filter(|pair| is_secret(pair, &cookies.sessions)).count();
        if (1..=MAX_SESSIONS).contains(&sessions) {
            // The parts of a visitor depend on choices that are part of the cache key, such as a currency.
            all.extend(shared.keyed_pairs(fields));
            all.push(request.host);
            return Some(Self { id: digest(b"visitor", &all), marks, network, fields: None });
        }
        let fields = shared_fields(fields, &all, shared);
        let sent = fields.iter().flat_map(|(name, value)| [name, value]);
        let sent: Vec<&[u8]> = sent.chain([request.scheme.as_bytes()]).collect();
        let id = digest(b"visitors", &sent);
        Some(Self { id, marks, network, fields: Some(fields) })
    }
}

/// Returns the header fields of requests for parts if several visitors may have the same known cookies: the fields of a
/// shared fetch without `Authorization` (only `Host` if `shared_fetch_headers` is off), the request's
/// `X-Forwarded-Proto`, and a `Cookie` field with the known cookies and with those of a shared fetch, which are in the
/// cache key.
fn shared_fields(request: &Fields, known: &[&[u8]], shared: &SharedFetch) -> Fields {
    let shared_headers =
        shared.fields_for_origin(request, false, &VaryRule::default(), false).map(|told| told.fields);
    let host = || request.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"host")).collect();
    let mut fields = if shared.on { shared_headers.unwrap_or_default() } else { host() };
    let keyed: Vec<u8> = fields.known_all(Known::Cookie).flat_map(|value| [b"; ", value].concat()).collect();
    for name in [Known::Cookie, Known::Authorization] {
        fields.remove_known(name);
    }
    fields.push_known(Known::Cookie, &[&known.join(&b"; "[..]), &keyed[..]].concat());
    if let Some(scheme) =
        request.known(Known::XForwardedProto).filter(|_| !fields.has(Known::XForwardedProto))
    {
        fields.push_known(Known::XForwardedProto, scheme);
    }
    fields
}

/// Returns the network of a client: the /24 of an IPv4 address, the /64 of an IPv6 address.
fn network_of(client: IpAddr) -> IpAddr {
    match client_network(client) {
        IpAddr::V4(address) => IpAddr::V4((u32::from(address) & !0xff).into()),
        v6 @ IpAddr::V6(_) => v6,
    }
}

/// Returns the known cookies of a request as `name=value`, each once, in sorted order.
pub(super) fn known_pairs<'a>(fields: &'a Fields, known: &PersonalCookies) -> SmallVec<[&'a [u8]; 8]> {
    let mut all: SmallVec<[&[u8]; 8]> =
        fields.cookie_pairs().filter(|pair| known.matches_cookie_header(pair).is_some()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the marks for known cookies: one for each session cookie (the first [`MAX_SESSIONS`] of them), and one for
/// all cookies together.
pub(super) fn marks_of(cookies: &[&[u8]], sessions: &PersonalCookies) -> Marks {
    let secrets = cookies.iter().filter(|pair| is_secret(pair, sessions));
    let mut marks: Marks = secrets.take(MAX_SESSIONS).map(|pair| digest(b"cookie", &[pair])).collect();
    marks.push(digest(b"cookies", cookies));
    marks
}

/// Returns whether a cookie is a session cookie with a value that is long enough to be secret.
fn is_secret(pair: &[u8], sessions: &PersonalCookies) -> bool {
    let value = pair.iter().position(|byte| *byte == b'=').map_or(0, |at| pair.len() - at - 1);
    value >= MIN_SECRET && sessions.matches_cookie_header(pair).is_some()
}

/// Returns the HMAC of texts under a random key of this process, so that stored data does not reveal cookies. `what`
/// separates different uses.
pub(super) fn digest(what: &[u8], texts: &[&[u8]]) -> Digest {
    static KEY: LazyLock<hmac::Key> = LazyLock::new(|| {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new());
        key.expect("the system has random numbers")
    });
    let mut context = hmac::Context::with_key(&KEY);
    for text in std::iter::once(&what).chain(texts) {
        context.update(&(text.len() as u64).to_le_bytes());
        context.update(text);
    }
    let mut digest = Digest::default();
    digest.copy_from_slice(context.sign().as_ref());
    digest
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(in super::super) fn known() -> KnownCookies {
        let names =
            ["wordpress_logged_in_*", "wordpress_sec_*", "woocommerce_items_in_cart", "comment_author_*"];
        KnownCookies {
            known: PersonalCookies::new(false, names),
            sessions: PersonalCookies::builtin_sessions(),
        }
    }

    pub(in super::super) fn visitor(host: &str, fields: &[(&str, &str)]) -> Option<Visitor> {
        let fields: Fields = fields.iter().copied().collect();
        let request = VisitorRequest { fields: &fields, host: host.as_bytes(), scheme: "http", client: None };
        Visitor::of(&request, &known(), &SharedFetch { on: true, ..SharedFetch::default() })
    }
}

#[cfg(test)]
mod tests {
    use myriad_policy::KeyedInput;

    use super::testing::visitor as of_fields;
    use super::*;

    const SESSION: &str = "wordpress_logged_in_1=ada|1795226400|0123456789";

    fn visitor(host: &str, cookies: &[&str]) -> Option<Visitor> {
        let mut fields: Vec<_> = cookies.iter().map(|cookies| ("Cookie", *cookies)).collect();
        fields.push(("Host", host));
        of_fields(host, &fields)
    }

    fn id(host: &str, cookies: &[&str]) -> Digest {
        visitor(host, cookies).expect("a known visitor").id
    }

    #[test]
    fn visitors_are_distinguished_by_host_and_known_cookies() {
        let own = id("a", &[SESSION]);
        assert_eq!(own, id("a", &[&format!("_ga=1; {SESSION}; x=y")]));
        assert_eq!(
            id("a", &[SESSION, "woocommerce_items_in_cart=1"]),
            id("a", &[&format!("woocommerce_items_in_cart=1; {SESSION}")])
        );
        for other in [
            id("b", &[SESSION]),
            id("a", &[&format!("{SESSION}0")]),
            id("a", &[SESSION, "woocommerce_items_in_cart=1"]),
        ] {
            assert_ne!(own, other);
        }
        assert!(visitor("a", &["_ga=1"]).is_none() && visitor("a", &[]).is_none());
    }

    #[test]
    fn cookies_in_the_cache_key_distinguish_visitors_in_any_order() {
        let keyed = ["currency", "size"].map(|name| KeyedInput {
            cookie: true,
            name: name.as_bytes().into(),
            values: vec![(*b"one").into(), (*b"two").into()],
        });
        let shared = SharedFetch { on: true, keyed: keyed.into(), ..SharedFetch::default() };
        let id = |cookies: &str| {
            let fields: Fields = [("Cookie", &*format!("{SESSION}; {cookies}"))].into_iter().collect();
            let request = VisitorRequest { fields: &fields, host: b"a", scheme: "http", client: None };
            Visitor::of(&request, &testing::known(), &shared).expect("a known visitor").id
        };
        assert_eq!(id("currency=one; size=two"), id("size=two; _ga=1; currency=one"));
        assert_eq!(id("currency=three"), id("_ga=1"));
        for other in ["currency=one", "currency=two; size=two", "size=one; currency=one"] {
            assert_ne!(id("currency=one; size=two"), id(other), "{other}");
        }
    }

    #[test]
    fn visitor_change_is_detected_by_cookie_shared_across_cookie_sets() {
        let shares_a_mark = |one: &[&str], other: &[&str]| {
            let (one, other) = (visitor("a", one).expect("one"), visitor("a", other).expect("other"));
            one.marks.iter().any(|mark| other.marks.contains(mark))
        };
        // Requests to the WordPress back office contain an additional cookie.
        assert!(shares_a_mark(&[SESSION], &[SESSION, "wordpress_sec_1=ada|1795226400|9876543210"]));
        assert!(!shares_a_mark(&[SESSION, "woocommerce_items_in_cart=1"], &["woocommerce_items_in_cart=1"]));
        assert!(shares_a_mark(&["woocommerce_items_in_cart=1"], &["woocommerce_items_in_cart=1"]));
    }

    #[test]
    fn cookies_that_several_visitors_share_are_sent_alone() {
        let shared = "woocommerce_items_in_cart=1";
        let fields =
            [("Host", "a"), ("Cookie", shared), ("X-Odd", "1"), ("User-Agent", "odd"), ("Referer", "/odd")];
        let sent = |fields: &[(&str, &str)]| {
            let sent = of_fields("a", fields).expect("a known visitor").fields.expect("shared fields");
            let line =
                |(name, value): (&[u8], &[u8])| format!("{}: {}", name.escape_ascii(), value.escape_ascii());
            sent.iter().map(line).filter(|line| !line.starts_with("User-Agent: Mozilla/")).collect::<Vec<_>>()
        };
        assert_eq!(sent(&fields), ["Host: a", "Cookie: woocommerce_items_in_cart=1"]);
        let odd =
            [("Host", "a"), ("Cookie", "_ga=1; woocommerce_items_in_cart=1; PHPSESSID=0123456789abcdef")];
        assert_eq!(sent(&odd), sent(&fields), "a session cookie counts only where it is a known cookie");
        let secure = [("Host", "a"), ("Cookie", shared), ("X-Forwarded-Proto", "https")];
        assert_eq!(sent(&secure).last().map(String::as_str), Some("X-Forwarded-Proto: https"));
        let ids = [&fields[..2], &secure, &[("Host", "a:81"), ("Cookie", shared)]]
            .map(|fields| of_fields("a", fields).expect("a known visitor").id);
        assert!(ids[0] != ids[1] && ids[0] != ids[2], "the key holds all that is sent");
        assert!(visitor("a", &[SESSION, shared]).expect("a known visitor").fields.is_none());
        assert!(visitor("a", &["wordpress_logged_in_1=short"]).expect("a known visitor").fields.is_some());
    }

    #[test]
    fn number_of_marks_is_bounded_whatever_a_client_sends() {
        let cookies: Vec<_> = (0..720).map(|n| format!("wordpress_logged_in_{n}=0123456789abcdef")).collect();
        let many = visitor("a", &[&cookies.join("; ")]).expect("a known visitor");
        assert_eq!(many.marks.len(), MAX_SESSIONS + 1);
        assert!(many.fields.is_some());
    }

    #[test]
    fn networks_are_those_of_one_customer() {
        let network = |address: &str| network_of(address.parse().expect("an address"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.200"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:3::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
