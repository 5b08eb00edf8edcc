//! `charset`: named behind the media types of text, and answers of another charset converted to it.

use std::borrow::Cow;

use myriad_encode::Coding;
use myriad_log::Level;
use myriad_script::{Frame, Template};

use super::filters::{self, Converter};
use super::{Answer, line_named};
use crate::exchange::{Exchange, Request};
use crate::runtime::CharsetRules;

/// Names the charset of the place, and converts the body where it is known to be in another one.
pub(crate) fn apply(request: &Request, frame: &mut Frame, rules: &CharsetRules, answer: &mut Answer) {
    let Some(media_type) = answer.media_type() else { return };
    let (bare, named) = split(media_type);
    let wanted = if named.is_some() { rules.override_named } else { rules.types.cover(bare) };
    if !wanted || matches!(answer.status, 301 | 302) {
        return;
    }
    if let (None, None, Some(name)) = (named, &rules.source, rules.name.as_static()) {
        if !matches!(name, b"" | b"off") {
            answer.media_type = Some(Cow::Owned([bare, b"; charset=", name].concat()));
        }
        return;
    }
    let (bare, named) = (bare.to_vec(), named.map(<[u8]>::to_vec));
    let Some(to) = name(request, frame, &rules.name) else { return };
    let from = match (named, &rules.source) {
        (Some(named), _) => Some(named),
        (None, Some(source)) => name(request, frame, source),
        (None, None) => None,
    };
    if let Some(from) = from
        && !from.eq_ignore_ascii_case(&to)
        && !convert(request, answer, &from, &to)
    {
        return;
    }
    answer.media_type = Some(Cow::Owned([&bare[..], b"; charset=", &to[..]].concat()));
}

/// Whether an answer of that media type, which names no charset, is going to be in UTF-8.
pub(crate) fn names_utf8(exchange: &mut Exchange, media_type: &[u8]) -> bool {
    let Exchange { request, frame } = exchange;
    let site = std::rc::Rc::clone(&request.site);
    let Some(rules) = &site.runtime.place(request.place).charset else { return false };
    rules.types.cover(media_type)
        && name(request, frame, &rules.name).is_some_and(|name| name.eq_ignore_ascii_case(b"utf-8"))
}

/// The value of a directive; none for `off` and nothing.
fn name(request: &Request, frame: &mut Frame, template: &Template) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    // One that cannot be told is none: the answer itself is sound.
    template.eval(request, frame, &mut name).ok()?;
    name.retain(|byte| !byte.is_ascii_control());
    (!name.is_empty() && name != b"off").then_some(name)
}

/// Returns whether the body is now in the charset that is to be named.
fn convert(request: &Request, answer: &mut Answer, from: &[u8], to: &[u8]) -> bool {
    let coded = answer.coding != Coding::Identity || line_named(&answer.lines, b"content-encoding").is_some();
    let charsets = &request.runtime().charsets;
    let known = charsets.knows(from) && charsets.knows(to);
    if known && coded {
        return false;
    }
    let Some(table) = charsets.table(from, to) else {
        let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
        let message = format_args!("no \"charset_map\" between the charsets \"{from}\" and \"{to}\"");
        request.log(Level::Error, message);
        return false;
    };
    filters::convert(request, answer, Converter::new(table.clone()), table.keeps_length());
    true
}

/// The media type without its parameters, and the charset among these.
fn split(media_type: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = media_type.split(|byte| *byte == b';');
    let bare = parts.next().unwrap_or_default().trim_ascii();
    let charset = parts.find_map(|part| {
        let part = part.trim_ascii();
        let value =
            part.get(..8).filter(|name| name.eq_ignore_ascii_case(b"charset=")).map(|_| &part[8..])?;
        let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        Some(unquoted.unwrap_or(value))
    });
    (bare, charset)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn charset_is_found_among_the_parameters_of_a_media_type() {
        assert_eq!(split(b"text/html"), (&b"text/html"[..], None));
        assert_eq!(split(b"Text/HTML ; x=y"), (&b"Text/HTML"[..], None));
        assert_eq!(split(b"text/html; x=y; Charset=utf-8"), (&b"text/html"[..], Some(&b"utf-8"[..])));
        assert_eq!(split(b"text/html;charset=\"koi8-r\""), (&b"text/html"[..], Some(&b"koi8-r"[..])));
    }
}
