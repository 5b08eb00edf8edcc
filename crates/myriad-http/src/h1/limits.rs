//! Limits for the heads of HTTP messages, and the result of parsing a head.

/// Size limits of the head of a message, and nginx's two switches for field names. The directives named below set the
/// limits of requests; for the responses of an origin, `line` and `total` are the size of its head buffer, and `fields`
/// is 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Maximum length in bytes of a line including its terminator: the size of one of `large_client_header_buffers`, or
    /// `client_header_buffer_size` if that is larger.
    pub line: usize,
    /// Maximum size of a head in bytes: the total size of all `large_client_header_buffers`, at least `line`.
    pub total: usize,
    /// Maximum number of fields (`max_headers`).
    pub fields: usize,
    /// True to drop request fields if their names contain bytes other than letters, digits, `-` and (with
    /// `underscores_in_headers`) `_` (`ignore_invalid_headers`); false to accept them. Has no effect on responses and
    /// trailers.
    pub ignore_invalid_headers: bool,
    /// True if `_` is valid in field names of requests (`underscores_in_headers`); otherwise `ignore_invalid_headers`
    /// applies to such names.
    pub underscores_in_headers: bool,
}

impl HeadLimits {
    /// Maximum value of [`Self::line`] and [`Self::total`] that a configuration may select: 1 GiB. Positions in a head
    /// have 32 bits.
    pub const MAX_SIZE: usize = 1 << 30;
}

impl Default for HeadLimits {
    /// Returns nginx's defaults: 4 buffers of 8k, 1000 fields, invalid names dropped, underscores invalid.
    fn default() -> Self {
        Self {
            line: 8192,
            total: 4 * 8192,
            fields: 1000,
            ignore_invalid_headers: true,
            underscores_in_headers: false,
        }
    }
}

/// Result of parsing a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseStatus {
    /// The head is complete. The value is its length in the input, including empty lines before it.
    Complete(usize),
    /// More bytes are needed.
    Partial,
}
