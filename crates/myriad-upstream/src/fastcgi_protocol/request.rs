//! FastCGI records sent by the web server: BEGIN_REQUEST, PARAMS, STDIN and ABORT_REQUEST (FastCGI 1.0, sections 5.1 to
//! 5.4).

use crate::fastcgi_protocol::record::{
    HEADER_LEN, Header, MAX_ALIGNED_CONTENT, PADDING, REQUEST_ID, RecordType,
};

/// `FCGI_RESPONDER` (FastCGI 1.0, section 8): role of an application that receives a request and returns a response.
const RESPONDER: u16 = 1;

/// `FCGI_KEEP_CONN` (section 5.1): the application leaves the connection open after END_REQUEST.
const KEEP_CONN: u8 = 1;

/// Appends BEGIN_REQUEST for the responder role (section 5.1); with `keep_conn`, the application leaves the connection
/// open after the response.
pub fn begin(out: &mut Vec<u8>, keep_conn: bool) {
    let [role_high, role_low] = RESPONDER.to_be_bytes();
    out.extend_from_slice(&Header::new(RecordType::BeginRequest, REQUEST_ID, 8).encode());
    out.extend_from_slice(&[role_high, role_low, if keep_conn { KEEP_CONN } else { 0 }, 0, 0, 0, 0, 0]);
}

/// Appends the complete environment, a block created with [`crate::fastcgi_protocol::Params`], and terminates its
/// stream (section 5.2).
///
/// The block is split into records; only the last record needs padding.
pub fn params(out: &mut Vec<u8>, block: &[u8]) {
    out.reserve(block.len() + (block.len() / MAX_ALIGNED_CONTENT + 2) * (HEADER_LEN + 8));
    for piece in block.chunks(MAX_ALIGNED_CONTENT) {
        let header = Header::new(RecordType::Params, REQUEST_ID, piece.len() as u16);
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(piece);
        out.extend_from_slice(padding(header));
    }
    out.extend_from_slice(&Header::new(RecordType::Params, REQUEST_ID, 0).encode());
}

/// Returns the header of a STDIN record and the padding after its content (section 5.3). The caller writes the body
/// bytes between them without copying.
///
/// `content` is the length of the body bytes; 0 terminates the stream.
pub fn stdin(content: u16) -> ([u8; HEADER_LEN], &'static [u8]) {
    let header = Header::new(RecordType::Stdin, REQUEST_ID, content);
    (header.encode(), padding(header))
}

/// Returns the empty STDIN record that terminates the request body.
pub fn stdin_end() -> [u8; HEADER_LEN] {
    stdin(0).0
}

/// Returns an ABORT_REQUEST record (section 5.4); the application still responds with END_REQUEST.
pub fn abort() -> [u8; HEADER_LEN] {
    Header::new(RecordType::AbortRequest, REQUEST_ID, 0).encode()
}

fn padding(header: Header) -> &'static [u8] {
    &PADDING[..usize::from(header.padding_length)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastcgi_protocol::record::VERSION;

    /// Decodes a stream of records like a responder: `(type, content)`.
    fn records(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some((header, rest)) = bytes.split_first_chunk::<8>() {
            let header = Header::decode(*header);
            assert_eq!((header.version, header.request_id), (VERSION, REQUEST_ID));
            let (content, rest) = rest.split_at(header.content_length.into());
            let (padding, rest) = rest.split_at(header.padding_length.into());
            assert!(padding.iter().all(|byte| *byte == 0));
            all.push((header.kind, content.to_vec()));
            bytes = rest;
        }
        assert!(bytes.is_empty(), "nothing is left over");
        all
    }

    #[test]
    fn begin_names_role_and_keep_conn() {
        let mut out = Vec::new();
        begin(&mut out, true);
        assert_eq!(out, [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
        out.clear();
        begin(&mut out, false);
        assert_eq!(out[10], 0);
    }

    #[test]
    fn params_are_split_into_records_and_terminated_by_empty_record() {
        for length in [0, 1, 7, 8, 65_527, 65_528, 65_529, 65_535, 65_536, 200_000] {
            let block: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            let mut out = Vec::new();
            params(&mut out, &block);
            assert_eq!(out.len() % 8, 0);
            let records = records(&out);
            let (last, full) = records.split_last().unwrap();
            assert_eq!(last, &(4, Vec::new()), "an empty record ends the stream");
            assert!(full.iter().all(|(kind, content)| *kind == 4 && !content.is_empty()));
            let joined: Vec<u8> = full.iter().flat_map(|(_, content)| content.clone()).collect();
            assert_eq!(joined, block);
        }
    }

    #[test]
    fn stdin_and_abort_are_whole_records() {
        let mut out = Vec::new();
        let (header, padding) = stdin(11);
        out.extend_from_slice(&header);
        out.extend_from_slice(b"hello world");
        out.extend_from_slice(padding);
        out.extend_from_slice(&stdin_end());
        out.extend_from_slice(&abort());
        assert_eq!(records(&out), [(5, b"hello world".to_vec()), (5, Vec::new()), (2, Vec::new())]);
    }
}
