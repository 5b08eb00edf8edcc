//! Who a known visitor is: what their cookies come to.

use std::sync::LazyLock;

use aws_lc_rs::{hmac, rand};
use myriad_http::{Fields, Known};
use myriad_policy::PersonalCookies;
use smallvec::SmallVec;

/// A keyed hash.
pub(super) type Digest = [u8; 32];

/// Marks of a visitor, by which a change is told.
pub(super) type Marks = SmallVec<[Digest; 4]>;

/// Least bytes of a value that is one visitor's alone: log-ins, sessions and hashes of carts are longer, and what many share (a cart
/// with 1 article in it) is shorter.
const OF_ONE: usize = 16;

/// A known visitor.
pub(super) struct Visitor {
    /// What their parts are kept under: all their known cookies, and the host.
    pub id: Digest,
    /// Each cookie that is theirs alone, and all of them together: some cookies are sent to some paths only.
    pub marks: Marks,
}

impl Visitor {
    /// The visitor of a request to that host; none without a known cookie. The order of the cookies does not count.
    pub(super) fn of(host: &[u8], fields: &Fields, known: &PersonalCookies) -> Option<Self> {
        let mut all = known_pairs(fields, known);
        if all.is_empty() {
            return None;
        }
        let marks = marks_of(&all);
        all.push(host);
        Some(Self { id: digest(b"visitor", &all), marks })
    }
}

/// The known cookies of a request, each once, in an order that does not depend on theirs.
pub(super) fn known_pairs<'a>(fields: &'a Fields, known: &PersonalCookies) -> SmallVec<[&'a [u8]; 8]> {
    let mut all: SmallVec<[&[u8]; 8]> =
        pairs(fields).filter(|pair| known.matches_cookie_header(pair).is_some()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The marks of whoever sends these known cookies: one hash for each that is theirs alone, and one for all.
pub(super) fn marks_of(cookies: &[&[u8]]) -> Marks {
    let is_of_one = |pair: &&&[u8]| {
        let value = pair.iter().position(|byte| *byte == b'=').map_or(0, |at| pair.len() - at - 1);
        value >= OF_ONE
    };
    let mut marks: Marks = cookies.iter().filter(is_of_one).map(|pair| digest(b"cookie", &[pair])).collect();
    marks.push(digest(b"cookies", cookies));
    marks
}

/// The cookies of a request, each with its value. HTTP/2 sends them in several fields (RFC 9113 section 8.2.3).
pub(super) fn pairs(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    let all = fields.known_all(Known::Cookie).flat_map(|value| value.split(|byte| *byte == b';'));
    all.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
}

/// The hash of texts, with a key that this process has made for itself: what is kept tells nobody a cookie.
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
mod tests {
    use super::*;

    const SESSION: &str = "wordpress_logged_in_1=ada|1795226400|0123456789";

    fn visitor(host: &str, cookies: &[&str]) -> Option<Visitor> {
        let fields: Fields = cookies.iter().map(|cookies| ("Cookie", *cookies)).collect();
        let known = PersonalCookies::new(
            false,
            ["wordpress_logged_in_*", "wordpress_sec_*", "woocommerce_items_in_cart"],
        );
        Visitor::of(host.as_bytes(), &fields, &known)
    }

    fn id(host: &str, cookies: &[&str]) -> Digest {
        visitor(host, cookies).expect("a known visitor").id
    }

    #[test]
    fn visitors_are_told_apart_by_host_and_by_each_known_cookie() {
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
    fn change_is_told_by_a_cookie_that_comes_with_others_elsewhere() {
        let shares_a_mark = |one: &[&str], other: &[&str]| {
            let (one, other) = (visitor("a", one).expect("one"), visitor("a", other).expect("other"));
            one.marks.iter().any(|mark| other.marks.contains(mark))
        };
        // The back office gets one more cookie than the site.
        assert!(shares_a_mark(&[SESSION], &[SESSION, "wordpress_sec_1=ada|1795226400|9876543210"]));
        assert!(!shares_a_mark(&[SESSION, "woocommerce_items_in_cart=1"], &["woocommerce_items_in_cart=1"]));
        assert!(shares_a_mark(&["woocommerce_items_in_cart=1"], &["woocommerce_items_in_cart=1"]));
    }
}
