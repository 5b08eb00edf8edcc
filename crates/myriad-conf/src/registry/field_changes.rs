//! Arguments of directives that change header fields, in the syntax of headers-more: lists after options, and `Name:
//! value`.

use super::directive::Arguments;
use crate::diagnostic::Diagnostic;
use crate::text::Text;

/// Names of fields that define message framing or apply to a single connection. Directives that name them are rejected.
/// A name with `*` may match them, which does not change the framing, because it is derived from the body.
const FRAMING: [&[u8]; 7] =
    [b"connection", b"content-length", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"];

impl<'a> Arguments<'a> {
    /// Returns the words of a list in a single argument, separated by white space, commas or semicolons.
    ///
    /// # Errors
    /// Returns an error if the argument at `index`, which follows an option, is missing. `example` shows the expected
    /// form.
    pub fn list_of_option(&self, index: usize, example: &str) -> Result<Vec<&'a [u8]>, Diagnostic> {
        if index == self.len() {
            let option = self.bytes(index - 1).escape_ascii();
            let message = format!("missing value after \"{option}\" in \"{}\"", self.directive.name);
            return Err(self.error(index - 1, message).help(format!("write a list in quotes: {example}")));
        }
        let words = self.bytes(index).split(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';'));
        Ok(words.filter(|word| !word.is_empty()).collect())
    }

    /// Parses a field change `Name: value`. Returns the name, which may end with `*`, and the value; `None` for a
    /// missing or empty value, which removes the field.
    ///
    /// # Errors
    /// Returns an error if the name is invalid or in [`FRAMING`], or if a name with `*` has a value.
    pub fn field(&self, index: usize) -> Result<(&'a [u8], Option<Text>), Diagnostic> {
        let written = self.bytes(index);
        let colon = written.iter().position(|byte| *byte == b':');
        let name = written[..colon.unwrap_or(written.len())].trim_ascii();
        let start = name.strip_suffix(b"*").unwrap_or(name);
        if name.is_empty() || !start.iter().all(|byte| is_token(*byte)) {
            let message = format!("\"{}\" is not a valid header name", name.escape_ascii());
            return Err(self.error(index, message).help("write the whole header in quotes: 'X-Name: value'"));
        }
        if FRAMING.iter().any(|framing| start.eq_ignore_ascii_case(framing)) {
            let message =
                format!("\"{}\" cannot be changed by \"{}\"", name.escape_ascii(), self.directive.name);
            return Err(self
                .error(index, message)
                .help("the header defines message framing or applies to a single connection only"));
        }
        let Some(colon) = colon else { return Ok((name, None)) };
        let text = self.text(index)?;
        let value = Text::new(text.bytes()[colon + 1..].trim_ascii(), text.span);
        if name.ends_with(b"*") && !value.is_empty() {
            let message = format!("\"{}\" matches several headers", name.escape_ascii());
            return Err(self
                .error(index, message)
                .help("a value applies to one header: write its full name"));
        }
        Ok((name, Some(value).filter(|value| !value.is_empty())))
    }
}

/// Returns whether a byte may occur in a field name (a token of RFC 9110 section 5.6.2), except `*`, which is a
/// wildcard here.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&byte)
}
