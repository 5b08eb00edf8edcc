//! What may have changed something for a visitor, so that their parts count no more.

use myriad_exchange::exchange::Request;
use myriad_http::{Known, Method, ResponseHead};
use myriad_policy::PersonalCookies;

use super::apart::APART;
use super::rules;
use super::visitor::{known_pairs, marks_of};

/// The field by which an application says so itself.
const PURGE: &[u8] = b"x-myriad-private-purge";

/// A request of a known visitor to an origin. When it is over, be it that its visitor has gone, and before anybody sees an answer, what may
/// have changed is noted.
pub(crate) struct Watch {
    /// The visitor's known cookies, with a semicolon between them, which none of them holds. Their marks are made where something has
    /// changed alone: hashing costs more than all else that is done here, and most requests change nothing.
    cookies: Vec<u8>,
    known: PersonalCookies,
    changes: bool,
}

/// Watches a request to an origin; none of a visitor who is not known here.
pub(crate) fn watch(request: &Request) -> Option<Watch> {
    let known = &rules::of(request)?.known;
    let head = &request.received.head;
    let cookies = known_pairs(head.fields(), known).join(&b';');
    let is_safe = matches!(head.method(), Method::Get | Method::Head | Method::Options);
    (!cookies.is_empty()).then(|| Watch { cookies, known: known.clone(), changes: !is_safe })
}

impl Watch {
    /// Looks at what the origin says.
    pub(crate) fn see(&mut self, head: &ResponseHead) {
        let fields = &head.fields;
        let sets_cookie = || {
            let mut cookies = fields.known_all(Known::SetCookie);
            cookies.any(|cookie| self.known.matches_set_cookie(cookie).is_some())
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

impl Drop for Watch {
    fn drop(&mut self) {
        if self.changes {
            let cookies: Vec<&[u8]> = self.cookies.split(|byte| *byte == b';').collect();
            let marks = marks_of(&cookies);
            APART.lock().changed(&marks);
        }
    }
}
