//! Percent-encoding and HTML escaping.

/// What a text is escaped for; the kinds of nginx's `ngx_escape_uri` and `ngx_escape_html`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// A path: escapes control bytes, space, `"`, `%`, `#`, `?`, `<`, `>`, `\`, `^`, `` ` ``, `{`, `|`, `}` and all above `~`.
    Uri,
    /// An argument list: as `Uri`, but leaves `?` and escapes `&`, `+`, `;`.
    Args,
    /// One component: escapes all but letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §2.3).
    UriComponent,
    /// HTML text and attributes: `<`, `>`, `&` and `"`.
    Html,
}

/// Appends `text` to `out`, escaped for `kind`.
pub fn escape(_text: &[u8], _kind: Escape, _out: &mut Vec<u8>) {}

/// Appends `text` to `out` with each `%XX` decoded; a `%` that is no escape stays as it is.
pub fn unescape(_text: &[u8], _out: &mut Vec<u8>) {}
