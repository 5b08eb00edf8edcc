//! Tests of the decoder, also against a simple encoder that follows the RFC literally.

mod model;
mod reference;

use super::{MAX_BLOCKED_STREAMS, QpackDecoder, QpackError};
use crate::h3::error::Http3ErrorCode;

type Fields = Vec<(String, String)>;

/// Returns the fields of a section.
pub(super) fn read(decoder: &mut QpackDecoder, stream: u64, section: &[u8]) -> Result<Fields, QpackError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut fields = Vec::new();
    decoder.section(stream, section, (5000, 40_000), |name, value| fields.push((text(name), text(value))))?;
    Ok(fields)
}

fn feed_instructions(decoder: &mut QpackDecoder, instructions: &[u8]) -> Result<(), Http3ErrorCode> {
    decoder.instructions(&mut Vec::new(), &mut &instructions[..]).map_err(|error| error.code)
}

fn fields(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn examples_of_the_rfc_are_read_and_acknowledged() {
    let mut decoder = QpackDecoder::default();
    // RFC 9204 §B.2: the section arrives before or after the entries it needs.
    let section = b"\x03\x81\x10\x11";
    assert_eq!(read(&mut decoder, 4, section), Err(QpackError::Blocked(2)));
    feed_instructions(&mut decoder, b"\x3f\xbd\x01\xc0\x0fwww.example.com\xc1\x0c/sample/path").unwrap();
    assert_eq!(decoder.output(), b"\x02");
    decoder.stream_unblocked();
    let expected = fields(&[(":authority", "www.example.com"), (":path", "/sample/path")]);
    assert_eq!(read(&mut decoder, 4, section), Ok(expected));
    // §B.3, §B.4.
    feed_instructions(&mut decoder, b"\x4acustom-key\x0ccustom-value").unwrap();
    feed_instructions(&mut decoder, b"\x02").unwrap();
    let expected =
        fields(&[(":authority", "www.example.com"), (":path", "/"), ("custom-key", "custom-value")]);
    assert_eq!(read(&mut decoder, 8, b"\x05\x00\x80\xc1\x81"), Ok(expected));
    decoder.cancel(8);
    // §B.5.
    feed_instructions(&mut decoder, b"\x81\x0dcustom-value2").unwrap();
    assert_eq!(decoder.output(), b"\x02\x84\x01\x01\x88\x48\x01");
    assert_eq!(decoder.inserted(), 5);
}

#[test]
fn references_to_what_is_gone_or_was_not_asked_for_end_the_connection() {
    let mut decoder = QpackDecoder::default();
    // A table with capacity for a single entry, filled three times.
    feed_instructions(&mut decoder, b"\x3f\x03\xc0\x01a\xc0\x01b\xc0\x01c").unwrap_err();
    let mut decoder = QpackDecoder::default();
    feed_instructions(&mut decoder, b"\x3f\x0f\xc0\x01a\xc0\x01b\xc0\x01c").unwrap();
    assert_eq!(read(&mut decoder, 0, b"\x04\x00\x80"), Ok(fields(&[(":authority", "c")])));
    for section in [
        &b"\x04\x00\x81"[..], // evicted
        b"\x04\x00\x10",      // after the newest
        b"\x03\x00\x10",      // present, but above the required insert count
        b"\x04\x83\x80",      // negative base
        b"\x00\x00\x80",
        b"\x00\x01\x10",
    ] {
        assert_eq!(read(&mut decoder, 0, section), Err(QpackError::Broken), "{section:x?}");
    }
}

#[test]
fn no_more_streams_wait_than_were_offered() {
    let mut decoder = QpackDecoder::default();
    for stream in 0..MAX_BLOCKED_STREAMS as u64 {
        assert_eq!(read(&mut decoder, stream * 4, b"\x02\x00\x80"), Err(QpackError::Blocked(1)));
    }
    assert_eq!(read(&mut decoder, 4000, b"\x02\x00\x80"), Err(QpackError::Broken));
    decoder.stream_unblocked();
    assert_eq!(read(&mut decoder, 4000, b"\x02\x00\x80"), Err(QpackError::Blocked(1)));
    feed_instructions(&mut decoder, b"\x3f\x0f\xc0\x01a").unwrap();
    assert_eq!(read(&mut decoder, 4000, b"\x02\x00\x80"), Ok(fields(&[(":authority", "a")])));
}

#[test]
fn client_that_never_reads_decoder_stream_is_disconnected() {
    let mut decoder = QpackDecoder::default();
    feed_instructions(&mut decoder, b"\x3f\x0f\xc0\x01a").unwrap();
    for stream in 0..5000 {
        read(&mut decoder, stream, b"\x02\x00\x80").unwrap();
        assert!(decoder.output().len() < 20_000);
    }
    assert_eq!(
        decoder.check_pending_output().map_err(|error| error.code),
        Err(Http3ErrorCode::ExcessiveLoad)
    );
    decoder.output().clear();
    assert!(decoder.check_pending_output().is_ok());
}
