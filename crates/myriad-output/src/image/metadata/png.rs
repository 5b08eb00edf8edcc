//! Chunks of a PNG file (PNG specification, third edition, section 5.3).

use super::numbers::be32;

/// Length in bytes of the signature at the start of a file.
const SIGNATURE: usize = 8;

/// Chunk of a PNG file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PngChunk<'a> {
    pub name: &'a [u8],
    pub data: &'a [u8],
}

/// Returns the chunks of a file up to `IEND` or the end of the file. The last item is `None` if a chunk is truncated. The
/// checksums are not verified.
pub(crate) fn chunks(png: &[u8]) -> impl Iterator<Item = Option<PngChunk<'_>>> {
    let mut rest = png.get(SIGNATURE..).unwrap_or_default();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((chunk, behind)) = first_chunk(rest) else {
            rest = &[];
            return Some(None);
        };
        rest = if chunk.name == b"IEND" { &[] } else { behind };
        Some(Some(chunk))
    })
}

/// Returns the first chunk and the bytes after its checksum; `None` if it is truncated.
fn first_chunk(bytes: &[u8]) -> Option<(PngChunk<'_>, &[u8])> {
    let length = be32(bytes, 0)? as usize;
    let end = 8_usize.checked_add(length)?;
    let chunk = PngChunk { name: bytes.get(4..8)?, data: bytes.get(8..end)? };
    Some((chunk, bytes.get(end + 4..)?))
}

#[cfg(test)]
mod tests {
    use super::chunks;

    fn names(file: &[u8]) -> Vec<Option<String>> {
        let name = |chunk: super::PngChunk<'_>| String::from_utf8_lossy(chunk.name).into_owned();
        chunks(file).map(|chunk| chunk.map(name)).collect()
    }

    #[test]
    fn chunks_are_read_up_to_the_last_one() {
        let file = b"\x89PNG\r\n\x1a\n\0\0\0\x03abcdIENsumm\0\0\0\0IENDsummrest";
        assert_eq!(names(file), [Some("abcd".to_owned()), Some("IEND".to_owned())]);
        assert_eq!(chunks(file).next().flatten().map(|chunk| chunk.data), Some(&b"IEN"[..]));
        assert_eq!(names(&file[..23]), [Some("abcd".to_owned())]);
        assert_eq!(names(&file[..24]), [Some("abcd".to_owned()), None]);
        assert_eq!(names(b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffabcd"), [None]);
        assert!(names(b"").is_empty());
    }
}
