//! Encoding of fields into QPACK field sections (RFC 9204 §4.5).

use super::table::find;
use crate::h2::hpack::integer;

/// Encoder of field sections. It only reuses a buffer, and stores no state between sections.
#[derive(Debug, Default)]
pub struct QpackEncoder {
    name: Vec<u8>,
}

impl QpackEncoder {
    /// Starts a field section in `out` that does not refer to the dynamic table.
    pub fn begin(out: &mut Vec<u8>) {
        out.extend_from_slice(&[0, 0]);
    }

    /// Appends the pseudo-field `:status` to `out`.
    pub fn status(status: u16, out: &mut Vec<u8>) {
        let known = match status {
            103 => 24,
            200 => 25,
            304 => 26,
            404 => 27,
            503 => 28,
            100 => 63,
            204 => 64,
            206 => 65,
            302 => 66,
            400 => 67,
            403 => 68,
            421 => 69,
            425 => 70,
            500 => 71,
            other => {
                integer::write(out, 0x50, 4, 24);
                out.push(3);
                return out.extend([other / 100, other / 10, other].map(|digit| b'0' + (digit % 10) as u8));
            }
        };
        integer::write(out, 0xc0, 6, known);
    }

    /// Appends a field. Upper-case letters in its name are converted to lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.name.clear();
        self.name.extend(name.iter().map(u8::to_ascii_lowercase));
        let name = &self.name[..];
        // RFC 9204 §7.1: intermediaries must not add the field to a table either.
        let secret = if matches!(name, b"set-cookie" | b"authorization") { 0x20 } else { 0 };
        if let Some((index, is_equal)) = find(name, value) {
            if is_equal && secret == 0 {
                return integer::write(out, 0xc0, 6, index);
            }
            integer::write(out, 0x50 | secret, 4, index);
        } else {
            integer::write(out, 0x20 | secret >> 1, 3, name.len());
            out.extend_from_slice(name);
        }
        // Without Huffman coding, to save CPU time.
        integer::write(out, 0, 7, value.len());
        out.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::QpackDecoder;
    use super::*;

    #[test]
    fn what_is_written_is_read_back_in_lower_case() {
        let fields: [(&[u8], &[u8]); 6] = [
            (b"Content-Type", b"text/css"),
            (b"Content-Type", b"text/html"),
            (b"X-Cache", b"HIT"),
            (b"Set-Cookie", b"a=b"),
            (b"Vary", b""),
            (b"Link", &[b'x'; 200]),
        ];
        for status in [200, 207, 599] {
            let (mut encoder, mut out) = (QpackEncoder::default(), Vec::new());
            QpackEncoder::begin(&mut out);
            QpackEncoder::status(status, &mut out);
            for (name, value) in fields {
                encoder.field(name, value, &mut out);
            }
            let mut read = Vec::new();
            let take = |name: &[u8], value: &[u8]| read.push((name.to_vec(), value.to_vec()));
            QpackDecoder::default().section(0, &out, (1000, 1000), take).unwrap();
            assert_eq!(read[0], (b":status".to_vec(), status.to_string().into_bytes()));
            let expected = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()));
            assert_eq!(read[1..], expected);
        }
    }
}
