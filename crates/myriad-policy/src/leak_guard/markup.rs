//! Signs of a page for one visitor in HTML: a page for a logged-in visitor, and tokens of forms.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::private_values::LeakKind;

/// Start of WordPress's administration bar, which only logged-in visitors get. Text of a page cannot contain these
/// bytes, because `<` is encoded in text.
static BAR: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"<div id=\"wpadminbar\""));
/// Start of the element whose classes WordPress uses for the state of the visitor.
static BODY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"<body"));
/// Class of the `<body>` element that WordPress sets for a logged-in visitor.
const CLASS: &[u8] = b"logged-in";
/// Maximum number of bytes of the `<body>` tag that are examined.
const MAX_TAG: usize = 4096;
/// Starts of fields and metadata with a token against forged requests: Laravel, Rails, Django, ASP.NET, Symfony.
static TOKENS: LazyLock<[Finder<'_>; 6]> = LazyLock::new(|| {
    [
        "name=\"_token\"",
        "name=\"csrf-token\"",
        "name=\"authenticity_token\"",
        "name=\"csrfmiddlewaretoken\"",
        "name=\"__RequestVerificationToken\"",
        "name=\"_csrf_token\"",
    ]
    .map(Finder::new)
});

/// Upper bound for the length of the texts that are searched for, in bytes. The last `LONGEST - 1` bytes of a piece are
/// searched again with the next piece, because a text may be divided between them.
const LONGEST: usize = 40;

/// Cookies and credentials that the origin has received, or that it sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCookies {
    /// True if one of the cookies is a session cookie: tokens of forms in the page then count as data of this session.
    pub session: bool,
    /// True if the origin has received any cookie or credentials, so that a visitor can be logged in.
    pub any: bool,
}

/// Search for signs that HTML was made for one visitor: an administration bar, the class of a logged-in visitor, or
/// form tokens.
#[derive(Debug)]
pub(super) struct MarkupSearch {
    /// Cookies and credentials of the request: without any, nothing is a sign; without a session cookie, no form token
    /// is.
    cookies: SentCookies,
    tag: BodyTag,
    /// Last bytes of the text so far, fewer than [`LONGEST`].
    tail: Vec<u8>,
}

/// State of the search in the tag of [`BODY`].
#[derive(Debug)]
enum BodyTag {
    /// The start of the `<body>` tag has not been found.
    Before,
    /// Beginning of the `<body>` tag, whose end has not been found.
    Inside(Vec<u8>),
    /// The `<body>` tag was examined.
    Done,
}

impl MarkupSearch {
    /// Creates a search; `None` if nothing can be a sign: the origin has received neither cookies nor credentials, and
    /// sets no session cookie.
    pub(super) fn new(cookies: SentCookies) -> Option<Self> {
        let has_any = cookies.session || cookies.any;
        has_any.then_some(Self { cookies, tag: BodyTag::Before, tail: Vec::new() })
    }

    /// Searches the next piece of the page. Returns the kind of the sign found, and its position in the piece: 0 if the
    /// sign begins in an earlier piece, or is the class of the tag [`BODY`]. `None` if there is no sign. A kind for
    /// which `is_excused` returns true is not a sign.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        is_excused: impl Fn(LeakKind) -> bool,
    ) -> Option<(LeakKind, usize)> {
        let seen = self.tail.len();
        self.tail.extend_from_slice(&piece[..piece.len().min(LONGEST)]);
        let joined = std::mem::take(&mut self.tail);
        // The sign is in the piece, or it begins in the tail.
        let find = |sign: &Finder<'_>| {
            let at = sign.find(&joined).map(|at| at.saturating_sub(seen));
            at.or_else(|| sign.find(piece))
        };
        let has_class = self.has_class(&joined, seen, piece);
        let found = find(&BAR).or_else(|| has_class.then_some(0)).filter(|_| self.cookies.any);
        let found = found.map(|at| (LeakKind::LoggedIn, at)).filter(|(kind, _)| !is_excused(*kind));
        let found = found.or_else(|| {
            let tokens = if self.cookies.session { &TOKENS[..] } else { &[] };
            let at = tokens.iter().filter_map(find).min()?;
            (!is_excused(LeakKind::FormToken)).then_some((LeakKind::FormToken, at))
        });
        let last = if piece.len() >= LONGEST { piece } else { &joined[..] };
        self.tail = last[last.len().saturating_sub(LONGEST - 1)..].to_vec();
        found
    }

    /// Returns true if the tag of [`BODY`] is complete now, or has reached [`MAX_TAG`] bytes, and has [`CLASS`].
    /// `joined` are the last `seen` bytes before the piece, and its first bytes.
    fn has_class(&mut self, joined: &[u8], seen: usize, piece: &[u8]) -> bool {
        let text = match &mut self.tag {
            BodyTag::Done => return false,
            BodyTag::Inside(_) => piece,
            before @ BodyTag::Before => match (BODY.find(joined), BODY.find(piece)) {
                (Some(at), _) if at < seen => {
                    *before = BodyTag::Inside(joined[at..seen].to_vec());
                    piece
                }
                (_, Some(at)) => {
                    *before = BodyTag::Inside(Vec::new());
                    &piece[at..]
                }
                _ => return false,
            },
        };
        let BodyTag::Inside(tag) = &mut self.tag else { return false };
        let end = memchr::memchr(b'>', text);
        tag.extend_from_slice(&text[..end.unwrap_or(text.len()).min(MAX_TAG)]);
        if end.is_none() && tag.len() < MAX_TAG {
            return false;
        }
        let has_class = has_class(tag);
        self.tag = BodyTag::Done;
        has_class
    }
}

/// Returns whether the attribute `class` of a tag contains [`CLASS`].
fn has_class(tag: &[u8]) -> bool {
    let Some(start) = memmem::find(tag, b"class=") else { return false };
    let value = &tag[start + 6..];
    let Some((quote @ (b'"' | b'\''), value)) = value.split_first() else { return false };
    let value = value.split(|byte| byte == quote).next().unwrap_or_default();
    value.split(u8::is_ascii_whitespace).any(|class| class == CLASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(page: &[&str], has_session: bool) -> Option<LeakKind> {
        let mut search = MarkupSearch::new(SentCookies { session: has_session, any: true }).expect("a sign");
        page.iter().find_map(|part| search.push(part.as_bytes(), |_| false)).map(|(kind, _)| kind)
    }

    #[test]
    fn state_of_wordpress_is_found_across_parts() {
        let class = "<html><body class=\"home logged-in admin-bar\">text";
        let bar = "<html><body><div id=\"wpadminbar\" class=\"nojq\">";
        for page in [class, bar] {
            for at in 0..page.len() {
                assert_eq!(first(&[&page[..at], &page[at..]], false), Some(LeakKind::LoggedIn), "{at}");
            }
        }
    }

    #[test]
    fn pages_about_these_signs_are_not_concerned() {
        for page in [
            "<body class='home not-logged-in'>logged-in",
            "<body><p>class=\"logged-in\"</p><code>&lt;div id=\"wpadminbar\"&gt;</code>",
            "<style>#wpadminbar { top: 0 } body.logged-in { margin: 0 }</style><body>",
        ] {
            assert_eq!(first(&[page], false), None, "{page}");
        }
    }

    #[test]
    fn visitors_without_cookies_are_not_logged_in() {
        let mut search = MarkupSearch::new(SentCookies { session: true, any: false }).expect("a sign");
        assert_eq!(search.push(b"<body class=\"logged-in\"><div id=\"wpadminbar\">", |_| false), None);
        assert!(MarkupSearch::new(SentCookies::default()).is_none());
    }

    #[test]
    fn excused_sign_does_not_hide_another() {
        let mut search = MarkupSearch::new(SentCookies { session: true, any: true }).expect("a sign");
        let page = b"<body class=\"logged-in\"><input name=\"_token\">";
        let found = search.push(page, |kind| kind == LeakKind::LoggedIn);
        assert_eq!(found.map(|(kind, _)| kind), Some(LeakKind::FormToken));
    }

    #[test]
    fn tokens_of_forms_count_next_to_a_session() {
        let page = "<body><form><input type=\"hidden\" name=\"_token\" value=\"a\">";
        assert_eq!(first(&[page], true), Some(LeakKind::FormToken));
        assert_eq!(first(&[page], false), None);
    }
}
