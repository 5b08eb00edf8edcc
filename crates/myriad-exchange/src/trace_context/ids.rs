//! Identifiers of traces and spans.

/// Identifier of a trace: sixteen bytes that are not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// Identifier of a span: eight bytes that are not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Creates an identifier from its high and low 64 bits. If both are 0, which is invalid, the identifier is 1.
    pub fn of(high: u64, low: u64) -> Self {
        let low = if high == 0 && low == 0 { 1 } else { low };
        Self((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
    }

    /// Parses 32 hexadecimal digits in lower case, not all zero; `None` for other texts.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        digits(text).map(Self)
    }

    /// Returns the 16 bytes of the identifier.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Appends the identifier to `out` as 32 hexadecimal digits in lower case.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_hex(&self.0, out);
    }
}

impl SpanId {
    /// Creates an identifier from a number. For 0, which is invalid, the identifier is 1.
    pub fn of(number: u64) -> Self {
        Self(number.max(1).to_be_bytes())
    }

    /// Parses 16 hexadecimal digits in lower case, not all zero; `None` for other texts.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        digits(text).map(Self)
    }

    /// Returns the 8 bytes of the identifier.
    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// Appends the identifier to `out` as 16 hexadecimal digits in lower case.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_hex(&self.0, out);
    }
}

/// Parses exactly `2 * N` hexadecimal digits in lower case (the only ones that W3C Trace Context section 3.2.2
/// permits); `None` for other texts, and if all digits are zero.
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

/// Parses a hexadecimal digit in lower case; `None` for other bytes.
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
