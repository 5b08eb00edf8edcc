//! Fatal errors that PHP reports on the FastCGI error stream.

/// Prefix of each message forwarded by php-fpm (`sapi/fpm/fpm/fpm_main.c`).
const PREFIX: &[u8] = b"PHP message: ";
/// Prefixes of messages after which PHP stops the script (`main/main.c`, `php_error_cb`).
const FATAL: [&[u8]; 4] = [
    b"PHP Fatal error: ",
    b"PHP Parse error: ",
    b"PHP Recoverable fatal error: ",
    b"PHP Catchable fatal error: ",
];
/// Number of bytes stored from the end of the stream: the length of [`PREFIX`] plus that of the longest text in
/// [`FATAL`].
const WINDOW: usize = 13 + 29;

/// Detector of PHP's fatal errors in an error stream, which arrives in pieces of any length.
#[derive(Debug, Default)]
pub struct FatalErrors {
    /// Last bytes of the error stream, in which a message may have started.
    tail: Vec<u8>,
    /// True if `tail` is the whole error stream so far.
    is_whole: bool,
    found: bool,
}

impl FatalErrors {
    /// Processes the next piece. Returns whether this or an earlier piece reported a fatal error.
    ///
    /// A message only counts at the start of the stream, at the start of a line, or after php-fpm's prefix, so that
    /// text logged by a script cannot imitate a message in the middle of another.
    pub fn push(&mut self, piece: &[u8]) -> bool {
        if self.found {
            return true;
        }
        let is_first = self.tail.is_empty();
        self.is_whole = (is_first || self.is_whole) && self.tail.len() + piece.len() <= WINDOW;
        let starts_stream = is_first || self.is_whole;
        self.tail.extend_from_slice(piece);
        let text = &self.tail[..];
        let is_start = |at: usize| {
            at == 0 && starts_stream || text[..at].ends_with(b"\n") || text[..at].ends_with(PREFIX)
        };
        self.found = FATAL.iter().any(|message| {
            let mut from = 0;
            while let Some(at) = find(&text[from..], message) {
                if is_start(from + at) {
                    return true;
                }
                from += at + message.len();
            }
            false
        });
        let surplus = self.tail.len().saturating_sub(WINDOW);
        self.tail.drain(..surplus);
        self.found
    }
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pieces: &[&[u8]]) -> bool {
        let mut errors = FatalErrors::default();
        pieces.iter().map(|piece| errors.push(piece)).last().unwrap_or(false)
    }

    const OF_FPM: &[u8] = b"PHP message: PHP Warning:  odd in /a.php on line 1PHP message: PHP Fatal error:  \
        Uncaught Error: Call to undefined function a() in /a.php:2\nStack trace:\n#0 {main}\n  thrown in /a.php on line 2";

    #[test]
    fn fatal_errors_are_found_in_whatever_pieces_they_come() {
        assert!(found(&[OF_FPM]));
        for at in 0..OF_FPM.len() {
            assert!(found(&[&OF_FPM[..at], &OF_FPM[at..]]), "{at}");
        }
        let bytes: Vec<&[u8]> = OF_FPM.chunks(1).collect();
        assert!(found(&bytes));
        assert!(found(&[b"PHP Parse error:  syntax error"]) && found(&[b"a\n", b"PHP Fatal error:  b"]));
        assert!(
            found(&[b"PHP message: PHP Fatal error:  a", b"PHP message: PHP Notice:  b"]),
            "it stays found"
        );
    }

    #[test]
    fn other_messages_and_text_within_a_message_do_not_count() {
        for text in [
            &b""[..],
            b"PHP message: PHP Warning:  PHP Fatal error: no",
            b"PHP message: asked for /?q=PHP Fatal error: x",
            b"PHP message: PHP Deprecated:  old",
        ] {
            assert!(!found(&[text]), "{}", text.escape_ascii());
            for at in 0..text.len() {
                assert!(!found(&[&text[..at], &text[at..]]), "{} {at}", text.escape_ascii());
            }
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            assert!(!found(&bytes));
        }
    }
}
