//! The piece of a whole that a request asks for (`slice`).

use myriad_http::Known;

use super::{Request, Slice};

/// The piece to be asked for: the one that the client's range begins in. None where the place does not slice.
///
/// From the first time this is read the exchange slices.
pub fn current_slice(request: &Request) -> Option<Slice> {
    if let Some(slice) = request.cache.slice.get() {
        return Some(slice);
    }
    let size = request.place().filters.piece_size();
    if size == 0 || request.is_subrequest() || request.outcome.answered.status != 0 {
        return None;
    }
    let slice = Slice { start: first_byte(request) / size * size, size };
    request.cache.slice.set(Some(slice));
    Some(slice)
}

/// Where the client's range begins; 0 where that hangs on a condition, or on a length that nobody knows yet.
fn first_byte(request: &Request) -> u64 {
    let fields = request.received.head.fields();
    if fields.has(Known::IfRange) {
        return 0;
    }
    fields.known(Known::Range).and_then(begins).unwrap_or(0)
}

fn begins(value: &[u8]) -> Option<u64> {
    let (unit, range) = value.split_at_checked(6)?;
    if !unit.eq_ignore_ascii_case(b"bytes=") || range.contains(&b',') {
        return None;
    }
    let range = range.trim_ascii_start();
    let digits = range.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(range.len());
    std::str::from_utf8(&range[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_where_one_plain_range_does() {
        assert_eq!(begins(b"bytes=5-9"), Some(5));
        assert_eq!(begins(b"Bytes= 5-"), Some(5));
        for value in
            [&b"bytes=-5"[..], b"bytes=1-2,4-5", b"items=1-2", b"bytes", b"bytes=99999999999999999999-"]
        {
            assert_eq!(begins(value), None, "{}", value.escape_ascii());
        }
    }
}
