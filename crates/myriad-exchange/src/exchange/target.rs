//! Target of a request line.

/// Returns `$request_uri`: for an absolute target, only the part after the host (RFC 9112 section 3.2.2), as in nginx.
pub(super) fn request_uri(target: &[u8]) -> &[u8] {
    if target.first() == Some(&b'/') {
        return target;
    }
    let Some(scheme) = target.windows(3).position(|window| window == b"://") else { return target };
    let rest = &target[scheme + 3..];
    match rest.iter().position(|byte| matches!(byte, b'/' | b'?')) {
        Some(at) => &rest[at..],
        None => b"/",
    }
}
