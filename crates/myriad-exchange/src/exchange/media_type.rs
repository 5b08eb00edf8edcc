//! Media types by file name.

use std::borrow::Cow;

use super::Request;

/// Returns the media type that the place assigns to a path.
pub fn media_type_of(request: &Request, path: &[u8]) -> Cow<'static, [u8]> {
    let files = &request.place().files;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let extension =
        name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0).map(|at| &name[at + 1..]);
    let found = extension.and_then(|extension| {
        files.types.get(extension).or_else(|| files.types.get(&extension.to_ascii_lowercase()[..]))
    });
    Cow::Owned(found.unwrap_or(&files.default_type).to_vec())
}
