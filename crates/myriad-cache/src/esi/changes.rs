//! Detection of requests that may have changed content for a visitor; the visitor's stored parts are then invalidated.

use myriad_exchange::exchange::Request;
use myriad_http::{Known, Method, ResponseHead};
use smallvec::SmallVec;

use super::part_store;
use super::rules;
use super::visitor::{KnownCookies, Marks, known_pairs, marks_of};

/// Response field by which an application reports that private content of a visitor has changed.
const PURGE: &[u8] = b"x-myriad-private-purge";

/// Watch on a known visitor's request (`esi_known_cookies`) to an origin, which may change the visitor's private
/// content.
///
/// Dropping the watch invalidates the visitor's stored parts if the content may have changed, before the client gets
/// the response; also if the client has disconnected.
pub(crate) struct ChangeWatch {
    /// Known cookies of the visitor, joined by semicolons, which cookies cannot contain.
    ///
    /// The visitor's marks (digests of cookies) are only computed after a change: hashing costs more than the rest of
    /// the watch, and most requests change nothing.
    cookies: Vec<u8>,
    known: KnownCookies,
    changes: bool,
}

/// Starts to watch a request to an origin; `None` without `esi` or if the visitor has no known cookies. A method other
/// than GET, HEAD and OPTIONS counts as a change.
pub(crate) fn watch(request: &Request) -> Option<ChangeWatch> {
    let known = &rules::of(request)?.cookies;
    let head = &request.received.head;
    let cookies = known_pairs(head.fields(), &known.known).join(&b';');
    let is_safe = matches!(head.method(), Method::Get | Method::Head | Method::Options);
    (!cookies.is_empty()).then(|| ChangeWatch { cookies, known: known.clone(), changes: !is_safe })
}

impl ChangeWatch {
    /// Detects a change in the head of the origin's response: `X-Myriad-Private-Purge`, `X-LiteSpeed-Purge` with
    /// `private`, or a known cookie that the response sets.
    pub(crate) fn check_response(&mut self, head: &ResponseHead) {
        let fields = &head.fields;
        let sets_cookie = || {
            let mut cookies = fields.known_all(Known::SetCookie);
            cookies.any(|cookie| self.known.known.matches_set_cookie(cookie).is_some())
        };
        let is_private = |value: &[u8]| {
            value
                .split(|byte| matches!(byte, b',' | b';'))
                .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"private"))
        };
        self.changes |= fields.get(PURGE).is_some()
            || fields.known_all(Known::XLiteSpeedPurge).any(is_private)
            || sets_cookie();
    }
}

impl Drop for ChangeWatch {
    fn drop(&mut self) {
        if self.changes {
            part_store::invalidate(&marks_of_joined(&self.cookies, &self.known));
        }
    }
}

/// Returns the marks (digests) of a visitor for cookies in the form of [`ChangeWatch::cookies`].
fn marks_of_joined(cookies: &[u8], known: &KnownCookies) -> Marks {
    let cookies: SmallVec<[&[u8]; 8]> = cookies.split(|byte| *byte == b';').collect();
    marks_of(&cookies, &known.sessions)
}

#[cfg(test)]
mod tests {
    use super::super::visitor::testing::{known, visitor};
    use super::*;
    use myriad_http::Fields;

    #[test]
    fn marks_that_are_made_late_are_those_that_parts_are_stored_with() {
        for cookies in [
            "woocommerce_items_in_cart=1; _ga=2; wordpress_logged_in_1=ada|1795226400|0",
            "woocommerce_items_in_cart=",
        ] {
            let fields: Fields = [("Cookie", cookies)].into_iter().collect();
            let stored = visitor("host", &[("Cookie", cookies)]).expect("a known visitor").marks;
            let joined = known_pairs(&fields, &known().known).join(&b';');
            assert_eq!(marks_of_joined(&joined, &known()), stored, "{cookies}");
        }
    }
}
