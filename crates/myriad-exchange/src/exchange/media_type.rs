//! Media type of a response to a request, by the file extension in its path.

use std::borrow::Cow;

use super::Request;

/// Returns the media type for a path in the location of the request: the one that `types` contains for the extension of
/// its last segment (as written or in lower case), otherwise `default_type`. A name whose only dot is its first
/// character has no extension.
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
