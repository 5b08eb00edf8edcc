//! Names of files, as in nginx: the MD5 of the key in hexadecimal, in folders named by its last digits.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};

/// Name of a page file or marker file in a zone's folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(pub [u8; 16]);

impl FileName {
    /// Returns the name of a key's own file, which cache-clearing plugins and administrators look for.
    pub fn of_key(key: &[u8]) -> Self {
        Self(Md5::digest(key).into())
    }

    /// Returns the name of the file of a key's variant. It depends on the family number in the key's own file, so that
    /// the variants become unreachable when that file is removed.
    pub fn of_variant(key: &[u8], family: u64, variant: &[u8]) -> Self {
        let mut hash = Md5::new();
        hash.update(key);
        hash.update(b"\0variant\0");
        hash.update(family.to_le_bytes());
        hash.update(variant);
        Self(hash.finalize().into())
    }

    /// Parses a file name: 32 hexadecimal digits in lower case. Returns `None` for other names.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = text.try_into().ok()?;
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns the path of the file below `root`. Each number in `levels` is the length of the name of one level of
    /// folders, which consists of the last digits of the file name that no earlier level has used (nginx's `levels=`).
    pub fn path(self, root: &Path, levels: &[u8]) -> PathBuf {
        let text = self.text();
        let mut path = PathBuf::with_capacity(root.as_os_str().len() + 48);
        path.push(root);
        let mut end = text.len();
        for level in levels {
            let start = end.saturating_sub(usize::from(*level));
            path.push(&text[start..end]);
            end = start;
        }
        path.push(text);
        path
    }

    fn text(self) -> String {
        let mut text = String::with_capacity(32);
        for byte in self.0 {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Returns the bits of the name that are used as its hash in tables. The bits of an MD5 are evenly distributed.
    pub fn table_hash(self) -> u64 {
        u64::from_le_bytes(self.0[..8].try_into().unwrap_or_default())
    }
}

impl std::fmt::Debug for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

/// Parses a hexadecimal digit in lower case; `None` for any other byte, which no valid name contains.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_and_placed_as_nginx_does() {
        // The example of nginx's documentation: /data/nginx/cache/c/29/b7f54b2df7773722d382f4809d65029c
        let name = FileName::parse(b"b7f54b2df7773722d382f4809d65029c").unwrap();
        let path = |levels: &[u8]| name.path(Path::new("/cache"), levels).to_str().unwrap().to_owned();
        assert_eq!(path(&[1, 2]), "/cache/c/29/b7f54b2df7773722d382f4809d65029c");
        assert_eq!(path(&[2, 2, 1]), "/cache/9c/02/5/b7f54b2df7773722d382f4809d65029c");
        assert_eq!(path(&[]), "/cache/b7f54b2df7773722d382f4809d65029c");
        assert_eq!(FileName::of_key(b"abc"), FileName::parse(b"900150983cd24fb0d6963f7d28e17f72").unwrap());
    }

    #[test]
    fn what_is_no_name_of_ours_is_not_read_as_one() {
        for text in ["", "b7f54b2df7773722d382f4809d65029", "B7F54B2DF7773722D382F4809D65029C", ".tmp"] {
            assert!(FileName::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(FileName::parse(b"b7f54b2df7773722d382f4809d65029cc").is_none());
        assert!(FileName::parse(b"b7f54b2df7773722d382f4809d65029g").is_none());
    }

    #[test]
    fn a_variant_s_name_follows_from_key_family_and_variant() {
        let names = [
            FileName::of_variant(b"k", 1, b"v"),
            FileName::of_variant(b"k", 2, b"v"),
            FileName::of_variant(b"k", 1, b"w"),
            FileName::of_variant(b"l", 1, b"v"),
            FileName::of_key(b"k"),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name));
        }
    }
}
