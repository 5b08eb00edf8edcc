//! Thread-local pool of response heads: their memory is reused for later responses.

use std::cell::RefCell;

use myriad_http::ResponseHead;

/// Maximum number of response heads that a thread pools to reuse their memory.
const MAX_POOLED: usize = 64;
/// Maximum size in bytes of a pooled response head: its fields and reason phrase.
const MAX_HEAD_BYTES: usize = 8 * 1024;

thread_local! {
    static HEADS: RefCell<Vec<ResponseHead>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty response head, from the thread's pool if one is available.
pub(crate) fn take() -> ResponseHead {
    HEADS.with_borrow_mut(Vec::pop).unwrap_or_else(|| ResponseHead::new(0))
}

/// Clears a response head and returns it to the thread's pool, unless the head is large or the pool is full.
pub fn give_head(mut head: ResponseHead) {
    if head.fields.size() + head.reason.len() > MAX_HEAD_BYTES {
        return;
    }
    head.clear();
    HEADS.with_borrow_mut(|heads| {
        if heads.len() < MAX_POOLED {
            heads.push(head);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_that_is_taken_holds_nothing_of_the_one_before() {
        let mut head = take();
        head.status = 404;
        head.reason.extend_from_slice(b"Gone fishing");
        head.fields.push(b"Set-Cookie", b"session=1");
        give_head(head);
        let next = take();
        assert!(next.fields.is_empty() && next.reason.is_empty());
        assert_eq!(next.fields.get(b"set-cookie"), None);
    }

    #[test]
    fn memory_of_large_head_is_not_retained() {
        let mut head = ResponseHead::new(200);
        head.fields.push(b"X-Large", &[b'x'; MAX_HEAD_BYTES]);
        give_head(head);
        assert!(HEADS.with_borrow(Vec::is_empty));
    }
}
