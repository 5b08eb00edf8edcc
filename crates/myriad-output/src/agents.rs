//! Detection of old versions of MSIE, which need special treatment.

/// Returns whether a `User-Agent` matches nginx's `msie6`: MSIE 4 to 6, except MSIE 6 with SV1.
pub(crate) fn is_msie6(agent: &[u8]) -> bool {
    let Some(at) = agent.windows(5).position(|window| window == b"MSIE ") else { return false };
    let version = agent.get(at + 5).copied().unwrap_or(0);
    let dotted = agent.get(at + 6) == Some(&b'.');
    dotted && (matches!(version, b'4' | b'5') || version == b'6' && !agent.windows(3).any(|w| w == b"SV1"))
}

#[cfg(test)]
mod tests {
    use super::is_msie6;

    #[test]
    fn msie6_means_four_to_six_without_the_service_pack() {
        assert!(is_msie6(b"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)"));
        assert!(!is_msie6(b"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)"));
        assert!(!is_msie6(b"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 6.0)"));
        assert!(!is_msie6(b"Mozilla/5.0 MSIE "));
    }
}
