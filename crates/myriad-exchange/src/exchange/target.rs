//! Value of `$request_uri`, computed from the request target.

/// Returns `$request_uri`: the request target, or its part after the host if it is absolute (RFC 9112 section 3.2.2),
/// as in nginx.
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
