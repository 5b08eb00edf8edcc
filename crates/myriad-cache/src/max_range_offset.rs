//! `*_cache_max_range_offset`: a client that requests a late part of a long file does not wait for all of it.

use myriad_base::digits::decimal;

/// Returns whether a `Range` field requests a part of the response from `offset` bytes on: its first range begins there
/// or later, or is a suffix range (`bytes=-500`). With an offset of 0, true for every `Range`, also for an invalid one.
/// False without `Range` or `offset`, and, if the offset is not 0, for units other than bytes.
pub(crate) fn begins_beyond(range: Option<&[u8]>, offset: Option<u64>) -> bool {
    let (Some(offset), Some(range)) = (offset, range) else { return false };
    if offset == 0 {
        return true;
    }
    let Some((unit, ranges)) = range.split_at_checked(6) else { return false };
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return false;
    }
    let first = ranges.trim_ascii().split(|byte| *byte == b'-').next().unwrap_or_default();
    // `bytes=-500` counts from the end, whose position only the origin knows.
    first.is_empty() || decimal::<u64>(first.trim_ascii()).is_some_and(|first| first >= offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_at_the_offset_or_beyond_is_far() {
        assert!(!begins_beyond(Some(b"bytes=99-"), Some(100)));
        assert!(begins_beyond(Some(b"bytes=100-"), Some(100)));
        assert!(begins_beyond(Some(b"Bytes= 100 -200"), Some(100)));
        assert!(begins_beyond(Some(b"bytes=18446744073709551615-"), Some(100)));
    }

    #[test]
    fn range_from_the_end_is_far_for_only_the_origin_knows_where_it_begins() {
        assert!(begins_beyond(Some(b"bytes=-5"), Some(100)));
    }

    #[test]
    fn first_of_several_ranges_counts() {
        assert!(!begins_beyond(Some(b"bytes=0-1,500-600"), Some(100)));
        assert!(begins_beyond(Some(b"bytes=500-600,0-1"), Some(100)));
    }

    #[test]
    fn any_range_is_beyond_an_offset_of_0() {
        assert!(begins_beyond(Some(b"bytes=0-0"), Some(0)));
        assert!(begins_beyond(Some(b"lines=1"), Some(0)));
        assert!(!begins_beyond(None, Some(0)));
    }

    #[test]
    fn what_is_no_range_of_bytes_is_not_far() {
        for range in
            [&b"lines=500-"[..], b"bytes", b"", b"bytes=x-", b"bytes=+500-", b"bytes=18446744073709551616-"]
        {
            assert!(!begins_beyond(Some(range), Some(100)), "{}", range.escape_ascii());
        }
    }

    #[test]
    fn no_range_is_far_without_an_offset() {
        assert!(!begins_beyond(Some(b"bytes=500-"), None));
    }
}
