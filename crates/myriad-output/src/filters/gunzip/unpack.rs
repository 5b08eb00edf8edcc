//! Streaming gzip decompression.

use myriad_encode::{Coding, StreamDecoder};
use myriad_http::body::BodyError;

use crate::transform::{Transform, WINDOW};

/// Streaming gzip decompressor. Each call produces a bounded number of bytes, whatever the compression ratio.
pub(crate) struct Gunzip(Option<StreamDecoder>);

impl Gunzip {
    pub(crate) fn new() -> Self {
        // The output is not buffered, so it needs no limit.
        Self(StreamDecoder::new(Coding::Gzip, u64::MAX).ok())
    }
}

fn corrupt(error: myriad_encode::ContentDecodeError) -> BodyError {
    BodyError::Origin(format!("gunzip: {error}"))
}

impl Transform for Gunzip {
    fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError> {
        let Some(decoder) = &mut self.0 else { return Err(BodyError::Aborted) };
        let (taken, drained) = decoder.push_up_to(input, out, WINDOW).map_err(corrupt)?;
        *input = &input[taken..];
        Ok(drained)
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> Result<(), BodyError> {
        self.0.take().map_or(Err(BodyError::Aborted), |decoder| decoder.finish().map_err(corrupt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::tests::{PiecesBody, read, run};
    use crate::transform::transformed;
    use myriad_encode::{CompressionLevel, compress};

    #[test]
    fn unpacks_several_members_in_pieces_of_any_size() {
        let packed = |text: &[u8]| compress(Coding::Gzip, CompressionLevel::Fast, text).unwrap();
        let both = [packed(b"one, "), packed(b"two")].concat();
        for size in [1, 2, 7, 1000] {
            assert_eq!(run(Gunzip::new(), &both, size), b"one, two");
        }
    }

    #[test]
    fn bomb_comes_out_a_window_at_a_time() {
        let bomb = compress(Coding::Gzip, CompressionLevel::Fast, &vec![0; 20 << 20]).unwrap();
        let (all, longest) = read(transformed(Box::pin(PiecesBody(vec![bomb])), Gunzip::new())).unwrap();
        assert_eq!(all.len(), 20 << 20);
        assert!(longest <= 2 * WINDOW, "{longest}");
    }

    #[test]
    fn cut_or_corrupt_body_is_an_error() {
        let mut packed =
            compress(Coding::Gzip, CompressionLevel::Fast, b"some text that is long enough").unwrap();
        let cut = packed[..packed.len() - 3].to_vec();
        assert!(read(transformed(Box::pin(PiecesBody(vec![cut])), Gunzip::new())).is_err());
        packed[0] = 0;
        assert!(read(transformed(Box::pin(PiecesBody(vec![packed])), Gunzip::new())).is_err());
    }
}
