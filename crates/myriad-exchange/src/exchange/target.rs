//! The target of a request line.

/// `$request_uri`: of an absolute target only what follows the host (RFC 9112 section 3.2.2), as nginx has it.
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
