//! Names of charsets, as declared by responses, pages and style sheets.

/// Returns whether a charset is called `utf-8` or `utf8`, ignoring case.
pub(crate) fn is_utf8(name: &str) -> bool {
    ["utf-8", "utf8"].iter().any(|utf8| name.eq_ignore_ascii_case(utf8))
}

/// Returns whether a text with the charset `declared` (`None` if none is declared) may be read as UTF-8: no charset,
/// UTF-8, or US-ASCII if the text is ASCII. Browsers decode text that is declared as US-ASCII as Windows-1252.
pub(crate) fn may_be_utf8(declared: Option<&str>, text: &[u8]) -> bool {
    declared.is_none_or(|name| is_utf8(name) || name.eq_ignore_ascii_case("us-ascii") && text.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::may_be_utf8;

    #[test]
    fn ascii_is_read_as_utf8_if_the_text_has_no_other_characters() {
        for (declared, text, expected) in [
            (None, "\u{e9}", true),
            (Some("UTF-8"), "\u{e9}", true),
            (Some("utf8"), "\u{e9}", true),
            (Some("us-ascii"), "e", true),
            (Some("us-ascii"), "\u{e9}", false),
            (Some("iso-8859-1"), "e", false),
        ] {
            assert_eq!(may_be_utf8(declared, text.as_bytes()), expected, "{declared:?} {text}");
        }
    }
}
