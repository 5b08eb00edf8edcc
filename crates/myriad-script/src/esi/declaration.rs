//! Properties of the ESI markup in a response, as declared by its origin in header fields.

/// Maximum length in bytes of a token, of the word of `compared`, and of the name of a query argument in
/// `X-Myriad-ESI`.
const LONGEST: usize = 64;
/// Minimum length of an ESI token in `X-Myriad-ESI`, in bytes. A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 8;
/// Maximum length of the reason `why=` in `X-Myriad-ESI`, in bytes. A longer one is truncated.
const LONGEST_REASON: usize = 200;

/// Declared properties of a response with ESI markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EsiDeclaration {
    /// True if known visitors (clients with a cookie of `esi_known_cookies`) may get the shared page, with their own
    /// fragments in its holes.
    pub for_known_visitors: bool,
    /// Word of `compared=`: a known visitor may get the shared page only after the origin has compared it with the page
    /// of a visitor of the same class; a changed word revokes earlier permissions. `None` if no comparison is required.
    pub compared: Option<Box<[u8]>>,
    /// Name of the query argument by which several fragments are requested together; `None` to request each separately.
    pub joint: Option<Box<[u8]>>,
    /// Token that each tag must contain; other tags are text. `None` if no token is required; empty if the declaration
    /// is invalid: then no tag is markup.
    pub token: Option<Box<[u8]>>,
}

impl EsiDeclaration {
    /// Parses the values of `Surrogate-Control` (`surrogate`), `X-Myriad-ESI` (`own`) and `X-LiteSpeed-Cache-Control`
    /// (`litespeed`). Returns `None` unless `surrogate` or `litespeed` declares ESI markup. An invalid or unknown word
    /// in `own`, a second token, or `why=` without `compared`, sets `for_known_visitors` to false, and makes a declared
    /// token match no tag.
    pub fn of<'a>(
        surrogate: impl Iterator<Item = &'a [u8]>,
        own: impl Iterator<Item = &'a [u8]>,
        litespeed: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let has_esi = words(surrogate).any(is_content)
            || words(litespeed).any(|word| equals_ignoring_case(word, b"esi=on"));
        if !has_esi {
            return None;
        }
        let mut declaration = Self::default();
        let (mut is_sound, mut has_reason) = (true, false);
        for word in words(own) {
            match word.iter().position(|byte| *byte == b'=') {
                None if equals_ignoring_case(word, b"known") => declaration.for_known_visitors = true,
                Some(at) if equals_ignoring_case(&word[..at], b"compared") && is_name(&word[at + 1..], 1) => {
                    declaration.compared = Some(word[at + 1..].into());
                }
                Some(at) if equals_ignoring_case(&word[..at], b"why") => has_reason = true,
                Some(at) if equals_ignoring_case(&word[..at], b"joint") && is_name(&word[at + 1..], 1) => {
                    declaration.joint = Some(word[at + 1..].into());
                }
                Some(at) if equals_ignoring_case(&word[..at], b"token") => {
                    is_sound &= declaration.token.is_none() && is_name(&word[at + 1..], SHORTEST_TOKEN);
                    declaration.token = Some(word[at + 1..].into());
                }
                // A word of a later version may restrict the known words.
                _ => is_sound = false,
            }
        }
        if !is_sound || (has_reason && declaration.compared.is_none()) {
            declaration.for_known_visitors = false;
            if declaration.token.is_some() {
                declaration.token = Some(Box::default());
            }
        }
        Some(declaration)
    }
}

/// Returns the reason in `X-Myriad-ESI` why known visitors may not get the page, or why it must be compared:
/// `why="TEXT"`, without commas, cut to [`LONGEST_REASON`] bytes; `None` if it is absent or empty. Quotation marks,
/// backslashes and bytes outside of printable ASCII become `_`.
pub fn reason<'a>(own: impl Iterator<Item = &'a [u8]>) -> Option<Box<[u8]>> {
    let text = words(own).find_map(|word| {
        let (name, value) = word.split_at_checked(4)?;
        equals_ignoring_case(name, b"why=").then_some(value)
    })?;
    let text =
        text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text).trim_ascii();
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\');
    let text = text.iter().take(LONGEST_REASON).map(|byte| if is_plain(*byte) { *byte } else { b'_' });
    let text: Box<[u8]> = text.collect();
    (!text.is_empty()).then_some(text)
}

/// Iterates over the elements of comma-separated fields.
fn words<'a>(values: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    values
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|word| !word.is_empty())
}

fn equals_ignoring_case(word: &[u8], name: &[u8]) -> bool {
    word.eq_ignore_ascii_case(name)
}

/// Returns whether a word is `content="ESI/1.0"`, possibly among other values (Edge Architecture Specification section
/// 2.2.4).
fn is_content(word: &[u8]) -> bool {
    let Some((name, value)) = word.split_at_checked(8) else { return false };
    // After a semicolon follows the name of the target surrogate (section 2.3).
    let value = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    equals_ignoring_case(name, b"content=")
        && value.split(u8::is_ascii_whitespace).any(|content| equals_ignoring_case(content, b"esi/1.0"))
}

fn is_name(text: &[u8], shortest: usize) -> bool {
    (shortest..=LONGEST).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_declaration(surrogate: &str, own: &str, litespeed: &str) -> Option<EsiDeclaration> {
        let value = |text: &'static [u8]| (!text.is_empty()).then_some(text).into_iter();
        let leak = |text: &str| value(Box::leak(text.as_bytes().to_vec().into_boxed_slice()));
        EsiDeclaration::of(leak(surrogate), leak(own), leak(litespeed))
    }

    const ESI: &str = "content=\"ESI/1.0\"";

    #[test]
    fn esi_is_enabled_by_origin_fields() {
        for surrogate in
            [ESI, "max-age=60, Content=\"esi/1.0\"", "content=\"A/1 ESI/1.0\"", "content=\"ESI/1.0\";myriad"]
        {
            assert_eq!(parse_declaration(surrogate, "", ""), Some(EsiDeclaration::default()), "{surrogate}");
        }
        assert_eq!(parse_declaration("", "", "public,max-age=60,esi=on"), Some(EsiDeclaration::default()));
        for surrogate in ["", "max-age=60", "content=\"ESI/1.00\"", "content=", "x=\"ESI/1.0\""] {
            assert_eq!(parse_declaration(surrogate, "known", "public,esi=off"), None, "{surrogate}");
        }
    }

    #[test]
    fn words_of_our_own_field_are_read() {
        let read =
            parse_declaration(ESI, "known, joint=myriad-esi, token=0123456789abcdef", "").expect("markup");
        assert!(read.for_known_visitors);
        assert_eq!(read.joint.as_deref(), Some(&b"myriad-esi"[..]));
        assert_eq!(read.token.as_deref(), Some(&b"0123456789abcdef"[..]));
    }

    #[test]
    fn what_cannot_be_read_is_no_promise_and_no_token() {
        for own in [
            "known, later",
            "known, token=short",
            "known, token=aaaaaaaa, token=bbbbbbbb",
            "known, joint=a&b",
            "known, why=\"it is not\"",
        ] {
            let read = parse_declaration(ESI, own, "").expect("markup");
            assert!(!read.for_known_visitors, "{own}");
            assert!(read.token.is_none_or(|token| token.is_empty()), "{own}");
        }
    }

    #[test]
    fn page_to_compare_has_a_reason_and_markup() {
        let read = parse_declaration(ESI, "known, compared=7f, token=0123456789abcdef, why=\"a reason\"", "");
        let read = read.expect("markup");
        assert!(read.for_known_visitors);
        assert_eq!(read.compared.as_deref(), Some(&b"7f"[..]));
        assert_eq!(read.token.as_deref(), Some(&b"0123456789abcdef"[..]));
    }

    #[test]
    fn reason_is_sanitized_for_field_use() {
        let why = |text: &[u8]| {
            super::reason([text].into_iter()).map(|why| String::from_utf8_lossy(&why).into_owned())
        };
        assert_eq!(why(b"why=\"asked in themes/a.php\"").as_deref(), Some("asked in themes/a.php"));
        assert_eq!(why(b"known, Why=short").as_deref(), Some("short"));
        assert_eq!(why(b"why=\"a\\b\x07\"c\"").as_deref(), Some("a_b__c"));
        assert_eq!(why(&[b"why=".as_slice(), &[b'x'; 300]].concat()).map(|why| why.len()), Some(200));
        for none in [&b"known"[..], b"why=", b"why=\"\"", b"whyever=1"] {
            assert_eq!(why(none), None, "{}", none.escape_ascii());
        }
    }
}
