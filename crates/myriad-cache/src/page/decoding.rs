//! A page that its origin has compressed is stored in identity.

use bytes::{Buf, Bytes};
use myriad_encode::{Coding, DecodeError, StreamDecoder};

/// Most bytes that a page compressed by its origin may become.
const DECODED_AT_MOST: u64 = 64 << 20;
/// Bytes of it that come out at once.
const DECODED_WINDOW: usize = 64 << 10;

/// A decoder for an origin's coding.
pub(crate) fn decoder(coding: Coding) -> Option<StreamDecoder> {
    StreamDecoder::new(coding, DECODED_AT_MOST).ok()
}

/// The next of what a piece comes to as it is stored, undone where the origin coded it: at most some [`DECODED_WINDOW`] bytes, for
/// few may come to gigabytes. Takes off `piece` what it has read; the flag says that all of it has come out.
pub(crate) fn decoded(
    decoder: Option<&mut StreamDecoder>,
    piece: &mut Bytes,
) -> Result<(Bytes, bool), DecodeError> {
    let Some(decoder) = decoder else { return Ok((std::mem::take(piece), true)) };
    let mut out = Vec::with_capacity((piece.len() * 4).min(DECODED_WINDOW));
    let (taken, drained) = decoder.push_up_to(piece, &mut out, DECODED_WINDOW)?;
    piece.advance(taken);
    // What is held is what is counted.
    out.shrink_to_fit();
    Ok((Bytes::from(out), drained))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_encode::{Level, compress};

    #[test]
    fn piece_without_a_coding_is_stored_as_it_is() {
        let mut piece = Bytes::from_static(b"text");
        assert_eq!(decoded(None, &mut piece).ok(), Some((Bytes::from_static(b"text"), true)));
        assert!(piece.is_empty());
    }

    #[test]
    fn much_comes_out_a_window_at_a_time() {
        let page = vec![b'x'; 5 * DECODED_WINDOW];
        let mut piece = Bytes::from(compress(Coding::Gzip, Level::Fast, &page).expect("gzip"));
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
