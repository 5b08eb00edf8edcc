//! Head of an SCGI request: a netstring of names and values, each terminated by NUL.

use std::io::Write;

use crate::cgi::Pairs;

/// SCGI request head in progress: encoded pairs of names and values.
pub(super) struct Netstring(Vec<u8>);

impl Netstring {
    /// Creates the head with the two pairs that SCGI requires, first the length of the request body in bytes.
    pub(super) fn new(length: u64) -> Self {
        let mut pairs = Vec::with_capacity(2048);
        let _ = write!(pairs, "CONTENT_LENGTH\0{length}\0SCGI\x001\0");
        Self(pairs)
    }

    /// Returns the SCGI request head as a netstring: the length of the pairs, a colon, the pairs and a comma.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut head = Vec::with_capacity(self.0.len() + 16);
        let _ = write!(head, "{}:", self.0.len());
        head.extend_from_slice(&self.0);
        head.push(b',');
        head
    }
}

impl Pairs for Netstring {
    /// Appends a pair without its NUL bytes, which would terminate the text. The two pairs that SCGI requires are
    /// already present and are ignored.
    fn push(&mut self, name: &[u8], value: &[u8]) {
        if name == b"CONTENT_LENGTH" || name == b"SCGI" {
            return;
        }
        for text in [name, value] {
            self.0.extend(text.iter().filter(|byte| **byte != 0));
            self.0.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_length_is_first_and_unique() {
        let mut pairs = Netstring::new(27);
        pairs.push(b"REQUEST_METHOD", b"POST");
        pairs.push(b"CONTENT_LENGTH", b"1");
        pairs.push(b"SCGI", b"2");
        pairs.push(b"REQUEST_URI", b"/deepthought");
        // Example in the protocol specification.
        let expected =
            b"70:CONTENT_LENGTH\x0027\0SCGI\x001\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,";
        assert_eq!(pairs.finish(), expected);
    }

    #[test]
    fn no_value_ends_early() {
        let mut pairs = Netstring::new(0);
        pairs.push(b"A", b"1\0B\x002");
        assert_eq!(pairs.finish(), b"30:CONTENT_LENGTH\x000\0SCGI\x001\0A\x001B2\0,");
    }
}
