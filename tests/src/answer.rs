//! Responses, as a client reads them.

use std::io::Read;

/// A response with its body, chunks joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `200` and its like.
    pub status: u16,
    /// The status line as sent.
    pub status_line: String,
    /// The fields in their order.
    pub fields: Vec<(String, String)>,
    /// The body as it was sent: encoded, where there is a `Content-Encoding`.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first field of this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every field of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// The body's coding; `identity` where none is named.
    pub fn coding(&self) -> &str {
        self.field("Content-Encoding").unwrap_or("identity")
    }

    /// The body, decoded.
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
            coding => panic!("an unknown coding: {coding}"),
        };
        read.unwrap_or_else(|error| panic!("{} does not decode: {error}", self.coding()));
        content
    }

    /// The body, decoded, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content()).into_owned()
    }

    /// What `add_header X-Cache $upstream_cache_status` said.
    pub fn cache(&self) -> &str {
        self.field("X-Cache").unwrap_or("-")
    }
}
