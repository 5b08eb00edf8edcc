//! FastCGI protocol of the application, implemented independently of the server (FastCGI 1.0, sections 3 and 5).

use std::collections::HashMap;
use std::io::{self, Read};

pub(crate) const BEGIN_REQUEST: u8 = 1;
pub(crate) const END_REQUEST: u8 = 3;
pub(crate) const PARAMS: u8 = 4;
pub(crate) const STDIN: u8 = 5;
pub(crate) const STDOUT: u8 = 6;
pub(crate) const STDERR: u8 = 7;

/// Received record.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) kind: u8,
    pub(crate) id: u16,
    pub(crate) content: Vec<u8>,
}

/// Reads a record with its padding.
pub(crate) fn read_record(stream: &mut impl Read) -> io::Result<Record> {
    let mut head = [0; 8];
    stream.read_exact(&mut head)?;
    let mut content = vec![0; usize::from(u16::from_be_bytes([head[4], head[5]]))];
    stream.read_exact(&mut content)?;
    stream.read_exact(&mut vec![0; usize::from(head[6])])?;
    Ok(Record { kind: head[1], id: u16::from_be_bytes([head[2], head[3]]), content })
}

/// Returns the records of a piece of a stream: the number that its length requires, none if it is empty.
pub(crate) fn records(kind: u8, id: u16, content: &[u8]) -> Vec<u8> {
    content.chunks(0xfff8).flat_map(|piece| record(kind, id, piece)).collect()
}

/// Returns a record, padded to a multiple of eight bytes as the specification recommends.
pub(crate) fn record(kind: u8, id: u16, content: &[u8]) -> Vec<u8> {
    let padding = content.len().wrapping_neg() % 8;
    let length = u16::try_from(content.len()).expect("a record's length").to_be_bytes();
    let id = id.to_be_bytes();
    let mut bytes = vec![1, kind, id[0], id[1], length[0], length[1], padding as u8, 0];
    bytes.extend(content);
    bytes.resize(bytes.len() + padding, 0);
    bytes
}

/// Parses the name-value pairs of a complete params stream.
pub(crate) fn pairs(mut bytes: &[u8]) -> HashMap<String, String> {
    let mut pairs = HashMap::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        let mut text = |length: usize| {
            let (text, rest) = bytes.split_at(length);
            bytes = rest;
            String::from_utf8_lossy(text).into_owned()
        };
        let name = text(name);
        pairs.insert(name, text(value));
    }
    pairs
}

fn length(bytes: &mut &[u8]) -> usize {
    let width = if bytes[0] < 0x80 { 1 } else { 4 };
    let (length, rest) = bytes.split_at(width);
    *bytes = rest;
    match length {
        [short] => usize::from(*short),
        long => u32::from_be_bytes([long[0] & 0x7f, long[1], long[2], long[3]]) as usize,
    }
}
