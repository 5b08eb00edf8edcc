//! Digests: MD5 and SHA-1 in hexadecimal, HMAC in bytes.

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;

use crate::functions::coding::encode_hex;
use crate::functions::function::{FunctionError, text};

/// Appends the MD5 digest of `text` in hexadecimal (`set_md5`).
pub fn md5(text: &[u8], out: &mut Vec<u8>) {
    encode_hex(&Md5::digest(text), out);
}

/// Appends the SHA-1 digest of `text` in hexadecimal (`set_sha1`).
pub fn sha1(text: &[u8], out: &mut Vec<u8>) {
    encode_hex(&Sha1::digest(text), out);
}

/// Appends the HMAC-SHA1 bytes of two texts, a key and a message (`set_hmac_sha1`).
///
/// # Errors
/// Never returns an error: every key is valid.
pub fn hmac_sha1(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    mac::<Hmac<Sha1>>(texts, out)
}

/// Appends the HMAC-SHA256 bytes of two texts, a key and a message (`set_hmac_sha256`).
///
/// # Errors
/// Never returns an error: every key is valid.
pub fn hmac_sha256(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    mac::<Hmac<Sha256>>(texts, out)
}

fn mac<M: Mac + KeyInit>(texts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let mut code =
        <M as KeyInit>::new_from_slice(text(texts, 0)).map_err(|_| FunctionError::new("bad key"))?;
    code.update(text(texts, 1));
    out.extend_from_slice(&code.finalize().into_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::coding::encode_base64;
    use crate::functions::function::{Function, shown};

    #[test]
    fn digests_are_hexadecimal() {
        assert_eq!(shown(&Function::of_any(md5), &["hello"]), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(shown(&Function::of_any(sha1), &["hello"]), "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d");
        assert_eq!(shown(&Function::of_any(md5), &[""]), "d41d8cd98f00b204e9800998ecf8427e");
    }

    #[test]
    fn codes_are_bytes() {
        type MacFunction = fn(&[&[u8]], &mut Vec<u8>) -> Result<(), FunctionError>;
        let coded = |code: MacFunction, key: &str, text: &str| {
            let (mut bytes, mut shown) = (Vec::new(), Vec::new());
            code(&[key.as_bytes(), text.as_bytes()], &mut bytes).expect("a code");
            encode_base64(&bytes, &mut shown);
            String::from_utf8(shown).expect("text")
        };
        let (key, text) = ("thisisverysecretstuff", "some string we want to sign");
        assert_eq!(coded(hmac_sha1, key, text), "R/pvxzHC4NLtj7S+kXFg/NePTmk=");
        assert_eq!(coded(hmac_sha256, key, text), "4pU3GRQrKKIoeLb9CqYsavHE2l6Hx+KMmRmesU+Cfrs=");
        assert_eq!(coded(hmac_sha1, "", "").len(), 28, "an empty key is a key");
        assert_eq!(coded(hmac_sha256, &"k".repeat(200), "").len(), 44, "and so is a long one");
    }
}
