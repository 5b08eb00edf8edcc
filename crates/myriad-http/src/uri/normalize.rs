//! Paths: decoded, dot segments removed, slashes merged.

use super::UriError;

/// Appends the path to `out` as locations are matched against it: `%XX` decoded, `.` and `..` resolved, and runs of
/// `/` merged where `merge_slashes` is on; everything from a `?` or `#` on is left out.
///
/// A path that climbs above the root, an escape without its digits and a NUL are errors, as in nginx. On an error
/// `out` is as before.
pub fn normalize_path(_path: &[u8], _merge_slashes: bool, _out: &mut Vec<u8>) -> Result<(), UriError> {
    Err(UriError::InvalidTarget)
}
