//! Version 1: a line of text.

use std::net::{IpAddr, SocketAddr};

use super::header::{BrokenHeader, Preface, ProxyHeader};

pub(super) const SIGNATURE: &[u8] = b"PROXY ";
/// The longest line with its end, bytes (section 2.1).
const LONGEST: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Result<Preface, BrokenHeader> {
    let Some(end) = bytes.iter().take(LONGEST).position(|byte| *byte == b'\n') else {
        return if bytes.len() < LONGEST { Ok(Preface::Partial) } else { Err(BrokenHeader) };
    };
    let line = bytes[SIGNATURE.len().min(end)..end].strip_suffix(b"\r").ok_or(BrokenHeader)?;
    let length = end + 1;
    // What follows `UNKNOWN` is to be ignored.
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return Ok(Preface::Complete(length, None));
    }
    let line = std::str::from_utf8(line).map_err(|_| BrokenHeader)?;
    let mut words = line.split(' ');
    if !matches!(words.next(), Some("TCP4" | "TCP6")) {
        return Err(BrokenHeader);
    }
    let mut ip = || words.next().and_then(|word| word.parse::<IpAddr>().ok()).ok_or(BrokenHeader);
    let (source, destination) = (ip()?, ip()?);
    let mut port = || words.next().and_then(port).ok_or(BrokenHeader);
    let (source_port, destination_port) = (port()?, port()?);
    if words.next().is_some() {
        return Err(BrokenHeader);
    }
    let header = ProxyHeader {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
        tlvs: Box::default(),
    };
    Ok(Preface::Complete(length, Some(Box::new(header))))
}

fn port(word: &str) -> Option<u16> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}
