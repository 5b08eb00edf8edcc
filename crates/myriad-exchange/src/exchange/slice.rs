//! `$slice_range`.

/// A piece of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its first byte, a multiple of the size.
    pub start: u64,
    /// Bytes of each piece but the last (`slice`).
    pub size: u64,
}

impl Slice {
    /// Appends the range in the form of a `Range` field.
    pub fn write(self, out: &mut Vec<u8>) {
        let last = self.start.saturating_add(self.size - 1);
        out.extend_from_slice(format!("bytes={}-{last}", self.start).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_written_to_its_last_byte() {
        let written = |start, size| {
            let mut out = Vec::new();
            Slice { start, size }.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(4, 2), "bytes=4-5");
        assert_eq!(written(0, 1 << 20), "bytes=0-1048575");
    }
}
