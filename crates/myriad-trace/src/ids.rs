//! The numbers of traces and spans.

/// The number of a trace: sixteen bytes, of which one at least is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// The number of a span: eight bytes, of which one at least is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// The number in these bytes; zeros, which are none, become one.
    pub fn of(high: u64, low: u64) -> Self {
        let low = if high == 0 && low == 0 { 1 } else { low };
        Self((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
    }

    /// Reads 32 hexadecimal digits in lower case that are not all zero.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        digits(text).map(Self)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Appends 32 hexadecimal digits.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_hex(&self.0, out);
    }
}

impl SpanId {
    /// The number in these bytes; zero, which is none, becomes one.
    pub fn of(number: u64) -> Self {
        Self(number.max(1).to_be_bytes())
    }

    /// Reads 16 hexadecimal digits in lower case that are not all zero.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        digits(text).map(Self)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// Appends 16 hexadecimal digits.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_hex(&self.0, out);
    }
}

/// The bytes of exactly so many digits in lower case (W3C Trace Context section 3.2.2 has no others); none where all are zero.
fn digits<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    bytes.iter().any(|byte| *byte != 0).then_some(bytes)
}

/// A hexadecimal digit in lower case.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}
