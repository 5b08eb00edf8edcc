//! Schemes of URLs.

/// Returns the part of an `http` or `https` URL after `://`; `None` for URLs with other schemes or none.
pub fn after_scheme(url: &[u8]) -> Option<&[u8]> {
    let schemes: [&[u8]; 2] = [b"http://", b"https://"];
    schemes.into_iter().find_map(|scheme| {
        let (begin, rest) = url.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}
