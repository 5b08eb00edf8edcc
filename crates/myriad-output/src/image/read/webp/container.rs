//! Chunks of a WebP file (RFC 9649 section 2): the streams of its first frame, and its position on the canvas.

use crate::image::metadata::numbers::le24;
use crate::image::metadata::webp::{lossless_size, lossy_size};
use crate::image::size::ImageSize;

/// Flag in the `VP8X` chunk of a WebP file: the image has an alpha channel.
const HAS_ALPHA: u8 = 0x10;
/// Flag in the `VP8X` chunk of a WebP file: the frames are in `ANMF` chunks.
const IS_ANIMATED: u8 = 0x02;

/// First frame of a WebP file. The size of the frame equals the size of its streams.
pub(super) struct WebpFrame<'a> {
    /// Size of the complete image.
    pub canvas: ImageSize,
    /// Distance of the frame from the left and from the top edge of the canvas, in pixels.
    pub at: (u32, u32),
    /// Size of the first frame.
    pub size: ImageSize,
    pub image: WebpStream<'a>,
    /// Color profile: data of the chunk `ICCP`; `None` without it.
    pub profile: Option<&'a [u8]>,
}

/// Compressed pixels of a frame.
#[derive(Clone, Copy)]
pub(super) enum WebpStream<'a> {
    /// Data of the chunk `VP8 `, and that of `ALPH` if there is one.
    Lossy(&'a [u8], Option<&'a [u8]>),
    /// Data of the chunk `VP8L`.
    Lossless(&'a [u8]),
}

impl<'a> WebpFrame<'a> {
    /// Finds the first frame of a file. Returns `None` if a chunk is truncated or missing, if the frame is not inside
    /// the canvas, or if the size of a stream differs from the size in the container; a decoder would allocate memory
    /// for the stream before it compares the sizes.
    pub(super) fn find(bytes: &'a [u8]) -> Option<Self> {
        let mut chunks = Chunks(bytes.get(12..)?);
        let (kind, data) = chunks.next()?;
        if kind != b"VP8X" {
            let image = WebpStream::of(kind, data, None)?;
            let size = image.size()?;
            return Some(Self { canvas: size, at: (0, 0), size, image, profile: None });
        }
        let canvas = ImageSize::new(le24(data, 4)? + 1, le24(data, 7)? + 1)?;
        let flags = data[0];
        let mut profile = None;
        let mut alpha = None;
        for (kind, data) in chunks {
            match kind {
                b"ICCP" => profile = profile.or(Some(data)),
                b"ALPH" if flags & HAS_ALPHA != 0 => alpha = alpha.or(Some(data)),
                b"ANMF" if flags & IS_ANIMATED != 0 => {
                    return Some(Self { profile, ..Self::animated(canvas, flags, data)? });
                }
                b"VP8 " | b"VP8L" if flags & IS_ANIMATED == 0 => {
                    let image = WebpStream::of(kind, data, alpha)?;
                    let frame = Self { canvas, at: (0, 0), size: canvas, image, profile };
                    return frame.is_consistent().then_some(frame);
                }
                _ => {}
            }
        }
        None
    }

    /// Parses the data of an `ANMF` chunk, a frame of an animation; `None` if it is invalid.
    fn animated(canvas: ImageSize, flags: u8, data: &'a [u8]) -> Option<Self> {
        let at = (le24(data, 0)? * 2, le24(data, 3)? * 2);
        let size = ImageSize::new(le24(data, 6)? + 1, le24(data, 9)? + 1)?;
        let mut alpha = None;
        for (kind, data) in Chunks(data.get(16..)?) {
            match kind {
                b"ALPH" if flags & HAS_ALPHA != 0 => alpha = alpha.or(Some(data)),
                b"VP8 " | b"VP8L" => {
                    let frame =
                        Self { canvas, at, size, image: WebpStream::of(kind, data, alpha)?, profile: None };
                    return frame.is_consistent().then_some(frame);
                }
                _ => {}
            }
        }
        None
    }

    /// Returns whether the frame is inside the canvas, and its stream has the size of the frame.
    fn is_consistent(&self) -> bool {
        let is_inside = self.at.0 + self.size.width <= self.canvas.width
            && self.at.1 + self.size.height <= self.canvas.height;
        is_inside && self.image.size() == Some(self.size)
    }

    /// Returns a WebP file that contains only the streams of the frame.
    pub(super) fn file(&self) -> Vec<u8> {
        let mut chunks = Vec::new();
        let mut chunk = |kind: &[u8; 4], data: &[u8]| {
            chunks.extend(kind);
            chunks.extend((data.len() as u32).to_le_bytes());
            chunks.extend(data);
            if !data.len().is_multiple_of(2) {
                chunks.push(0);
            }
        };
        match self.image {
            WebpStream::Lossy(data, None) => chunk(b"VP8 ", data),
            WebpStream::Lossless(data) => chunk(b"VP8L", data),
            WebpStream::Lossy(data, Some(alpha)) => {
                let side = |side: u32| (side - 1).to_le_bytes();
                let (width, height) = (side(self.size.width), side(self.size.height));
                chunk(b"VP8X", &[&[HAS_ALPHA, 0, 0, 0], &width[..3], &height[..3]].concat());
                chunk(b"ALPH", alpha);
                chunk(b"VP8 ", data);
            }
        }
        [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunks].concat()
    }
}

impl<'a> WebpStream<'a> {
    fn of(kind: &[u8], data: &'a [u8], alpha: Option<&'a [u8]>) -> Option<Self> {
        match kind {
            b"VP8 " => Some(Self::Lossy(data, alpha)),
            b"VP8L" => Some(Self::Lossless(data)),
            _ => None,
        }
    }

    fn size(&self) -> Option<ImageSize> {
        match self {
            Self::Lossy(data, _) => lossy_size(data),
            Self::Lossless(data) => lossless_size(data),
        }
    }
}

/// Iterator over chunks, as names and data. It stops at a truncated chunk.
struct Chunks<'a>(&'a [u8]);

impl<'a> Iterator for Chunks<'a> {
    type Item = (&'a [u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, rest) = self.0.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let data = rest.get(..u32::from_le_bytes(*length) as usize)?;
        // Data of an odd length is followed by a padding byte.
        self.0 = rest.get(data.len().next_multiple_of(2)..).unwrap_or_default();
        Some((kind, data))
    }
}
