//! Images in a GIF file (GIF89a specification, sections 17 to 27).

use super::numbers::le16;

/// Returns whether a file contains exactly one image, which does not exceed the canvas. Returns false if the blocks before
/// the end are invalid or truncated.
pub(crate) fn is_still(gif: &[u8]) -> bool {
    image_count(gif) == Some(1)
}

/// Counts the images up to the trailer or the end of the file; `None` if a block is invalid or truncated, or an image
/// exceeds the canvas.
fn image_count(gif: &[u8]) -> Option<u64> {
    let (width, height) = (le16(gif, 6)?, le16(gif, 8)?);
    let mut at = 13 + palette_bytes(*gif.get(10)?);
    let mut count = 0;
    loop {
        match gif.get(at) {
            None | Some(0x3b) => return Some(count),
            Some(0x21) => at = after_blocks(gif, at + 2)?,
            Some(0x2c) => {
                let side = |offset: usize| le16(gif, at + offset);
                if side(1)? + side(5)? > width || side(3)? + side(7)? > height {
                    return None;
                }
                count += 1;
                at = after_blocks(gif, at + 11 + palette_bytes(*gif.get(at + 9)?))?;
            }
            Some(_) => return None,
        }
    }
}

/// Returns the length of the palette that the flags of the screen or of an image declare, in bytes.
fn palette_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Returns the offset after the data blocks at an offset; `None` if they are truncated.
fn after_blocks(gif: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*gif.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_still;

    const SCREEN: &[u8] = b"GIF89a\x04\0\x03\0\x80\0\0\0\0\0\xff\xff\xff";
    const LOOP: &[u8] = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0";
    const CONTROL: &[u8] = b"\x21\xf9\x04\0\0\0\0\0";
    const IMAGE: &[u8] = b"\x2c\0\0\0\0\x04\0\x03\0\0\x02\x02ab\0";

    #[test]
    fn file_with_one_image_is_still() {
        let small = b"\x2c\x01\0\x01\0\x03\0\x02\0\x80abcdef\x02\x02ab\0";
        for parts in [[SCREEN, IMAGE, b";"], [SCREEN, LOOP, IMAGE], [SCREEN, CONTROL, small]] {
            assert!(is_still(&parts.concat()), "{parts:?}");
        }
    }

    #[test]
    fn file_with_several_images_or_an_image_beyond_the_canvas_is_not_still() {
        let beyond = b"\x2c\x01\0\0\0\x04\0\x03\0\0\x02\x02ab\0";
        for parts in [
            &[SCREEN, IMAGE, IMAGE, b";"][..],
            &[SCREEN, CONTROL, IMAGE, CONTROL, IMAGE],
            &[SCREEN, beyond],
            &[SCREEN, b";"],
            &[SCREEN, &IMAGE[..13]],
            &[SCREEN, IMAGE, b"x"],
            &[b""],
        ] {
            assert!(!is_still(&parts.concat()), "{parts:?}");
        }
    }
}
