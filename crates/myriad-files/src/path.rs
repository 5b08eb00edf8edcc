//! Conversion of bytes to paths, because the path of a request need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the bytes as a path. Any bytes are a valid path on Unix.
pub fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_stay_what_they_are() {
        assert_eq!(as_path(b"/a/\xff").as_os_str().as_bytes(), b"/a/\xff");
        assert_eq!(as_path(b""), Path::new(""));
    }
}
