//! Resources of a page, as received by the caller.

use crate::PageUrl;
use crate::bundle::short_digest;
use crate::charset::may_be_utf8;

/// Response for a resource (or the page itself), as received by a browser without a cache.
#[derive(Clone, Debug)]
pub struct PageResource {
    /// URL of the response after redirects.
    pub url: PageUrl,
    /// Status code of the response; 0 if there was no response.
    pub status: u16,
    /// Media type in lower case without parameters; empty if there is none.
    pub media_type: String,
    /// Parameter `charset` of `Content-Type` in lower case; `None` if it is missing.
    pub charset: Option<String>,
    /// Coding of the body as received (`Content-Encoding`); empty for none.
    pub encoding: String,
    /// Seconds for which a browser may use the response without a request (`Cache-Control`, `Expires`); `None` if the
    /// response does not state them.
    pub fresh_s: Option<u64>,
    /// True if the response has `ETag` or `Last-Modified`.
    pub has_validator: bool,
    /// Length of the body as received, in bytes.
    pub transfer_bytes: u64,
    /// Number of redirects before the response.
    pub redirects: u32,
    /// True if the response has `Content-Security-Policy`.
    pub has_policy: bool,
    /// Body after decoding of its content coding.
    pub body: Vec<u8>,
}

impl PageResource {
    /// Returns the body as text; `None` if it is not valid UTF-8, or declared with a charset other than UTF-8 (or
    /// US-ASCII for an ASCII text).
    pub fn text(&self) -> Option<&str> {
        let text = str::from_utf8(&self.body).ok()?;
        may_be_utf8(self.charset.as_deref(), &self.body).then_some(text)
    }

    /// Creates a successful response without a coding, validity, validator and policy. `content_type` is the value of
    /// `Content-Type`.
    pub fn new(url: PageUrl, content_type: &str, body: Vec<u8>) -> Self {
        let content_type = content_type.to_ascii_lowercase();
        let (media_type, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
        let charset = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("charset="));
        Self {
            url,
            status: 200,
            media_type: media_type.trim().to_owned(),
            charset: charset.map(|charset| charset.trim_matches('"').to_owned()),
            encoding: String::new(),
            fresh_s: None,
            has_validator: false,
            transfer_bytes: body.len() as u64,
            redirects: 0,
            has_policy: false,
            body,
        }
    }

    /// Returns a successful response with a type and body, for tests.
    #[cfg(test)]
    pub(crate) fn sample(url: PageUrl, media_type: &str, body: &str) -> Self {
        Self::new(url, media_type, body.as_bytes().to_vec())
    }

    /// Returns the first 16 bytes of the SHA-256 digest of the body, by which the caller detects changes; zeros unless the
    /// response succeeded, because the bodies of error pages often differ.
    pub fn digest(&self) -> [u8; 16] {
        if self.is_ok() { short_digest(&self.body) } else { [0; 16] }
    }

    /// Returns whether the response succeeded: its status is 200.
    pub fn is_ok(&self) -> bool {
        self.status == 200
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_charset_are_read_from_content_type() {
        let url = PageUrl::parse("http://a.test/").expect("absolute");
        for (value, media_type, charset) in [
            ("text/CSS", "text/css", None),
            ("text/html; charset=UTF-8; a=b", "text/html", Some("utf-8")),
            ("text/html;charset=\"utf-8\"", "text/html", Some("utf-8")),
            ("", "", None),
        ] {
            let resource = PageResource::new(url.clone(), value, Vec::new());
            assert_eq!((resource.media_type.as_str(), resource.charset.as_deref()), (media_type, charset));
        }
    }
}
