//! Responses as received by a client.

use std::io::Read;

/// Response with its body, decoded from chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Status line as sent.
    pub status_line: String,
    /// Names and values of the header fields in order, then those of the trailers.
    pub fields: Vec<(String, String)>,
    /// Body without chunk framing, but still encoded if the response has `Content-Encoding`.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the value of the first field with this name; `None` without one.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the values of all fields with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// Returns the coding of the body; `identity` without `Content-Encoding`.
    pub fn coding(&self) -> &str {
        self.field("Content-Encoding").unwrap_or("identity")
    }

    /// Returns the body, decoded by `Content-Encoding`; panics for an unknown coding or invalid data.
    pub fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        let body = self.body.as_slice();
        let read = match self.coding() {
            "identity" => {
                content.extend(body);
                return content;
            }
            "gzip" => flate2::read::MultiGzDecoder::new(body).read_to_end(&mut content),
            "br" => brotli::Decompressor::new(body, 4096).read_to_end(&mut content),
            "zstd" => zstd::Decoder::new(body).and_then(|mut decoder| decoder.read_to_end(&mut content)),
            coding => panic!("unknown content coding: {coding}"),
        };
        read.unwrap_or_else(|error| panic!("{} does not decode: {error}", self.coding()));
        content
    }

    /// Returns the decoded body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content()).into_owned()
    }

    /// Returns the value of `add_header X-Cache $upstream_cache_status`; `-` if it is missing.
    pub fn cache(&self) -> &str {
        self.field("X-Cache").unwrap_or("-")
    }
}
