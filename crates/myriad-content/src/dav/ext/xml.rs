//! Subset of XML for WebDAV: elements with namespaces, and texts. Document types, entity declarations and CDATA
//! sections are rejected; comments and processing instructions are skipped.
//!
//! A client's body has at most 64 KB and 16 levels of elements; at most 256 different properties are answered. A
//! namespace has at most 256 bytes, because it is repeated in the response for each property of each file.

use std::collections::HashMap;

/// XML namespace of the elements and properties of WebDAV.
const DAV: &str = "DAV:";
const DEEPEST: usize = 16;
const MOST_NAMES: usize = 256;
const LONGEST_SPACE: usize = 256;

/// Name of a WebDAV property, with its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyName {
    /// Namespace of the property; empty for none.
    pub space: String,
    /// Name of the property in its namespace.
    pub local: String,
}

/// Properties requested by a PROPFIND (RFC 4918 section 9.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedProperties {
    /// `allprop` or an empty body: all properties with their values.
    All,
    /// `propname`: the names of all properties, without values.
    Names,
    /// `prop`: the listed properties with their values.
    Listed(Vec<PropertyName>),
}

/// Description of an error in the XML body of a request.
type XmlError = &'static str;

/// Parses the body of PROPFIND; an empty body requests all properties.
///
/// # Errors
/// The body is not XML, has too many levels, contains unsupported constructs, or is not a `propfind` element.
pub fn parse_propfind(body: &[u8]) -> Result<RequestedProperties, XmlError> {
    if body.trim_ascii().is_empty() {
        return Ok(RequestedProperties::All);
    }
    let (mut asked, mut names, mut root) = (None, Vec::new(), false);
    elements(body, |path, _| match path {
        [one] => root = is(one, "propfind"),
        [_, kind] if is(kind, "allprop") => asked = Some(RequestedProperties::All),
        [_, kind] if is(kind, "propname") => asked = Some(RequestedProperties::Names),
        [_, kind] if is(kind, "prop") => asked = Some(RequestedProperties::Listed(Vec::new())),
        // `elements` reports an element again with each of its texts.
        [_, kind, name] if is(kind, "prop") && names.len() < MOST_NAMES && !names.contains(name) => {
            names.push(name.clone());
        }
        _ => {}
    })?;
    match asked.filter(|_| root) {
        Some(RequestedProperties::Listed(_)) => Ok(RequestedProperties::Listed(names)),
        Some(asked) => Ok(asked),
        None => Err("no valid propfind element"),
    }
}

/// Parses the body of LOCK and returns the text of its `owner`, truncated to about 1024 bytes; empty if missing.
///
/// # Errors
/// The body is not XML, has too many levels, contains unsupported constructs, is not a `lockinfo` element, or does not
/// request an exclusive write lock.
pub fn lock_info(body: &[u8]) -> Result<String, XmlError> {
    let (mut root, mut exclusive, mut write, mut owner) = (false, false, false, String::new());
    elements(body, |path, text| match path {
        [one] if text.is_empty() => root = is(one, "lockinfo"),
        [_, scope, kind] if is(scope, "lockscope") => exclusive |= is(kind, "exclusive"),
        [_, scope, kind] if is(scope, "locktype") => write |= is(kind, "write"),
        [_, one, ..] if is(one, "owner") => owner.push_str(text),
        _ => {}
    })?;
    let length = owner.char_indices().map(|(at, _)| at).find(|at| *at >= 1024).unwrap_or(owner.len());
    owner.truncate(length);
    match (root, exclusive && write) {
        (true, true) => Ok(owner.trim().to_owned()),
        (true, false) => Err("only exclusive write locks are supported"),
        (false, _) => Err("no valid lockinfo element"),
    }
}

fn is(name: &PropertyName, local: &str) -> bool {
    name.space == DAV && name.local == local
}

/// Parses a document. Calls `found` at the start of each element with the names of the element and its ancestors (the
/// root first) and an empty text, and again with each text in it that is not blank.
fn elements(body: &[u8], mut found: impl FnMut(&[PropertyName], &str)) -> Result<(), XmlError> {
    let mut rest = std::str::from_utf8(body).map_err(|_| "not UTF-8")?.trim_start_matches('\u{feff}');
    let mut path: Vec<PropertyName> = Vec::new();
    let mut spaces: Vec<HashMap<String, String>> = Vec::new();
    let mut is_root_closed = false;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if !text.trim().is_empty() {
            if path.is_empty() {
                return Err("text outside the root element");
            }
            found(&path, &unescaped(text)?);
        }
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").ok_or("unterminated comment")?.1;
        } else if rest.starts_with("<?") {
            rest = rest.split_once("?>").ok_or("unterminated processing instruction")?.1;
        } else if rest.starts_with("<!") {
            return Err("document type declarations and CDATA sections are not supported");
        } else if let Some(end) = rest.strip_prefix("</") {
            rest = end.split_once('>').ok_or("unterminated tag")?.1;
            path.pop().ok_or("closing tag without an opening tag")?;
            spaces.pop();
            is_root_closed = path.is_empty();
        } else {
            let (tag, after) = tag(&rest[1..])?;
            rest = after;
            if is_root_closed || path.len() >= DEEPEST {
                return Err("elements are nested too deeply, or follow the root element");
            }
            let (tag, closes) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, own) = attributes(tag)?;
            spaces.push(own);
            path.push(resolved(name, &spaces)?);
            found(&path, "");
            if closes {
                path.pop();
                spaces.pop();
                is_root_closed = path.is_empty();
            }
        }
    }
    if is_root_closed && rest.trim().is_empty() { Ok(()) } else { Err("the document is incomplete") }
}

/// Splits a tag from the rest of the document at its `>`, ignoring `>` in quotes.
fn tag(rest: &str) -> Result<(&str, &str), XmlError> {
    let mut quote = None;
    for (at, char) in rest.char_indices() {
        match (quote, char) {
            (None, '>') => return Ok((&rest[..at], &rest[at + 1..])),
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            _ => {}
        }
    }
    Err("unterminated tag")
}

/// Splits a tag into its name and its namespace declarations by prefix; the prefix of the default namespace is empty.
fn attributes(tag: &str) -> Result<(&str, HashMap<String, String>), XmlError> {
    let (name, mut rest) = tag.split_once(|char: char| char.is_ascii_whitespace()).unwrap_or((tag, ""));
    let mut spaces = HashMap::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok((name, spaces));
        }
        let (attribute, value) = rest.split_once('=').ok_or("an attribute has no value")?;
        let value = value.trim_start();
        let quote = value
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))
            .ok_or("an attribute value is not quoted")?;
        let (value, after) = value[1..].split_once(quote).ok_or("unterminated attribute value")?;
        rest = after;
        let attribute = attribute.trim_end();
        if attribute == "xmlns" {
            spaces.insert(String::new(), unescaped(value)?);
        } else if let Some(prefix) = attribute.strip_prefix("xmlns:") {
            if value.is_empty() {
                return Err("a prefix has an empty namespace");
            }
            spaces.insert(prefix.to_owned(), unescaped(value)?);
        }
    }
}

fn resolved(name: &str, spaces: &[HashMap<String, String>]) -> Result<PropertyName, XmlError> {
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    let is_of_a_name = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
    if local.is_empty() || !local.chars().all(is_of_a_name) {
        return Err("an element has no valid name");
    }
    let space = spaces.iter().rev().find_map(|own| own.get(prefix));
    if space.is_some_and(|space| space.len() > LONGEST_SPACE) {
        return Err("a namespace is longer than 256 bytes");
    }
    match space {
        Some(space) => Ok(PropertyName { space: space.clone(), local: local.to_owned() }),
        None if prefix.is_empty() => Ok(PropertyName { space: String::new(), local: local.to_owned() }),
        None => Err("a prefix is not declared"),
    }
}

/// Replaces the five predefined entities of XML in a text. Returns an error for other entities and for character
/// references.
fn unescaped(text: &str) -> Result<String, XmlError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, after) = after.split_once(';').ok_or("unterminated entity")?;
        out.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => return Err("unknown XML entity"),
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Appends an escaped text, without characters that are invalid in XML 1.0.
pub(super) fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(char),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(space: &str, local: &str) -> PropertyName {
        PropertyName { space: space.to_owned(), local: local.to_owned() }
    }

    #[test]
    fn properties_are_named_in_their_namespaces() {
        let body = br#"<?xml version="1.0"?><!-- a --><D:propfind xmlns:D="DAV:" xmlns:x='urn:&lt;'>
            <D:prop><D:getetag/><x:a/><b xmlns="urn:b"></b><c/></D:prop></D:propfind>"#;
        let names = vec![name("DAV:", "getetag"), name("urn:<", "a"), name("urn:b", "b"), name("", "c")];
        assert_eq!(parse_propfind(body), Ok(RequestedProperties::Listed(names)));
        assert_eq!(
            parse_propfind(b"<propfind xmlns=\"DAV:\"><allprop/></propfind>"),
            Ok(RequestedProperties::All)
        );
        assert_eq!(
            parse_propfind(b"<propfind xmlns=\"DAV:\"><propname/></propfind>"),
            Ok(RequestedProperties::Names)
        );
        assert_eq!(parse_propfind(b" \n"), Ok(RequestedProperties::All));
    }

    #[test]
    fn property_is_named_once_and_its_namespace_is_short() {
        let body = |space: &str| {
            format!(
                "<D:propfind xmlns:D='DAV:'><D:prop xmlns:x='{space}'><x:a>1</x:a><x:a/></D:prop></D:propfind>"
            )
        };
        let longest = "s".repeat(LONGEST_SPACE);
        assert_eq!(
            parse_propfind(body(&longest).as_bytes()),
            Ok(RequestedProperties::Listed(vec![name(&longest, "a")]))
        );
        assert!(parse_propfind(body(&format!("{longest}s")).as_bytes()).is_err());
    }

    #[test]
    fn owner_of_a_lock_is_a_text() {
        let body = br#"<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>
            <D:owner><D:href>me &amp; you</D:href></D:owner></D:lockinfo>"#;
        assert_eq!(lock_info(body).as_deref(), Ok("me & you"));
        let shared = std::str::from_utf8(body).unwrap().replace("exclusive", "shared");
        assert!(lock_info(shared.as_bytes()).is_err());
    }

    #[test]
    fn what_is_no_such_body_is_refused() {
        for body in [
            "a",
            "<a",
            "<a>",
            "</a>",
            "<a></a><b/>",
            "<a xmlns:b=''/>",
            "<a b></a>",
            "<a b=c></a>",
            "<a b=\"c></a>",
            "<x:a/>",
            "<!DOCTYPE a><a/>",
            "<a>&b;</a>",
            "<a>&lt</a>",
            "<!-- a",
            "<? a",
            "<a/>",
            "<propfind xmlns=\"urn:x\"><allprop/></propfind>",
            "<:/>",
            "< />",
        ] {
            assert!(parse_propfind(body.as_bytes()).is_err(), "{body}");
        }
        let deep = "<a>".repeat(100);
        assert!(parse_propfind(deep.as_bytes()).is_err());
        assert!(parse_propfind(b"\xff").is_err());
    }

    #[test]
    fn texts_are_escaped_and_hold_what_xml_can() {
        let mut out = String::new();
        escape("<a href=\"b\">\u{1}&\u{fffe}c", &mut out);
        assert_eq!(out, "&lt;a href=&quot;b&quot;&gt;&amp;c");
    }
}
