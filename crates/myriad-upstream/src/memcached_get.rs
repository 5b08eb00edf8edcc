//! Memcached `get` command.

use bytes::Bytes;

/// Request to memcached for the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemcachedGet {
    /// Key of the value; `%` and bytes up to 0x20 (space, control characters) are escaped.
    pub(crate) key: Bytes,
    /// Mask of the flag that marks values compressed with gzip (`memcached_gzip_flag`); 0 if values are never
    /// compressed.
    pub(crate) gzip_flag: u32,
}

impl MemcachedGet {
    /// Creates a request for a key. As in nginx, `%` and bytes up to 0x20 (space, control characters) in the key are
    /// escaped, so that it cannot terminate the command.
    pub fn new(key: &[u8], gzip_flag: u32) -> Self {
        let mut escaped = Vec::with_capacity(key.len());
        for byte in key {
            if *byte <= b' ' || *byte == b'%' {
                escaped.extend_from_slice(format!("%{byte:02X}").as_bytes());
            } else {
                escaped.push(*byte);
            }
        }
        Self { key: escaped.into(), gzip_flag }
    }

    /// Encodes the command line of the request.
    pub(crate) fn head(&self) -> Bytes {
        [b"get ", &self.key[..], b"\r\n"].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_cannot_end_the_command() {
        let get = MemcachedGet::new(b"/a b%\r\nset x\0", 0);
        assert_eq!(&get.head()[..], b"get /a%20b%25%0D%0Aset%20x%00\r\n");
    }
}
