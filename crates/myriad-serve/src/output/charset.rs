//! `charset`: its name behind the media types of text. Bodies are not recoded.

use std::borrow::Cow;

use myriad_script::Frame;

use super::{Answer, Source, line_named};
use crate::exchange::{Request, scratch};
use crate::runtime::CharsetRules;

/// Names the charset, unless the media type names one already.
pub(crate) fn name_charset(request: &Request, frame: &mut Frame, rules: &CharsetRules, answer: &mut Answer) {
    let media_type = match (&answer.media_type, &answer.source) {
        (Some(media_type), _) => &**media_type,
        (None, Source::Page(page)) => match line_named(&page.meta().lines, b"content-type") {
            Some(media_type) => media_type,
            None => return,
        },
        (None, _) => return,
    };
    if !wants_charset(media_type, rules.types.as_deref()) {
        return;
    }
    let named = scratch::with_buffer(|name| {
        // One that cannot be told is none: the answer itself is sound.
        rules.name.eval(request, frame, name).ok()?;
        name.retain(|byte| !byte.is_ascii_control());
        (!name.is_empty() && &name[..] != b"off").then(|| [media_type, b"; charset=", name].concat())
    });
    if let Some(named) = named {
        answer.media_type = Some(Cow::Owned(named));
    }
}

fn wants_charset(media_type: &[u8], types: Option<&[Box<[u8]>]>) -> bool {
    let mut parts = media_type.split(|byte| *byte == b';');
    let bare = parts.next().unwrap_or_default().trim_ascii();
    let named = parts
        .any(|part| part.trim_ascii().get(..8).is_some_and(|name| name.eq_ignore_ascii_case(b"charset=")));
    !named
        && !bare.is_empty()
        && types.is_none_or(|types| types.iter().any(|known| bare.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::wants_charset;

    #[test]
    fn listed_types_without_charset_want_one() {
        let types: Vec<Box<[u8]>> = vec![b"text/html"[..].into(), b"text/plain"[..].into()];
        assert!(wants_charset(b"text/html", Some(&types)));
        assert!(wants_charset(b"Text/HTML ; x=y", Some(&types)));
        assert!(!wants_charset(b"text/html; Charset=utf-8", Some(&types)));
        assert!(!wants_charset(b"image/png", Some(&types)));
        assert!(wants_charset(b"image/png", None));
        assert!(!wants_charset(b"", None));
    }
}
