//! Parser of an ESI tag: `<esi:NAME ATTRIBUTES>`, `<esi:NAME ATTRIBUTES/>`, `</esi:NAME ATTRIBUTES>`.

/// Maximum number of attributes of an ESI tag.
const MOST: usize = 16;

/// Name of an ESI tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EsiTagName {
    Include,
    Remove,
    Comment,
    /// LiteSpeed's tag with the content of a fragment inside the page. The content is dropped: the fragment is
    /// requested when needed.
    Inline,
}

/// Well-formed ESI tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EsiTag<'a> {
    pub name: EsiTagName,
    /// True for a closing tag, `</...>`.
    pub closes: bool,
    /// True for an element without content, `.../>`.
    pub is_empty: bool,
    attributes: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> EsiTag<'a> {
    /// Parses a tag from its `<` to its `>`; `None` if it is not well-formed or has an unknown name.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let text = text.strip_prefix(b"<")?.strip_suffix(b">")?;
        let (closes, text) = text.strip_prefix(b"/").map_or((false, text), |text| (true, text));
        let text = text.strip_prefix(b"esi:")?;
        let (is_empty, text) = text.strip_suffix(b"/").map_or((false, text), |text| (true, text));
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let name = match &text[..end] {
            b"include" => EsiTagName::Include,
            b"remove" => EsiTagName::Remove,
            b"comment" => EsiTagName::Comment,
            b"inline" => EsiTagName::Inline,
            _ => return None,
        };
        let attributes = attributes(&text[end..])?;
        (!(closes && is_empty)).then_some(Self { name, closes, is_empty, attributes })
    }

    /// Returns the value of an attribute as written, with its entities; `None` if the tag does not have it. Letter case
    /// of the name is ignored.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.attributes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// Parses the attributes; `None` if they are not well-formed, or contain a duplicate, or are too many.
fn attributes(mut rest: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut found: Vec<(&[u8], &[u8])> = Vec::new();
    loop {
        let trimmed = rest.trim_ascii_start();
        if trimmed.is_empty() {
            return Some(found);
        }
        if trimmed.len() == rest.len() || found.len() == MOST {
            return None;
        }
        let end =
            trimmed.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')))?;
        let name = &trimmed[..end];
        let value = trimmed[end..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let value = &value[1..];
        let length = value.iter().position(|byte| *byte == quote)?;
        if name.is_empty() || found.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return None;
        }
        found.push((name, &value[..length]));
        rest = &value[length + 1..];
    }
}

/// Returns the length of the tag at the start of `text`, including its `>`; `None` if there is no `>` outside of
/// quotes. A `<` outside of quotes is an error: the text is not a tag.
pub(crate) fn end(text: &[u8]) -> Result<Option<usize>, ()> {
    let mut quote = None;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return Ok(Some(at + 1)),
            (None, b'<') => return Err(()),
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_with_their_attributes() {
        let tag = EsiTag::parse(b"<esi:include  src='/a?b' \n onerror = \"continue\"/>").expect("a tag");
        assert!((tag.name, tag.is_empty, tag.closes) == (EsiTagName::Include, true, false));
        assert_eq!((tag.get(b"src"), tag.get(b"OnError")), (Some(&b"/a?b"[..]), Some(&b"continue"[..])));
        assert_eq!(tag.get(b"alt"), None);
        let close = EsiTag::parse(b"</esi:remove token=\"a\">").expect("a tag");
        assert!(close.closes && close.get(b"token") == Some(b"a"));
        // This is how LiteSpeed Cache writes a tag.
        assert!(
            EsiTag::parse(b"<esi:include src='/?lsesi=a' cache-control='private,no-vary' as-var='1' />")
                .is_some()
        );
    }

    #[test]
    fn what_is_not_well_formed_is_no_tag() {
        for text in [
            "<esi:include src=/a/>",
            "<esi:include src='/a' src='/b'/>",
            "<esi:include src='/a/>",
            "<esi:include src/>",
            "<esi:includes src='/a'/>",
            "<esi:include='/a'/>",
            "</esi:include/>",
            "<esi:>",
            "<esi:include src='/a'alt='/b'/>",
            "<esi:include ='/a'/>",
        ] {
            assert_eq!(EsiTag::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn end_is_not_sought_in_quotes() {
        assert_eq!(end(b"<esi:comment text='a>b'/>x"), Ok(Some(25)));
        assert_eq!(end(b"<esi:comment text='a>b"), Ok(None));
        assert_eq!(end(b"<esi:comment <b>"), Err(()));
    }
}
