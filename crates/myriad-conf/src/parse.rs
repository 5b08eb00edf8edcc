//! Bytes to [`Parsed`].

use std::path::Path;

use crate::{parsed::Parsed, source::Loader};

/// Reads a configuration and everything it includes. `path` is the file as it can be opened, and its folder is what
/// relative includes are looked up in; `globals` are the directives of `-g`, or nothing. Never fails: what is wrong is
/// in [`Parsed::errors`].
pub fn parse(_loader: &dyn Loader, _path: &Path, _globals: &[u8]) -> Parsed {
    Parsed::default()
}
