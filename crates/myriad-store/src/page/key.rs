//! Format of cache keys: the value of `*_cache_key`, followed by parts for further distinctions.
//!
//! Each part begins with NUL and a letter. NULs in the preceding text are doubled, so that no text can look like a
//! part.

/// Name of a part of cache keys: separates pages for clients that accept only content codings which Myriad does not
/// produce.
pub const CODINGS: &[u8] = b"\0codings";
/// Name of the part of cache keys with a host. In keys of pages it is the received `Host`, and only present if it
/// differs from `$host`, `*_cache_key` does not contain it, and no parameter replaces `HTTP_HOST`.
pub const HOST: &[u8] = b"\0host=";
/// Name of the part of cache keys with the URI of a subrequest, present only if `*_cache_key` does not contain the URI.
pub const SUBREQUEST: &[u8] = b"\0subrequest=";
/// Name of the part of cache keys with the arguments of a subrequest; follows [`SUBREQUEST`].
pub const ARGUMENTS: &[u8] = b"\0args=";
/// Name of the part of cache keys with the name and value of a request field (`cache_key_field`).
pub const FIELD: &[u8] = b"\0field=";
/// Name of the part of cache keys with the name and value of a cookie (`cache_key_cookie`).
pub const COOKIE: &[u8] = b"\0cookie=";

/// Start of the cache keys of files to which pages refer (`cache_keep_assets`), followed by the file's path. No other
/// text precedes it.
pub const ASSET: &[u8] = b"\0asset=";
/// Start of the cache keys of bundles that the page optimizer makes (`optimize`), followed by the name. No other text
/// precedes it.
pub const BUNDLE: &[u8] = b"\0bundle=";
/// Start of the cache keys of copies of images that the page optimizer makes, followed by the version of the image's file.
/// No other text precedes it.
pub const IMAGE: &[u8] = b"\0image=";
/// Field line of a copy of an image with the length of the image in bytes. It is stored and not sent.
pub const ORIGINAL_LENGTH: &str = "Original-Length";

/// Returns the cache key for a text that another directive than `*_cache_key` sets: the text, in which NULs are
/// doubled.
pub fn named(mut text: Vec<u8>) -> Vec<u8> {
    double_nuls(&mut text, 0);
    text
}

/// Appends a part to the cache key `key`: its name and its value, in which NULs are doubled.
pub fn append(name: &[u8], value: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(name);
    let value_at = key.len();
    key.extend_from_slice(value);
    double_nuls(key, value_at);
}

/// Doubles each NUL byte of `key` from offset `from` on.
pub fn double_nuls(key: &mut Vec<u8>, from: usize) {
    if !key[from..].contains(&0) {
        return;
    }
    let text = key.split_off(from);
    key.reserve(text.len() * 2);
    for byte in text {
        key.push(byte);
        if byte == 0 {
            key.push(0);
        }
    }
}

/// Returns the cache key of the same page as `key` for clients that accept only content codings which Myriad does not
/// produce. A purge of one of the two keys purges both.
pub fn of_other_codings(key: &[u8]) -> Vec<u8> {
    [key, CODINGS].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &[u8], host: Option<&[u8]>, codings: bool) -> Vec<u8> {
        let mut key = named(text.to_vec());
        if let Some(host) = host {
            append(HOST, host, &mut key);
        }
        if codings {
            key.extend_from_slice(CODINGS);
        }
        key
    }

    #[test]
    fn no_text_poses_as_another_key_with_its_parts() {
        let texts: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0host=b",
            b"a\0\0host=b",
            b"\0codings",
            b"a\0host=b\0codings",
            b"\0host=",
        ];
        let hosts: [Option<&[u8]>; 4] = [None, Some(b"b"), Some(b"b\0codings"), Some(b"")];
        let mut all = std::collections::HashMap::new();
        for text in texts {
            for host in hosts {
                for codings in [false, true] {
                    let made_of = (text, host, codings);
                    assert_eq!(all.insert(key(text, host, codings), made_of), None, "{made_of:?}");
                }
            }
        }
        assert_eq!(named(b"httplocalhost/a?b".to_vec()), b"httplocalhost/a?b");
    }
}
