//! Header of FastCGI records, and the numbers of the protocol (FastCGI 1.0, sections 3.3 and 8).

/// The only FastCGI protocol version (section 8, `FCGI_VERSION_1`).
pub const VERSION: u8 = 1;

/// Length of a record header in bytes (section 8, `FCGI_HEADER_LEN`).
pub const HEADER_LEN: usize = 8;

/// Maximum content length of a record in bytes (section 3.3, `contentLength`).
pub const MAX_CONTENT: usize = 65_535;

/// Maximum content length in bytes of a record that needs no padding: the greatest multiple of 8.
pub const MAX_ALIGNED_CONTENT: usize = 65_528;

/// FastCGI request identifier used by this crate; 0 is reserved for management records (section 3.3).
pub const REQUEST_ID: u16 = 1;

/// Type of a FastCGI record (section 8, `FCGI_BEGIN_REQUEST` to `FCGI_UNKNOWN_TYPE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordType {
    /// Starts a request.
    BeginRequest,
    /// Aborts a request.
    AbortRequest,
    /// Completes a request; sent by the application.
    EndRequest,
    /// Stream of name-value pairs: the CGI environment.
    Params,
    /// Stream of request body bytes.
    Stdin,
    /// Stream of response bytes.
    Stdout,
    /// Stream of error text.
    Stderr,
    /// Stream of extra data for the filter role.
    Data,
    /// Management record that requests values of variables from the application.
    GetValues,
    /// Management record that returns the requested values.
    GetValuesResult,
    /// Management record that reports an unknown record type.
    UnknownType,
}

impl RecordType {
    /// All types in the order of their numbers, which start at 1.
    const ALL: [Self; 11] = [
        Self::BeginRequest,
        Self::AbortRequest,
        Self::EndRequest,
        Self::Params,
        Self::Stdin,
        Self::Stdout,
        Self::Stderr,
        Self::Data,
        Self::GetValues,
        Self::GetValuesResult,
        Self::UnknownType,
    ];

    /// Returns the type with this number; `None` outside 1 to 11.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns the number of the type in a record header.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// FastCGI record header (section 3.3). The type is a number, because unknown types are legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Protocol version, 1.
    pub version: u8,
    /// Number of the record type, see [`RecordType::from_number`].
    pub kind: u8,
    /// Identifier of the request, 0 for management records.
    pub request_id: u16,
    /// Length of the content after the header in bytes.
    pub content_length: u16,
    /// Number of bytes to skip after the content.
    pub padding_length: u8,
}

impl Header {
    /// Creates a header for `content_length` bytes, padded so that the next record starts at a multiple of 8, as
    /// section 3.3 recommends.
    pub const fn new(kind: RecordType, request_id: u16, content_length: u16) -> Self {
        let padding_length = (8 - content_length % 8) as u8 % 8;
        Self { version: VERSION, kind: kind.number(), request_id, content_length, padding_length }
    }

    /// Encodes the header.
    pub const fn encode(self) -> [u8; HEADER_LEN] {
        let [id_high, id_low] = self.request_id.to_be_bytes();
        let [length_high, length_low] = self.content_length.to_be_bytes();
        [self.version, self.kind, id_high, id_low, length_high, length_low, self.padding_length, 0]
    }

    /// Decodes a header. Any value is accepted; the caller must validate version and type.
    pub const fn decode(bytes: [u8; HEADER_LEN]) -> Self {
        Self {
            version: bytes[0],
            kind: bytes[1],
            request_id: u16::from_be_bytes([bytes[2], bytes[3]]),
            content_length: u16::from_be_bytes([bytes[4], bytes[5]]),
            padding_length: bytes[6],
        }
    }
}

/// Zero bytes for padding; the padding after the content of a record has at most 7 bytes.
pub const PADDING: [u8; 8] = [0; 8];

/// Result of a FastCGI request at the protocol level (section 5.5, `protocolStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolStatus {
    /// The request was completed.
    RequestComplete,
    /// The application accepts a single request at a time and got two.
    CannotMultiplex,
    /// The application is out of a resource, such as database connections.
    Overloaded,
    /// The application does not support the requested role.
    UnknownRole,
    /// A status number that is not in the specification.
    Other(u8),
}

impl ProtocolStatus {
    /// Returns the status with this number.
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::RequestComplete,
            1 => Self::CannotMultiplex,
            2 => Self::Overloaded,
            3 => Self::UnknownRole,
            other => Self::Other(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_survives_the_wire() {
        for length in [0, 1, 7, 8, 9, 255, 256, 65_528, 65_535] {
            let header = Header::new(RecordType::Stdin, 0x1234, length);
            assert_eq!(Header::decode(header.encode()), header);
            assert_eq!((usize::from(length) + usize::from(header.padding_length)) % 8, 0);
            assert!(header.padding_length < 8);
        }
    }

    #[test]
    fn record_types_have_the_numbers_of_the_specification() {
        assert_eq!(RecordType::BeginRequest.number(), 1);
        assert_eq!(RecordType::EndRequest.number(), 3);
        assert_eq!(RecordType::Stdout.number(), 6);
        assert_eq!(RecordType::UnknownType.number(), 11);
        assert_eq!(RecordType::from_number(0), None);
        assert_eq!(RecordType::from_number(12), None);
        for number in 1..=11 {
            assert_eq!(RecordType::from_number(number).map(RecordType::number), Some(number));
        }
    }
}
