//! Conversion of the fields of an HTTP/2 header block to a response head (RFC 9113 §8.2, §8.3.2).

use super::super::request::{check_name, check_value};
use super::RequestFailure;
use crate::h1::HeadLimits;
use crate::{Fields, HttpVersion, Known, ParseError, ResponseHead};

/// Size in bytes that a field counts in addition to its name and value: the separators of HTTP/1 (`: ` and CRLF).
/// Unlike `SETTINGS_MAX_HEADER_LIST_SIZE` (RFC 9113 §6.5.2), it includes no overhead of the compression table.
const SEPARATORS: usize = 4;

/// Builder of a response head or trailer section, which receives the fields of a block in order.
pub(super) struct ResponseBuilder {
    status: Option<u16>,
    fields: Fields,
    /// Maximum total size in bytes of the fields that have not been added yet.
    left: usize,
    most_fields: usize,
    error: Option<RequestFailure>,
}

impl ResponseBuilder {
    /// Creates a builder for a head whose fields have at most `most` bytes, including [`SEPARATORS`] for each field.
    /// More than 1000 fields are an error too.
    pub(super) fn new(most: usize) -> Self {
        let most_fields = HeadLimits::default().fields;
        Self { status: None, fields: Fields::new(), left: most, most_fields, error: None }
    }

    /// Adds a field of the response. After an error, fields are ignored.
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.error.is_none() {
            self.error = self.add_field(name, value).err();
        }
    }

    /// Returns the response head, or the first error; a head without `:status` is an error.
    pub(super) fn finish(self) -> Result<ResponseHead, RequestFailure> {
        match (self.error, self.status) {
            (Some(error), _) => Err(error),
            (None, None) => Err(RequestFailure::Malformed(ParseError::InvalidPseudoField)),
            (None, Some(status)) => {
                let mut head = ResponseHead::new(status).with_version(HttpVersion::Http2);
                head.fields = self.fields;
                Ok(head)
            }
        }
    }

    /// Returns the fields of a trailer section, which must not contain `:status`, or the first error.
    pub(super) fn finish_trailers(self) -> Result<Fields, RequestFailure> {
        match (self.error, self.status) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err(RequestFailure::Malformed(ParseError::InvalidPseudoField)),
            (None, None) => Ok(self.fields),
        }
    }

    fn add_field(&mut self, name: &[u8], value: &[u8]) -> Result<(), RequestFailure> {
        let size = name.len() + value.len() + SEPARATORS;
        self.left = self.left.checked_sub(size).ok_or(RequestFailure::TooLarge)?;
        check_value(value).map_err(RequestFailure::Malformed)?;
        if name.first() == Some(&b':') {
            return self.pseudo(name, value).map_err(RequestFailure::Malformed);
        }
        check_name(name, true).map_err(|error| match error {
            ParseError::HeaderTooLarge => RequestFailure::TooLarge,
            error => RequestFailure::Malformed(error),
        })?;
        // RFC 9113 §8.2.2: fields about the connection make the response malformed.
        if is_connection_field(name) {
            return Err(RequestFailure::Malformed(ParseError::ConnectionField));
        }
        if self.fields.len() >= self.most_fields {
            return Err(RequestFailure::TooLarge);
        }
        self.fields.try_push(name, value.trim_ascii()).map_err(|_| RequestFailure::TooLarge)
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        if name != b":status" || self.status.is_some() || !self.fields.is_empty() {
            return Err(ParseError::InvalidPseudoField);
        }
        let [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] = value else {
            return Err(ParseError::InvalidStatusLine);
        };
        let digits = value.iter().map(|digit| u16::from(digit - b'0'));
        self.status = Some(digits.fold(0, |status, digit| status * 10 + digit));
        Ok(())
    }
}

/// Returns whether a field is specific to HTTP/1 connections, such as `Connection`, and therefore invalid in HTTP/2.
fn is_connection_field(name: &[u8]) -> bool {
    matches!(
        Known::from_bytes(name),
        Some(
            Known::Connection
                | Known::KeepAlive
                | Known::ProxyConnection
                | Known::TransferEncoding
                | Known::Upgrade
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_name_too_long_to_be_stored_is_rejected_not_dropped() {
        for (length, fits) in [(Fields::MAX_NAME, true), (Fields::MAX_NAME + 1, false)] {
            let mut builder = ResponseBuilder::new(1 << 20);
            builder.field(b":status", b"200");
            builder.field("a".repeat(length).as_bytes(), b"1");
            match builder.finish() {
                Ok(head) => assert!(fits && head.fields.len() == 1),
                Err(error) => assert!(!fits && error == RequestFailure::TooLarge),
            }
        }
    }
}
