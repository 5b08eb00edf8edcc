//! The `Date` line, made once a second on each thread.

use std::cell::RefCell;

use myriad_http::date::write_http_date;

struct Line {
    second: u64,
    text: Vec<u8>,
}

thread_local! {
    static LINE: RefCell<Line> = const { RefCell::new(Line { second: 0, text: Vec::new() }) };
}

/// Appends `Date: …` for `now` (milliseconds since the epoch).
pub(crate) fn write_date_line(now: u64, out: &mut impl FnMut(&[u8])) {
    LINE.with_borrow_mut(|line| {
        let second = now / 1000;
        if line.second != second {
            line.second = second;
            line.text.clear();
            line.text.extend_from_slice(b"Date: ");
            write_http_date(second, &mut line.text);
            line.text.extend_from_slice(b"\r\n");
        }
        out(&line.text);
    });
}
