//! PEM (RFC 7468): blocks with their labels.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Characters of a line.
const LINE: usize = 64;

/// The blocks of a text, in its order: label and bytes. What stands around them is passed over, and so is a block that
/// is cut or holds what no base64 is.
pub fn blocks(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = String::from_utf8_lossy(text);
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines().map(str::trim) {
        if let Some(label) = mark(line, "-----BEGIN ") {
            open = Some((label.to_owned(), String::new()));
        } else if mark(line, "-----END ").is_some() {
            let block = open.take().and_then(|(label, body)| Some((label, STANDARD.decode(body).ok()?)));
            blocks.extend(block);
        } else if let Some((_, body)) = &mut open {
            body.push_str(line);
        }
    }
    blocks
}

fn mark<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix("-----")
}

/// One block.
pub fn block(label: &str, bytes: &[u8]) -> String {
    let body = STANDARD.encode(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out + "-----END " + label + "-----\n"
}

/// The certificates of a text, in DER.
pub fn certificates(text: &[u8]) -> Vec<Vec<u8>> {
    let of_certificates = blocks(text).into_iter().filter(|(label, _)| label == "CERTIFICATE");
    of_certificates.map(|(_, bytes)| bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_and_read_with_text_around_them() {
        let text = format!("words\n{}between\r\n{}", block("ONE", &[1; 100]), block("CERTIFICATE", b"two"));
        let blocks = blocks(text.as_bytes());
        assert_eq!(blocks, [("ONE".to_owned(), vec![1; 100]), ("CERTIFICATE".to_owned(), b"two".to_vec())]);
        assert_eq!(certificates(text.as_bytes()), [b"two".to_vec()]);
        assert!(text.lines().all(|line| line.len() <= LINE));
    }

    #[test]
    fn cut_and_broken_blocks_are_passed_over() {
        let whole = block("CERTIFICATE", &[7; 60]);
        for length in 0..whole.len() - 6 {
            assert!(certificates(&whole.as_bytes()[..length]).is_empty(), "{length}");
        }
        assert!(certificates(b"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n").is_empty());
    }
}
