//! Constant text in a template (a text with variables).

/// Number of bytes of a short text that are copied at once.
const AT_ONCE: usize = 16;

/// Constant text of a template. Text between two variables is usually short: copying sixteen bytes and truncating is
/// faster than a copy of variable length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    text: Box<[u8]>,
    /// First bytes of the text, padded with zeros.
    first: [u8; AT_ONCE],
}

impl Literal {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut first = [0; AT_ONCE];
        first.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Self { text: text.into(), first }
    }

    /// Returns the constant text.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// Appends the constant text to `out`.
    #[inline]
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        if self.text.len() > AT_ONCE {
            return out.extend_from_slice(&self.text);
        }
        let end = out.len() + self.text.len();
        out.extend_from_slice(&self.first);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_length_is_appended_whole() {
        let text = b"0123456789abcdefghij";
        for length in 0..=text.len() {
            let mut out = b"<".to_vec();
            let literal = Literal::new(&text[..length]);
            literal.append(&mut out);
            literal.append(&mut out);
            assert_eq!(out, [b"<", &text[..length], &text[..length]].concat());
            assert_eq!(literal.bytes(), &text[..length]);
        }
    }
}
