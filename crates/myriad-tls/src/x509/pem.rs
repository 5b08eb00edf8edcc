//! PEM reader and writer (RFC 7468), also used by other crates of the workspace. Blocks may have header lines (RFC
//! 1421), as encrypted keys do.
//!
//! Text outside of blocks is skipped, as in OpenSSL. Base64 is decoded in constant time, because it may contain keys.

use std::fmt;

use base64ct::{Base64, Base64Unpadded, Encoding};
use zeroize::Zeroizing;

use crate::x509::der::{DerReader, tag};

/// Number of base64 characters per line of a written PEM block, as in OpenSSL.
const LINE: usize = 64;
/// Labels of PEM blocks with certificates. After a certificate labeled `TRUSTED`, OpenSSL writes trust settings.
const CERTIFICATES: [&str; 3] = ["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"];

/// Reason why a PEM text is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PemError {
    /// A line starts with `-----BEGIN` but does not end with `-----`.
    Begin,
    /// A block has no matching `-----END` line.
    End,
    /// The content of a block is not base64.
    Base64,
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "a PEM line `-----BEGIN` is incomplete",
            Self::End => "a PEM line `-----END` is missing",
            Self::Base64 => "the base64 text is invalid",
        })
    }
}

impl std::error::Error for PemError {}

/// Block of a PEM text. Its content is decoded on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PemBlock<'a> {
    /// Label, such as `CERTIFICATE`; empty if it is not UTF-8.
    pub label: &'a str,
    /// Header lines of the block: those that contain a colon.
    headers: Vec<&'a [u8]>,
    /// Lines of the block with base64 content: all other lines.
    base64: Vec<&'a [u8]>,
}

impl<'a> PemBlock<'a> {
    fn new(label: &'a [u8]) -> Self {
        Self {
            label: std::str::from_utf8(label).unwrap_or_default(),
            headers: Vec::new(),
            base64: Vec::new(),
        }
    }

    fn push(&mut self, line: &'a [u8]) {
        if line.contains(&b':') {
            self.headers.push(line);
        } else {
            self.base64.push(line);
        }
    }

    /// Returns the value of a header line (RFC 1421 section 4.6), such as `DEK-Info`; `None` if it is missing or not
    /// UTF-8.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find_map(|line| {
            let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
            Some(std::str::from_utf8(value).ok()?.trim())
        })
    }

    /// Decodes the content. Base64 padding is optional.
    pub fn bytes(&self) -> Result<Vec<u8>, PemError> {
        self.secret().map(|mut bytes| std::mem::take(&mut *bytes))
    }

    /// Decodes secret content, such as a key. The result is the only copy and is overwritten when dropped.
    pub fn secret(&self) -> Result<Zeroizing<Vec<u8>>, PemError> {
        // Allocated in full size, because growing would leave a copy.
        let room = self.base64.iter().map(|line| line.len()).sum();
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        let characters = self.base64.iter().copied().flatten();
        bytes.extend(characters.filter(|byte| !byte.is_ascii_whitespace()));
        let padding = bytes.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
        let unpadded = bytes.len() - padding;
        bytes.truncate(unpadded);
        let length = Base64Unpadded::decode_in_place(&mut bytes).map_err(|_| PemError::Base64)?.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Returns the blocks of a text in order. Continues after a malformed block.
pub fn blocks(text: &[u8]) -> impl Iterator<Item = Result<PemBlock<'_>, PemError>> {
    let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    let mut open: Option<PemBlock<'_>> = None;
    std::iter::from_fn(move || {
        for line in lines.by_ref() {
            if let Some(rest) = line.strip_prefix(b"-----BEGIN ") {
                let label = rest.strip_suffix(b"-----");
                let cut = std::mem::replace(&mut open, label.map(PemBlock::new));
                match (label, cut) {
                    (None, _) => return Some(Err(PemError::Begin)),
                    (_, Some(_)) => return Some(Err(PemError::End)),
                    (_, None) => {}
                }
            } else if let Some(rest) = line.strip_prefix(b"-----END ") {
                let Some(block) = open.take() else { continue };
                let is_its_own =
                    rest.strip_prefix(block.label.as_bytes()).is_some_and(|rest| rest.starts_with(b"-----"));
                return Some(if is_its_own { Ok(block) } else { Err(PemError::End) });
            } else if let Some(block) = &mut open {
                block.push(line);
            }
        }
        open.take().map(|_| Err(PemError::End))
    })
}

/// Returns the certificates of a text in DER, without the trust settings that OpenSSL may append. Malformed blocks,
/// also of other labels, are returned as errors.
pub fn certificates(text: &[u8]) -> impl Iterator<Item = Result<Vec<u8>, PemError>> {
    let of_certificates = blocks(text).filter(|block| match block {
        Ok(block) => CERTIFICATES.contains(&block.label),
        Err(_) => true,
    });
    of_certificates.map(|block| {
        let mut der = block?.bytes()?;
        let length = DerReader::new(&der).expect(tag::SEQUENCE).map_or(der.len(), |value| value.whole.len());
        der.truncate(length);
        Ok(der)
    })
}

/// Formats bytes as a PEM block, with a final line break. No other copy of the content remains in memory.
pub fn block(label: &str, bytes: &[u8]) -> String {
    let text = Zeroizing::new(Base64::encode_string(bytes));
    let mut out = String::with_capacity(text.len() + text.len() / LINE + 2 * label.len() + 64);
    out.extend(["-----BEGIN ", label, "-----\n"]);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(LINE));
        out.extend([line, "\n"]);
        rest = next;
    }
    out.extend(["-----END ", label, "-----\n"]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(text: &[u8]) -> Vec<Vec<u8>> {
        certificates(text).flatten().collect()
    }

    fn first_error(text: &[u8]) -> Option<PemError> {
        blocks(text).find_map(|block| block.and_then(|block| block.bytes()).err())
    }

    #[test]
    fn blocks_are_written_and_read_with_text_around_them() {
        let text = format!("words\n{}between\r\n{}", block("ONE", &[1; 100]), block("CERTIFICATE", b"two"));
        let read: Vec<_> =
            blocks(text.as_bytes()).map(|block| block.map(|block| (block.label, block.bytes()))).collect();
        assert_eq!(read, [Ok(("ONE", Ok(vec![1; 100]))), Ok(("CERTIFICATE", Ok(b"two".to_vec())))]);
        assert_eq!(sound(text.as_bytes()), [b"two".to_vec()]);
        assert!(text.lines().all(|line| line.len() <= LINE));
    }

    #[test]
    fn every_length_is_written_with_padding_and_read_without() {
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length).collect();
            let text = block("X", &bytes);
            let bare = text.replace('=', "");
            for text in [text, bare] {
                let block = blocks(text.as_bytes()).next().unwrap().unwrap();
                assert_eq!(block.bytes().as_ref(), Ok(&bytes), "{text}");
            }
        }
    }

    #[test]
    fn lines_may_end_in_any_way_and_begin_with_space() {
        let text = block("CERTIFICATE", &[5; 90]);
        for end in ["\n", "\r\n", "\r", " \t\n", "\n  ", "\n\n"] {
            assert_eq!(sound(text.replace('\n', end).as_bytes()), [vec![5; 90]], "{end:?}");
        }
        assert_eq!(sound(text.trim_end().as_bytes()), [vec![5; 90]], "no line end behind the last");
    }

    #[test]
    fn truncated_and_broken_pem_blocks_are_reported_and_later_blocks_read() {
        let whole = block("CERTIFICATE", &[7; 60]);
        for length in 0..whole.len() - 6 {
            assert!(sound(&whole.as_bytes()[..length]).is_empty(), "{length}");
        }
        for (text, error) in [
            ("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", PemError::Base64),
            ("-----BEGIN CERTIFICATE-----\nAAA==A\n-----END CERTIFICATE-----\n", PemError::Base64),
            ("-----BEGIN CERTIFICATE-----\nA===\n-----END CERTIFICATE-----\n", PemError::Base64),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", PemError::End),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END OTHER-----\n", PemError::End),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE\n", PemError::End),
            ("-----BEGIN CERTIFICATE\nAAAA\n-----END CERTIFICATE-----\n", PemError::Begin),
        ] {
            assert_eq!(first_error(text.as_bytes()), Some(error), "{text}");
            assert_eq!(sound(format!("{text}{whole}").as_bytes()), [vec![7; 60]], "{text}");
        }
    }

    #[test]
    fn ends_without_a_beginning_are_words() {
        let text = format!("-----END CERTIFICATE-----\n{}-----END X-----", block("CERTIFICATE", &[3; 3]));
        assert_eq!(certificates(text.as_bytes()).collect::<Vec<_>>(), [Ok(vec![3; 3])]);
        assert_eq!(blocks(b"").next(), None);
    }

    #[test]
    fn certificates_are_read_under_three_labels_without_trailing_trust_data() {
        let der = [0x30, 3, 2, 1, 5];
        let noted = [&der[..], &[0x30, 2, 5, 0]].concat();
        let text = [
            block("TRUSTED CERTIFICATE", &noted),
            block("X509 CERTIFICATE", &der),
            block("PRIVATE KEY", &der),
            block("CERTIFICATE", b"no DER"),
        ]
        .concat();
        assert_eq!(sound(text.as_bytes()), [der.to_vec(), der.to_vec(), b"no DER".to_vec()]);
    }

    #[test]
    fn pem_headers_are_parsed_separately_from_content() {
        let text = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAQID\n-----END RSA PRIVATE KEY-----";
        let block = blocks(text.as_bytes()).next().unwrap().unwrap();
        assert_eq!(block.header("Proc-Type"), Some("4,ENCRYPTED"));
        assert_eq!(block.header("DEK-Info"), Some("AES-128-CBC,00"));
        assert_eq!((block.header("DEK"), block.header("Missing")), (None, None));
        assert_eq!(block.bytes(), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn bytes_that_are_no_text_are_passed_over_or_refused() {
        let mut random = fastrand::Rng::with_seed(7468);
        let whole = block("CERTIFICATE", &[9; 200]);
        for _ in 0..3000 {
            let mut bytes = whole.clone().into_bytes();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            for block in blocks(&bytes).flatten() {
                let _ = (block.bytes(), block.header("X"));
            }
        }
    }
}
