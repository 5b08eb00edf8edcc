//! Parsing of private keys in PEM, plain or encrypted with a password.
//!
//! Two encryption formats are in use: PKCS #8 (RFC 5958), written by `openssl pkcs8` and OpenSSL 3, and the older
//! format of RFC 1421, whose first lines specify the encryption.

use crate::x509::der::{DerReader, tag};
use crate::x509::pem::{self, PemBlock};
use aes::{Aes128, Aes192, Aes256};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use des::TdesEde3;
use md5::{Digest, Md5};
use myriad_base::digits::hexadecimal;
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};

/// Maximum length in bytes of a password for private keys. Longer lines of a password file are ignored.
const LONGEST_PASSWORD: usize = 8192;

/// Decoded private key; `was_encrypted` is true if it was encrypted in its file.
pub(super) struct PrivateKey {
    pub(super) der: PrivateKeyDer<'static>,
    pub(super) was_encrypted: bool,
}

/// Returns the passwords of `ssl_password_file`: its lines that are not empty and at most [`LONGEST_PASSWORD`] bytes
/// long.
pub(crate) fn passwords(file: &[u8]) -> Vec<Vec<u8>> {
    let lines = file.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty() && line.len() <= LONGEST_PASSWORD).map(<[u8]>::to_vec).collect()
}

/// Returns the first private key of a PEM text. If it is encrypted, tries all passwords in order. Fails with a message
/// if there is no key, or if it cannot be decoded or decrypted.
pub(super) fn read_key(text: &[u8], passwords: &[Vec<u8>]) -> Result<PrivateKey, String> {
    for block in pem::blocks(text) {
        let block = block.map_err(|error| error.to_string())?;
        let known = match block.label {
            "ENCRYPTED PRIVATE KEY" => return open_pkcs8(&block, passwords),
            "PRIVATE KEY" => |der: Vec<u8>| PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der)),
            "RSA PRIVATE KEY" => |der: Vec<u8>| PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(der)),
            "EC PRIVATE KEY" => |der: Vec<u8>| PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(der)),
            _ => continue,
        };
        let was_encrypted = block.header("Proc-Type") == Some("4,ENCRYPTED");
        let der = if was_encrypted {
            let sealed = EncryptedKey::read(&block).ok_or("the key is encrypted, but the DEK-Info header that specifies the encryption is missing or invalid")?;
            if !CIPHERS.contains(&sealed.cipher.as_str()) {
                return Err(format!(
                    "the key is encrypted with \"{}\", which is not supported",
                    sealed.cipher
                ));
            }
            try_passwords(passwords, |password| sealed.open(password))?
        } else {
            block.bytes().map_err(|error| error.to_string())?
        };
        return Ok(PrivateKey { der: known(der), was_encrypted });
    }
    Err("the file contains no private key in PEM format".to_owned())
}

fn open_pkcs8(block: &PemBlock<'_>, passwords: &[Vec<u8>]) -> Result<PrivateKey, String> {
    let der = block.bytes().map_err(|error| error.to_string())?;
    let info = EncryptedPrivateKeyInfoRef::try_from(der.as_slice()).map_err(|error| error.to_string())?;
    let opened = try_passwords(passwords, |password| Some(info.decrypt(password).ok()?.as_bytes().to_vec()))?;
    Ok(PrivateKey { der: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(opened)), was_encrypted: true })
}

fn try_passwords<T>(passwords: &[Vec<u8>], mut with: impl FnMut(&[u8]) -> Option<T>) -> Result<T, String> {
    if passwords.is_empty() {
        return Err(
            "the key is encrypted: set ssl_password_file, or proxy_ssl_password_file for an upstream"
                .to_owned(),
        );
    }
    let opened = passwords.iter().find_map(|password| with(password));
    opened.ok_or_else(|| "the key is encrypted, and none of the passwords decrypts it".to_owned())
}

/// Ciphers of RFC 1421 keys that are supported, by the names in their `DEK-Info` header.
const CIPHERS: [&str; 4] = ["AES-128-CBC", "AES-192-CBC", "AES-256-CBC", "DES-EDE3-CBC"];

/// Private key encrypted in the PEM format of RFC 1421. `start` is the initialization vector.
struct EncryptedKey {
    cipher: String,
    start: Vec<u8>,
    bytes: Vec<u8>,
}

impl EncryptedKey {
    fn read(block: &PemBlock<'_>) -> Option<Self> {
        let (cipher, start) = block.header("DEK-Info")?.split_once(',')?;
        let pairs = start.trim().as_bytes().chunks(2);
        let start: Option<Vec<u8>> = pairs.map(hexadecimal).collect();
        Some(Self { cipher: cipher.trim().to_owned(), start: start?, bytes: block.bytes().ok()? })
    }

    fn open(&self, password: &[u8]) -> Option<Vec<u8>> {
        match self.cipher.as_str() {
            "AES-128-CBC" => self.decrypt_with::<Aes128>(password),
            "AES-192-CBC" => self.decrypt_with::<Aes192>(password),
            "AES-256-CBC" => self.decrypt_with::<Aes256>(password),
            "DES-EDE3-CBC" => self.decrypt_with::<TdesEde3>(password),
            _ => None,
        }
    }

    fn decrypt_with<C: BlockCipherDecrypt + KeyInit>(&self, password: &[u8]) -> Option<Vec<u8>> {
        let key = derive(password, self.start.get(..8)?, C::key_size());
        let decryptor = cbc::Decryptor::<C>::new_from_slices(&key, &self.start).ok()?;
        let der = decryptor.decrypt_padded_vec::<Pkcs7>(&self.bytes).ok()?;
        // One of 256 wrong passwords gives valid padding; the result is then not a DER sequence.
        DerReader::new(&der).inside(tag::SEQUENCE).is_ok().then_some(der)
    }
}

/// Derives a key of `length` bytes from a password as OpenSSL does for RFC 1421: each 16 bytes are the MD5 hash of the
/// previous 16 bytes, the password and the salt (8 bytes).
fn derive(password: &[u8], salt: &[u8], length: usize) -> Vec<u8> {
    let mut key: Vec<u8> = Vec::new();
    let mut last: Vec<u8> = Vec::new();
    while key.len() < length {
        last = Md5::new().chain_update(&last).chain_update(password).chain_update(salt).finalize().to_vec();
        key.extend_from_slice(&last);
    }
    key.truncate(length);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_lines() {
        assert_eq!(passwords(b"one\r\n\ntwo \n"), [b"one".to_vec(), b"two ".to_vec()]);
        assert!(passwords(b"").is_empty());
    }

    /// Private key without encryption, written by OpenSSL.
    const BARE: &str = include_str!("fixtures/bare.pem");
    /// Key of `BARE`, encrypted by OpenSSL with the password `secret` in all common formats.
    const SEALED: [&str; 4] = [
        include_str!("fixtures/pkcs8.pem"),
        include_str!("fixtures/pkcs8-des3.pem"),
        include_str!("fixtures/aes256.pem"),
        include_str!("fixtures/des3.pem"),
    ];

    #[test]
    fn one_of_the_passwords_opens_a_key() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let public = |key: PrivateKey| {
            let key = provider.key_provider.load_private_key(key.der).unwrap();
            key.public_key().unwrap().to_vec()
        };
        let bare = read_key(BARE.as_bytes(), &[]).unwrap();
        assert!(!bare.was_encrypted);
        let bare = public(bare);
        for sealed in SEALED {
            let key = read_key(sealed.as_bytes(), &[b"wrong".to_vec(), b"secret".to_vec()]).unwrap();
            assert!(key.was_encrypted);
            assert_eq!(public(key), bare);
            let none = read_key(sealed.as_bytes(), &[]).err().unwrap();
            assert!(none.contains("set ssl_password_file"), "{none}");
            let wrong = read_key(sealed.as_bytes(), &[b"wrong".to_vec()]).err().unwrap();
            assert!(wrong.contains("none of the passwords"), "{wrong}");
        }
    }

    #[test]
    fn unsupported_cipher_is_named_in_the_error() {
        let old = include_str!("fixtures/aes256.pem").replace("AES-256-CBC", "DES-CBC");
        let error = read_key(old.as_bytes(), &[b"secret".to_vec()]).err().unwrap();
        assert_eq!(error, "the key is encrypted with \"DES-CBC\", which is not supported");
    }

    #[test]
    fn the_first_key_of_a_file_counts_whatever_stands_around_it() {
        let text =
            format!("-----BEGIN EC PARAMETERS-----\n!\n-----END EC PARAMETERS-----\n{BARE}{}", SEALED[0]);
        assert!(!read_key(text.as_bytes(), &[]).unwrap().was_encrypted);
        let text = format!("{}{BARE}", SEALED[0]);
        assert!(read_key(text.as_bytes(), &[b"secret".to_vec()]).unwrap().was_encrypted);
        let why = |text: &str| read_key(text.as_bytes(), &[]).err().unwrap();
        assert_eq!(why("words"), "the file contains no private key in PEM format");
        assert_eq!(why(&BARE[..BARE.len() / 2]), "a PEM line `-----END` is missing");
        assert_eq!(why(&BARE.replacen("\nM", "\n!", 1)), "the base64 text is invalid");
    }

    #[test]
    fn nonsense_is_no_key() {
        for broken in [
            "",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
        ] {
            assert!(read_key(broken.as_bytes(), &[b"secret".to_vec()]).is_err(), "{broken}");
        }
    }
}
