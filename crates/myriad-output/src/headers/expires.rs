//! The `expires` directive.

use std::cell::RefCell;
use std::io::Write as _;

use myriad_base::calendar::write_http_date;
use myriad_log::local_time;
use myriad_script::{Frame, Template};

use super::parse_expires::parse_expires;
use myriad_exchange::exchange::{Request, exchange_buffers};
use myriad_exchange::runtime::ExpiresRule;

/// Effect of `expires` on a response.
enum ExpiresResult {
    /// The response is unchanged.
    Off,
    /// The response is already expired: `Expires` is one second after the start of the Unix epoch.
    Epoch,
    /// `Expires` is at the end of 2037, and `max-age` is ten years.
    Max,
    /// Lifetime of the response in seconds; negative for a time in the past.
    In(i64),
}

/// Returns whether `expires`, and `add_header` without `always`, apply to a status.
pub(crate) fn is_decorated(status: u16) -> bool {
    matches!(status, 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307 | 308)
}

/// Appends `Expires` and `Cache-Control` as the directive `expires` specifies. Returns true if it did; the caller must
/// then omit both fields of the response itself. `modified_s` is the modification time of the response in seconds since
/// the Unix epoch, if known.
pub(crate) fn write_expires(
    request: &Request,
    frame: &mut Frame,
    modified_s: Option<u64>,
    out: &mut Vec<u8>,
) -> bool {
    let now_s = request.received.wall_s();
    let verdict = evaluate(&request.place().headers.expires, request, frame, modified_s, now_s);
    match verdict {
        ExpiresResult::Off => return false,
        ExpiresResult::Epoch => {
            out.extend_from_slice(b"Expires: Thu, 01 Jan 1970 00:00:01 GMT\r\nCache-Control: no-cache\r\n");
        }
        ExpiresResult::Max => out.extend_from_slice(
            b"Expires: Thu, 31 Dec 2037 23:55:55 GMT\r\nCache-Control: max-age=315360000\r\n",
        ),
        ExpiresResult::In(seconds) => write_block(now_s, seconds, out),
    }
    true
}

/// Header lines `Expires` and `Cache-Control` as written last. They are cached because most responses within a second
/// need equal lines.
struct ExpiresLines {
    now_s: u64,
    seconds: i64,
    text: Vec<u8>,
}

thread_local! {
    static BLOCK: RefCell<ExpiresLines> = const { RefCell::new(ExpiresLines { now_s: 0, seconds: 0, text: Vec::new() }) };
}

fn write_block(now_s: u64, seconds: i64, out: &mut Vec<u8>) {
    BLOCK.with_borrow_mut(|block| {
        if (block.now_s, block.seconds) != (now_s, seconds) || block.text.is_empty() {
            (block.now_s, block.seconds) = (now_s, seconds);
            block.text.clear();
            block.text.extend_from_slice(b"Expires: ");
            write_http_date(now_s.saturating_add_signed(seconds), &mut block.text);
            if seconds < 0 {
                block.text.extend_from_slice(b"\r\nCache-Control: no-cache\r\n");
            } else {
                // Writing to memory cannot fail.
                let _ = write!(block.text, "\r\nCache-Control: max-age={seconds}\r\n");
            }
        }
        out.extend_from_slice(&block.text);
    });
}

fn evaluate(
    expires: &ExpiresRule<Template>,
    request: &Request,
    frame: &mut Frame,
    modified_s: Option<u64>,
    now_s: u64,
) -> ExpiresResult {
    match expires {
        ExpiresRule::Off => ExpiresResult::Off,
        ExpiresRule::Epoch => ExpiresResult::Epoch,
        ExpiresRule::Max => ExpiresResult::Max,
        ExpiresRule::Access(seconds) => ExpiresResult::In(*seconds),
        ExpiresRule::Modified(seconds) => match modified_s {
            Some(modified) => ExpiresResult::In(modified.cast_signed() + seconds - now_s.cast_signed()),
            None => ExpiresResult::In(*seconds),
        },
        ExpiresRule::Daily(second) => ExpiresResult::In(until_daily(*second, now_s)),
        ExpiresRule::Variable { text: template, modified } => {
            let parsed = exchange_buffers::with_buffer(|text| {
                template.eval(request, frame, text).ok()?;
                // As in nginx, an invalid or empty value leaves the fields unchanged.
                parse_expires(text, *modified).filter(|_| !text.is_empty())
            });
            match parsed {
                Some(said) => evaluate(&said, request, frame, modified_s, now_s),
                None => ExpiresResult::Off,
            }
        }
    }
}

fn until_daily(second: u32, now_s: u64) -> i64 {
    let local = now_s.cast_signed() + i64::from(local_time::offset_minutes(now_s)) * 60;
    (i64::from(second) - local.rem_euclid(86_400)).rem_euclid(86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_day_is_at_most_a_day_ahead() {
        let now_s = 784_111_777;
        for second in [0, 1, 43_200, 86_399] {
            let ahead = until_daily(second, now_s);
            assert!((0..86_400).contains(&ahead), "{second}: {ahead}");
            assert_eq!(until_daily(second, now_s.saturating_add_signed(ahead)), 0, "{second}");
        }
    }

    #[test]
    fn expires_lines_are_rebuilt_when_second_or_duration_changes() {
        let written = |now_s, seconds| {
            let mut out = Vec::new();
            write_block(now_s, seconds, &mut out);
            String::from_utf8(out).unwrap()
        };
        let first = written(784_111_777, 0);
        assert_eq!(first, "Expires: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: max-age=0\r\n");
        assert_eq!(written(784_111_777, 0), first);
        assert!(written(784_111_778, 0).contains("08:49:38"));
        assert!(written(784_111_778, -1).contains("no-cache"));
    }
}
