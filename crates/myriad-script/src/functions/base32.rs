//! Base32 with a configurable alphabet.

use crate::functions::function::{Function, text};

/// Default alphabet: that of base32hex in lower case (RFC 4648 section 7).
pub const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// Alphabet and padding of base32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base32 {
    /// Digits for the values from 0 to 31 (`set_base32_alphabet`).
    pub alphabet: [u8; 32],
    /// True if the encoded text is padded with `=` to a multiple of eight digits (`set_base32_padding`).
    pub padding: bool,
}

impl Default for Base32 {
    fn default() -> Self {
        Self { alphabet: *ALPHABET, padding: true }
    }
}

impl Base32 {
    /// Returns the function of `set_encode_base32`.
    pub fn encoder(self) -> Function {
        Function::of_any(move |bytes, out| self.encode(bytes, out))
    }

    /// Returns the function of `set_decode_base32`. Its result is empty for an invalid text.
    pub fn decoder(self) -> Function {
        Function::of(move |texts, out| {
            out.extend_from_slice(&self.decode(text(texts, 0)).unwrap_or_default());
            Ok(())
        })
    }

    fn encode(&self, bytes: &[u8], out: &mut Vec<u8>) {
        for group in bytes.chunks(5) {
            let mut filled = [0; 8];
            filled[3..3 + group.len()].copy_from_slice(group);
            let bits = u64::from_be_bytes(filled);
            let digits = (group.len() * 8).div_ceil(5);
            out.extend((0..digits).map(|index| self.alphabet[(bits >> (35 - 5 * index) & 31) as usize]));
            if self.padding {
                out.resize(out.len() + 8 - digits, b'=');
            }
        }
    }

    /// Decodes a text up to its first `=`; `None` if it is invalid.
    fn decode(&self, text: &[u8]) -> Option<Vec<u8>> {
        let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
        let mut bytes = Vec::with_capacity(end / 8 * 5 + 5);
        for group in text[..end].chunks(8) {
            // Groups of these lengths do not encode a whole number of bytes.
            if matches!(group.len(), 1 | 3 | 6) {
                return None;
            }
            let mut bits = 0u64;
            for (index, byte) in group.iter().enumerate() {
                bits |= self.value(*byte)? << (35 - 5 * index);
            }
            bytes.extend_from_slice(&bits.to_be_bytes()[3..3 + group.len() * 5 / 8]);
        }
        Some(bytes)
    }

    /// Returns the value of a digit; `None` if the byte is not a digit. With the default alphabet, letter case is
    /// ignored.
    fn value(&self, byte: u8) -> Option<u64> {
        let find = |wanted: u8| self.alphabet.iter().position(|digit| *digit == wanted);
        let usual = self.alphabet == *ALPHABET;
        find(byte).or_else(|| find(byte.to_ascii_lowercase()).filter(|_| usual)).map(|at| at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::shown;

    #[test]
    fn texts_are_written_and_read() {
        let usual = Base32::default();
        let (encoder, decoder) = (usual.clone().encoder(), usual.decoder());
        let pairs =
            [("abcde", "c5h66p35"), ("a", "c4======"), ("ab", "c5h0===="), ("abc", "c5h66==="), ("", "")];
        for (text, coded) in pairs {
            assert_eq!(shown(&encoder, &[text]), coded);
            assert_eq!(shown(&decoder, &[coded]), text);
        }
        assert_eq!(shown(&decoder, &["C5H66P35"]), "abcde");
        for wrong in ["c", "c5h", "c5h66p", "c5h66p3z", "c5 66p35"] {
            assert_eq!(shown(&decoder, &[wrong]), "", "{wrong}");
        }
    }

    #[test]
    fn alphabet_and_padding_are_as_written() {
        let written = Base32 { alphabet: *b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", padding: false };
        // RFC 4648 section 10.
        for (text, coded) in [("f", "MY"), ("foob", "MZXW6YQ"), ("foobar", "MZXW6YTBOI")] {
            assert_eq!(shown(&written.clone().encoder(), &[text]), coded);
            assert_eq!(shown(&written.clone().decoder(), &[coded]), text);
        }
        assert_eq!(shown(&written.decoder(), &["my"]), "");
    }

    #[test]
    fn what_is_encoded_comes_back() {
        let mut random = fastrand::Rng::with_seed(11);
        let usual = Base32::default();
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..random.usize(..30)).map(|_| random.u8(..)).collect();
            let mut coded = Vec::new();
            usual.encode(&bytes, &mut coded);
            assert_eq!(coded.len() % 8, 0);
            assert_eq!(usual.decode(&coded), Some(bytes));
            for byte in &mut coded {
                *byte ^= random.u8(..4);
            }
            let _ = usual.decode(&coded);
        }
    }
}
