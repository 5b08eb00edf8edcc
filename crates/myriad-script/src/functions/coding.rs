//! Hexadecimal and base64 (RFC 4648).

use base64::Engine;
use base64::alphabet::{self, Alphabet};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::functions::function::{FunctionError, text};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Configuration of the decoders, which accept the same texts as nginx: padding may be missing, and surplus bits are
/// ignored.
const READ: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, READ);
const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, READ.with_encode_padding(false));
const URL_SAFE: Alphabet = alphabet::URL_SAFE;

/// Appends bytes in hexadecimal, in lower case (`set_encode_hex`).
pub fn encode_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]));
}

/// Decodes the first text from hexadecimal (`set_decode_hex`).
///
/// # Errors
/// Returns an error if the text does not consist of pairs of hexadecimal digits.
pub fn decode_hex(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let text = text(texts, 0);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for pair in text.chunks(2) {
        let value = match pair {
            [high, low] => digit(*high).zip(digit(*low)),
            _ => None,
        };
        let (high, low) = value.ok_or_else(|| FunctionError::bad("hexadecimal", text))?;
        out.push((high << 4 | low) as u8);
    }
    Ok(())
}

/// Appends bytes in base64 (`set_encode_base64`).
pub fn encode_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
}

/// Appends bytes in base64 with the URL alphabet, without padding as in nginx (`set_encode_base64url`).
pub fn encode_base64url(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(URL.encode(bytes).as_bytes());
}

/// Decodes the first text, up to its first `=`, from base64 (`set_decode_base64`).
///
/// # Errors
/// Returns an error if the text is not valid base64.
pub fn decode_base64(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    decode(&STANDARD, "base64", text(texts, 0), out)
}

/// Decodes the first text, up to its first `=`, from base64 with the URL alphabet (`set_decode_base64url`).
///
/// # Errors
/// Returns an error if the text is not valid base64 in the URL alphabet.
pub fn decode_base64url(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    decode(&URL, "base64url", text(texts, 0), out)
}

/// Decodes a text up to its first `=`.
fn decode(engine: &GeneralPurpose, what: &str, text: &[u8], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
    engine.decode_vec(&text[..end], out).map_err(|_| FunctionError::bad(what, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::{Function, shown};

    #[test]
    fn hexadecimal_is_read_in_either_case() {
        assert_eq!(shown(&Function::of_any(encode_hex), &["章亦春"]), "e7aba0e4baa6e698a5");
        let read = |text| shown(&Function::of(decode_hex), &[text]);
        assert_eq!(read("6162636465"), "abcde");
        assert_eq!(read("e7AbA0"), "章");
        assert_eq!(read(""), "");
        for wrong in ["6", "6g", "616", "+1", " 1"] {
            assert_eq!(read(wrong), format!("!bad hexadecimal value: \"{wrong}\""));
        }
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(shown(&Function::of_any(encode_base64), &["abcde"]), "YWJjZGU=");
        assert_eq!(shown(&Function::of_any(encode_base64url), &["abcde??>"]), "YWJjZGU_Pz4");
        let read = |text| shown(&Function::of(decode_base64), &[text]);
        for text in ["YWJjZGU=", "YWJjZGU", "YWJjZGV=", "YWJjZGU=ignored"] {
            assert_eq!(read(text), "abcde", "{text}");
        }
        for wrong in ["Y", "YWJj-", "YW Jj"] {
            assert_eq!(read(wrong), format!("!bad base64 value: \"{wrong}\""));
        }
        assert_eq!(shown(&Function::of(decode_base64url), &["YWJjZGU_Pz4"]), "abcde??>");
        assert_eq!(shown(&Function::of(decode_base64url), &["a+/="]), "!bad base64url value: \"a+/=\"");
    }

    type CodecPair = (fn(&[u8], &mut Vec<u8>), fn(&[&[u8]], &mut Vec<u8>) -> Result<(), FunctionError>);

    #[test]
    fn what_is_encoded_comes_back() {
        let mut random = fastrand::Rng::with_seed(5);
        let ways: [CodecPair; 3] =
            [(encode_hex, decode_hex), (encode_base64, decode_base64), (encode_base64url, decode_base64url)];
        for _ in 0..1000 {
            let bytes: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
            for (encode, decode) in ways {
                let (mut text, mut back) = (Vec::new(), Vec::new());
                encode(&bytes, &mut text);
                decode(&[&text], &mut back).expect("what was written");
                assert_eq!(back, bytes);
            }
        }
    }
}
