//! Private keys in PEM, bare or under a password.
//!
//! Two ways of encrypting them are in use: PKCS #8 (RFC 5958), which `openssl pkcs8` and OpenSSL 3 write, and the older one
//! of RFC 1421, which says in its first lines how the rest is encrypted.

use aes::{Aes128, Aes192, Aes256};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use des::TdesEde3;
use md5::{Digest, Md5};
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};

/// Most bytes of a password, as in nginx.
const LONGEST_PASSWORD: usize = 8192;

/// A key, and whether it was encrypted.
pub(super) struct Key {
    pub(super) der: PrivateKeyDer<'static>,
    pub(super) was_encrypted: bool,
}

/// The passwords of `ssl_password_file`: a line each, empty ones left out.
pub(crate) fn passwords(file: &[u8]) -> Vec<Vec<u8>> {
    let lines = file.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty() && line.len() <= LONGEST_PASSWORD).map(<[u8]>::to_vec).collect()
}

/// Reads the first key of a file; each password is tried where it is encrypted.
pub(super) fn read(pem: &[u8], passwords: &[Vec<u8>]) -> Result<Key, String> {
    let text = String::from_utf8_lossy(pem);
    let sections = sections(&text);
    if let Some((_, body)) = sections.iter().find(|(label, _)| *label == "ENCRYPTED PRIVATE KEY") {
        let der = decode(body).ok_or("its base64 is broken")?;
        let info = EncryptedPrivateKeyInfoRef::try_from(der.as_slice()).map_err(|error| error.to_string())?;
        let opened = open(passwords, |password| {
            let document = info.decrypt(password).ok()?;
            Some(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(document.as_bytes().to_vec())))
        })?;
        return Ok(Key { der: opened, was_encrypted: true });
    }
    let marked = |body: &&str| body.contains("Proc-Type: 4,ENCRYPTED");
    if let Some((label, body)) =
        sections.iter().find(|(label, body)| label.ends_with("PRIVATE KEY") && marked(body))
    {
        let sealed = Sealed::read(body).ok_or("it says nowhere how it is encrypted")?;
        let opened = open(passwords, |password| {
            let der = sealed.open(password)?;
            match *label {
                "RSA PRIVATE KEY" => Some(PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(der))),
                "EC PRIVATE KEY" => Some(PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(der))),
                _ => None,
            }
        })?;
        return Ok(Key { der: opened, was_encrypted: true });
    }
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound => "it holds no private key in PEM".to_owned(),
        other => why(&other).unwrap_or_else(|| other.to_string()),
    })?;
    Ok(Key { der, was_encrypted: false })
}

/// What is wrong with a PEM file, for whoever has to mend it.
pub(super) fn why(error: &pem::Error) -> Option<String> {
    match error {
        pem::Error::MissingSectionEnd { .. } => Some("a line `-----END` is missing".to_owned()),
        pem::Error::Base64Decode(_) => Some("its base64 is broken".to_owned()),
        _ => None,
    }
}

fn open<T>(passwords: &[Vec<u8>], mut with: impl FnMut(&[u8]) -> Option<T>) -> Result<T, String> {
    if passwords.is_empty() {
        return Err("it is encrypted, and no password file is named".to_owned());
    }
    let opened = passwords.iter().find_map(|password| with(password));
    opened.ok_or_else(|| "it is encrypted, and none of the passwords opens it".to_owned())
}

/// The labels of a PEM file and what stands between their lines.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = after.split_once("-----") else { break };
        let Some((body, next)) = body.split_once("-----END ") else { break };
        found.push((label, body));
        rest = next;
    }
    found
}

fn decode(body: &str) -> Option<Vec<u8>> {
    let text: String = body.split_whitespace().collect();
    BASE64_STANDARD.decode(text).ok()
}

/// A key as RFC 1421 encrypts it.
struct Sealed {
    cipher: String,
    start: Vec<u8>,
    bytes: Vec<u8>,
}

impl Sealed {
    fn read(body: &str) -> Option<Self> {
        let info = body.lines().find_map(|line| line.trim().strip_prefix("DEK-Info: "))?;
        let (cipher, start) = info.split_once(',')?;
        let pairs = start.trim().as_bytes().chunks(2);
        let start: Option<Vec<u8>> =
            pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        let lines = body.lines().filter(|line| !line.contains(':'));
        let bytes = decode(&lines.collect::<Vec<_>>().join("\n"))?;
        Some(Self { cipher: cipher.trim().to_owned(), start: start?, bytes })
    }

    fn open(&self, password: &[u8]) -> Option<Vec<u8>> {
        match self.cipher.as_str() {
            "AES-128-CBC" => self.open_by::<Aes128>(password),
            "AES-192-CBC" => self.open_by::<Aes192>(password),
            "AES-256-CBC" => self.open_by::<Aes256>(password),
            "DES-EDE3-CBC" => self.open_by::<TdesEde3>(password),
            _ => None,
        }
    }

    fn open_by<C: BlockCipherDecrypt + KeyInit>(&self, password: &[u8]) -> Option<Vec<u8>> {
        let key = derive(password, self.start.get(..8)?, C::key_size());
        let decryptor = cbc::Decryptor::<C>::new_from_slices(&key, &self.start).ok()?;
        let der = decryptor.decrypt_padded_vec::<Pkcs7>(&self.bytes).ok()?;
        // A wrong password passes for padding now and then; what it opens is no sequence.
        (der.first() == Some(&0x30)).then_some(der)
    }
}

/// OpenSSL's derivation for these: MD5 of what came before, the password and eight bytes of salt, until it is enough.
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

    /// The same key, as OpenSSL writes it bare and under the password `secret` in the ways that are in use.
    const BARE: &str = include_str!("fixtures/bare.pem");
    const SEALED: [&str; 4] = [
        include_str!("fixtures/pkcs8.pem"),
        include_str!("fixtures/pkcs8-des3.pem"),
        include_str!("fixtures/aes256.pem"),
        include_str!("fixtures/des3.pem"),
    ];

    #[test]
    fn one_of_the_passwords_opens_a_key() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let public = |key: Key| {
            let key = provider.key_provider.load_private_key(key.der).unwrap();
            key.public_key().unwrap().to_vec()
        };
        let bare = read(BARE.as_bytes(), &[]).unwrap();
        assert!(!bare.was_encrypted);
        let bare = public(bare);
        for sealed in SEALED {
            let key = read(sealed.as_bytes(), &[b"wrong".to_vec(), b"secret".to_vec()]).unwrap();
            assert!(key.was_encrypted);
            assert_eq!(public(key), bare);
            let none = read(sealed.as_bytes(), &[]).err().unwrap();
            assert!(none.contains("no password file"), "{none}");
            let wrong = read(sealed.as_bytes(), &[b"wrong".to_vec()]).err().unwrap();
            assert!(wrong.contains("none of the passwords"), "{wrong}");
        }
    }

    #[test]
    fn sections_are_found_and_nonsense_is_not() {
        let text = "x-----BEGIN A-----\n1\n-----END A-----\n-----BEGIN B-----\n2\n-----END B-----";
        assert_eq!(sections(text), [("A", "\n1\n"), ("B", "\n2\n")]);
        assert!(sections("-----BEGIN A-----\n1").is_empty());
        for broken in [
            "",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
        ] {
            assert!(read(broken.as_bytes(), &[b"secret".to_vec()]).is_err(), "{broken}");
        }
    }
}
