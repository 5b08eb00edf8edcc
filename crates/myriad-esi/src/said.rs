//! What an origin says of the markup in its answer.

/// Longest token and longest name of an argument, bytes.
const LONGEST: usize = 64;
/// Shortest token: below that it could be guessed.
const SHORTEST_TOKEN: usize = 8;
/// Longest reason that is kept, bytes; the rest of a longer one is left out.
const LONGEST_REASON: usize = 200;

/// What an origin says of an answer that has markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Known visitors may read the page, with their own parts in the place of the marked ones.
    pub known: bool,
    /// The argument by which parts are asked for together.
    pub joint: Option<Box<[u8]>>,
    /// The word that markup bears; all other is text.
    pub token: Option<Box<[u8]>>,
}

impl Said {
    /// Reads the values of `Surrogate-Control`, `X-Myriad-ESI` and `X-LiteSpeed-Cache-Control`; none where the answer has no markup.
    /// What cannot be read of the second is taken for the safe side: `known` does not hold, and a token that is none matches no tag.
    pub fn of<'a>(
        surrogate: impl Iterator<Item = &'a [u8]>,
        own: impl Iterator<Item = &'a [u8]>,
        litespeed: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let has_esi = words(surrogate).any(is_content) || words(litespeed).any(|word| is(word, b"esi=on"));
        if !has_esi {
            return None;
        }
        let mut said = Self::default();
        let mut is_sound = true;
        for word in words(own) {
            match word.iter().position(|byte| *byte == b'=') {
                None if is(word, b"known") => said.known = true,
                Some(at) if is(&word[..at], b"joint") && is_name(&word[at + 1..], 1) => {
                    said.joint = Some(word[at + 1..].into());
                }
                Some(at) if is(&word[..at], b"token") => {
                    is_sound &= said.token.is_none() && is_name(&word[at + 1..], SHORTEST_TOKEN);
                    said.token = Some(word[at + 1..].into());
                }
                // `why=`, or a word of a later version that may take something back.
                _ => is_sound = false,
            }
        }
        if !is_sound {
            said.known = false;
            if said.token.is_some() {
                said.token = Some(Box::default());
            }
        }
        Some(said)
    }
}

/// Why known visitors may not read a page, as its `X-Myriad-ESI` says it: `why="TEXT"`, without commas. What no quoted text of an HTTP
/// field may hold becomes `_`.
pub fn why<'a>(own: impl Iterator<Item = &'a [u8]>) -> Option<Box<[u8]>> {
    let text = words(own).find_map(|word| {
        let (name, value) = word.split_at_checked(4)?;
        is(name, b"why=").then_some(value)
    })?;
    let text =
        text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text).trim_ascii();
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\');
    let text = text.iter().take(LONGEST_REASON).map(|byte| if is_plain(*byte) { *byte } else { b'_' });
    let text: Box<[u8]> = text.collect();
    (!text.is_empty()).then_some(text)
}

/// The words of fields that are lists.
fn words<'a>(values: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    values
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|word| !word.is_empty())
}

fn is(word: &[u8], name: &[u8]) -> bool {
    word.eq_ignore_ascii_case(name)
}

/// `content="ESI/1.0"`, alone or among others (Edge Architecture Specification section 2.3).
fn is_content(word: &[u8]) -> bool {
    let Some((name, value)) = word.split_at_checked(8) else { return false };
    // What stands behind a semicolon names the surrogate that it is for.
    let value = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    is(name, b"content=") && value.split(u8::is_ascii_whitespace).any(|content| is(content, b"esi/1.0"))
}

fn is_name(text: &[u8], shortest: usize) -> bool {
    (shortest..=LONGEST).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(surrogate: &str, own: &str, litespeed: &str) -> Option<Said> {
        let value = |text: &'static [u8]| (!text.is_empty()).then_some(text).into_iter();
        let leak = |text: &str| value(Box::leak(text.as_bytes().to_vec().into_boxed_slice()));
        Said::of(leak(surrogate), leak(own), leak(litespeed))
    }

    const ESI: &str = "content=\"ESI/1.0\"";

    #[test]
    fn markup_is_there_where_the_origin_says_so() {
        for surrogate in
            [ESI, "max-age=60, Content=\"esi/1.0\"", "content=\"A/1 ESI/1.0\"", "content=\"ESI/1.0\";myriad"]
        {
            assert_eq!(said(surrogate, "", ""), Some(Said::default()), "{surrogate}");
        }
        assert_eq!(said("", "", "public,max-age=60,esi=on"), Some(Said::default()));
        for surrogate in ["", "max-age=60", "content=\"ESI/1.00\"", "content=", "x=\"ESI/1.0\""] {
            assert_eq!(said(surrogate, "known", "public,esi=off"), None, "{surrogate}");
        }
    }

    #[test]
    fn words_of_our_own_field_are_read() {
        let read = said(ESI, "known, joint=myriad-esi, token=0123456789abcdef", "").expect("markup");
        assert!(read.known);
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
            let read = said(ESI, own, "").expect("markup");
            assert!(!read.known, "{own}");
            assert!(read.token.is_none_or(|token| token.is_empty()), "{own}");
        }
    }

    #[test]
    fn reason_is_kept_as_a_field_may_say_it() {
        let why = |text: &[u8]| {
            super::why([text].into_iter()).map(|why| String::from_utf8_lossy(&why).into_owned())
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
