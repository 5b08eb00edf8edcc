//! Encodings of the values that the SSI command `echo` writes.

/// Value of the parameter `encoding=` of the SSI command `echo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SsiEncoding {
    /// `none`: the value is written as it is.
    None,
    /// `url`: the value is percent-encoded.
    Url,
    /// `entity`: characters with a meaning in HTML become entities.
    #[default]
    Entity,
}

impl SsiEncoding {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"none" => Some(Self::None),
            b"url" => Some(Self::Url),
            b"entity" => Some(Self::Entity),
            _ => None,
        }
    }

    pub(crate) fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::None => out.extend_from_slice(value),
            Self::Url => value.iter().for_each(|byte| write_url(*byte, out)),
            Self::Entity => value.iter().for_each(|byte| write_entity(*byte, out)),
        }
    }
}

fn write_entity(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'<' => out.extend_from_slice(b"&lt;"),
        b'>' => out.extend_from_slice(b"&gt;"),
        b'&' => out.extend_from_slice(b"&amp;"),
        b'"' => out.extend_from_slice(b"&quot;"),
        _ => out.push(byte),
    }
}

/// Appends a byte, percent-encoded if it is not allowed in a link (nginx's `NGX_ESCAPE_HTML`).
fn write_url(byte: u8, out: &mut Vec<u8>) {
    let escaped = matches!(
        byte,
        0..=b' ' | b'"' | b'#' | b'%' | b'\'' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x7f..
    );
    if escaped {
        let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
        out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
    } else {
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(encoding: &str, value: &str) -> String {
        let mut out = Vec::new();
        SsiEncoding::named(encoding.as_bytes()).unwrap().write(value.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_written_as_asked() {
        assert_eq!(written("none", "<a href=\"?b&c\">"), "<a href=\"?b&c\">");
        assert_eq!(written("entity", "<a href=\"?b&c\">'"), "&lt;a href=&quot;?b&amp;c&quot;&gt;'");
        assert_eq!(written("url", "<a/b?c=d&e>\r\né"), "%3Ca/b?c=d&e%3E%0D%0A%C3%A9");
        assert_eq!(SsiEncoding::named(b"other"), None);
    }
}
