//! `Date` header line of responses, cached per thread and rebuilt at most once a second.

use std::cell::RefCell;

use myriad_base::calendar::write_http_date;
use myriad_net::clock;

struct DateLine {
    second: u64,
    text: Vec<u8>,
}

thread_local! {
    static LINE: RefCell<DateLine> = const { RefCell::new(DateLine { second: 0, text: Vec::new() }) };
}

/// Passes the line `Date: …` for `now` (milliseconds of the process clock) to `out`. Synchronizes the process clock
/// with the system clock when it rebuilds the line.
pub(crate) fn write_date_line(now: u64, out: &mut impl FnMut(&[u8])) {
    LINE.with_borrow_mut(|line| {
        let second = now / 1000;
        if line.second != second {
            line.second = second;
            line.text.clear();
            line.text.extend_from_slice(b"Date: ");
            clock::synchronize();
            write_http_date(clock::to_wall_ms(now) / 1000, &mut line.text);
            line.text.extend_from_slice(b"\r\n");
        }
        out(&line.text);
    });
}

#[cfg(test)]
mod tests {
    use super::write_date_line;

    #[test]
    fn line_changes_with_the_second() {
        let written = |now_ms| {
            let mut line = Vec::new();
            write_date_line(now_ms, &mut |part: &[u8]| line.extend_from_slice(part));
            String::from_utf8(line).unwrap()
        };
        assert_eq!(written(784_111_777_000), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        assert_eq!(written(784_111_777_999), written(784_111_777_000));
        assert_eq!(written(784_111_778_000), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
    }
}
