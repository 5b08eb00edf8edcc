//! Decoding of pages that their origin has compressed: they are stored without content coding.

use bytes::{Buf, Bytes};
use myriad_encode::{Coding, ContentDecodeError, StreamDecoder};

/// Maximum decoded length in bytes of a page that its origin has compressed.
const MAX_DECODED: u64 = 64 << 20;
/// Size of a window of decoded data in bytes.
const DECODED_WINDOW: usize = 64 << 10;

/// Returns a decoder for a coding used by an origin; `None` if it cannot be created.
pub(crate) fn decoder(coding: Coding) -> Option<StreamDecoder> {
    StreamDecoder::new(coding, MAX_DECODED).ok()
}

/// Decodes the next window of a piece; without a decoder, returns the whole piece.
///
/// A window has about [`DECODED_WINDOW`] bytes, because a short piece may decode to gigabytes. The consumed bytes are
/// removed from `piece`; the flag is true once all decoded data of the piece was returned. Fails if the data is invalid
/// or decodes to more than [`MAX_DECODED`] bytes.
pub(crate) fn decoded(
    decoder: Option<&mut StreamDecoder>,
    piece: &mut Bytes,
) -> Result<(Bytes, bool), ContentDecodeError> {
    let Some(decoder) = decoder else { return Ok((std::mem::take(piece), true)) };
    let mut out = Vec::with_capacity((piece.len() * 4).min(DECODED_WINDOW));
    let (taken, drained) = decoder.push_up_to(piece, &mut out, DECODED_WINDOW)?;
    piece.advance(taken);
    // The zone counts the length of the data, so the allocation must not be larger.
    out.shrink_to_fit();
    Ok((Bytes::from(out), drained))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_encode::{CompressionLevel, compress};

    #[test]
    fn piece_without_a_coding_is_stored_as_it_is() {
        let mut piece = Bytes::from_static(b"text");
        assert_eq!(decoded(None, &mut piece).ok(), Some((Bytes::from_static(b"text"), true)));
        assert!(piece.is_empty());
    }

    #[test]
    fn much_comes_out_a_window_at_a_time() {
        let page = vec![b'x'; 5 * DECODED_WINDOW];
        let mut piece = Bytes::from(compress(Coding::Gzip, CompressionLevel::Fast, &page).expect("gzip"));
        let mut decoder = decoder(Coding::Gzip).expect("a decoder");
        let (mut out, mut windows) = (Vec::new(), 0);
        loop {
            let (window, drained) = decoded(Some(&mut decoder), &mut piece).expect("a page");
            assert!(window.len() <= 2 * DECODED_WINDOW);
            out.extend_from_slice(&window);
            windows += 1;
            if drained {
                break;
            }
        }
        assert!(windows >= 3);
        assert_eq!(out, page);
    }

    #[test]
    fn broken_coding_is_an_error() {
        let mut decoder = decoder(Coding::Gzip).expect("a decoder");
        assert!(decoded(Some(&mut decoder), &mut Bytes::from_static(b"no gzip at all")).is_err());
    }
}
