//! How large a head may be, and how its names are judged.

/// Bounds on a head, and nginx's two switches for field names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// The longest line in bytes with its end: the size of one of `large_client_header_buffers`, or
    /// `client_header_buffer_size` where that is larger.
    pub line: usize,
    /// The largest head in bytes: all of `large_client_header_buffers` together.
    pub total: usize,
    /// The greatest number of fields (`max_headers`).
    pub fields: usize,
    /// Whether fields whose names hold anything but letters, digits and `-` are dropped (`ignore_invalid_headers`).
    pub ignore_invalid_headers: bool,
    /// Whether `_` is a letter in that sense (`underscores_in_headers`).
    pub underscores_in_headers: bool,
}

impl Default for HeadLimits {
    /// nginx's defaults: 4 buffers of 8k, 1000 fields, invalid names dropped, underscores invalid.
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

/// How far a head was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The head is complete; so many bytes of the buffer belong to it, empty lines before it included.
    Complete(usize),
    /// More bytes must come.
    Partial,
}
