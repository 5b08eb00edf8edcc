//! Variable `$slice_range`: range of the slice to request.

use myriad_http::Known;

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::{Request, Slice};
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::RowValue::Made;

/// Variable with the range of the slice to request, in the form of `Range`. The first read selects the slice that
/// contains the start of the client's range, and makes the response one that is joined from slices. No value if no
/// slice was selected before and the location does not use slices, the request is a subrequest, or a response exists.
pub const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "slice",
    "slice_range",
    &[Reads::Slice],
    Made(|request, out| {
        current_slice(request).is_some_and(|slice| {
            write(slice, out);
            true
        })
    }),
)];

/// Returns the current slice of a request. If none was selected yet, selects the slice that contains the start of the
/// client's range, and stores it in the request; the response is then joined from slices. Returns `None` without
/// selecting a slice if the location does not use slices, for a subrequest, and once a response exists.
pub(super) fn current_slice(request: &Request) -> Option<Slice> {
    if let Some(slice) = request.cache.slice.get() {
        return Some(slice);
    }
    let size = request.place().filters.piece_size();
    if size == 0 || request.is_subrequest() || request.outcome.head.status != 0 {
        return None;
    }
    let slice = Slice { start: first_byte(request) / size * size, size };
    request.cache.slice.set(Some(slice));
    Some(slice)
}

/// Returns the first byte of the client's range; 0 unless `Range` contains exactly one range with a first byte, and 0
/// with `If-Range`.
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

/// Appends the range of a slice, as a value of `Range`.
pub(super) fn write(slice: Slice, out: &mut Vec<u8>) {
    let last = slice.start.saturating_add(slice.size - 1);
    out.extend_from_slice(format!("bytes={}-{last}", slice.start).as_bytes());
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

    #[test]
    fn range_is_written_to_its_last_byte() {
        let written = |start, size| {
            let mut out = Vec::new();
            write(Slice { start, size }, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(4, 2), "bytes=4-5");
        assert_eq!(written(0, 1 << 20), "bytes=0-1048575");
    }
}
