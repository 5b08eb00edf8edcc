//! The record header and the numbers of the protocol (FastCGI 1.0, sections 3.3 and 8).

/// The only protocol version (section 8, `FCGI_VERSION_1`).
pub const VERSION: u8 = 1;

/// Bytes of a record header (section 8, `FCGI_HEADER_LEN`).
pub const HEADER_LEN: usize = 8;

/// Most bytes of content that one record carries (section 3.3, `contentLength`).
pub const MAX_CONTENT: usize = 65_535;

/// Most bytes of content that one record carries and that need no padding.
pub const MAX_ALIGNED_CONTENT: usize = 65_528;

/// The request id this crate uses: never 0, which marks management records (section 3.3).
pub const REQUEST_ID: u16 = 1;

/// What a record is (section 8, `FCGI_BEGIN_REQUEST` to `FCGI_UNKNOWN_TYPE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordType {
    /// Starts a request.
    BeginRequest,
    /// Asks the application to give a request up.
    AbortRequest,
    /// The application's last word on a request.
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
    /// Management: asks for values.
    GetValues,
    /// Management: the values.
    GetValuesResult,
    /// Management: the record type was not understood.
    UnknownType,
}

impl RecordType {
    /// Every type, in the order of its number, which starts at 1.
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

    /// The type of this number, `None` outside 1 to 11.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// A record header (section 3.3); the type stays a number, since unknown ones are legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Protocol version, 1.
    pub version: u8,
    /// Number of the record type, see [`RecordType::from_number`].
    pub kind: u8,
    /// The request that the record belongs to, 0 for management.
    pub request_id: u16,
    /// Bytes of content that follow the header.
    pub content_length: u16,
    /// Bytes to skip after the content.
    pub padding_length: u8,
}

impl Header {
    /// A header for `content_length` bytes, padded so that the next record starts at a multiple of 8, as section
    /// 3.3 recommends.
    pub const fn new(kind: RecordType, request_id: u16, content_length: u16) -> Self {
        let padding_length = (8 - content_length % 8) as u8 % 8;
        Self { version: VERSION, kind: kind.number(), request_id, content_length, padding_length }
    }

    /// The eight bytes on the wire.
    pub const fn encode(self) -> [u8; HEADER_LEN] {
        let [id_high, id_low] = self.request_id.to_be_bytes();
        let [length_high, length_low] = self.content_length.to_be_bytes();
        [self.version, self.kind, id_high, id_low, length_high, length_low, self.padding_length, 0]
    }

    /// Reads the eight bytes; any value is a header, the caller judges its version and type.
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

/// The zero bytes that follow a record's content; at most 7 are ever needed.
pub const PADDING: [u8; 8] = [0; 8];

/// How a request ended for the protocol (section 5.5, `protocolStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolStatus {
    /// The request ran to its end.
    RequestComplete,
    /// The application takes one request at a time and got two.
    CannotMultiplex,
    /// The application has run out of something, such as database connections.
    Overloaded,
    /// The application does not play the role that was asked for.
    UnknownRole,
    /// A number that the specification does not know.
    Other(u8),
}

impl ProtocolStatus {
    /// The status of this number.
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
