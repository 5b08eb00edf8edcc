//! Positions and directives as text, for messages.

use crate::{SourceFile, Span, line_and_column};

/// Returns the file name and line of a span, such as `nginx.conf:12`; `None` if the file does not exist.
pub fn position_text(sources: &[SourceFile], span: Span) -> Option<String> {
    let source = sources.get(span.file.0 as usize)?;
    let name = source.path.file_name().unwrap_or(source.path.as_os_str()).to_string_lossy().into_owned();
    Some(format!("{name}:{}", line_and_column(source, span.start).0))
}

/// Returns the directive that contains the start of a span, on one line and without its `;` or `{`. The directive is
/// assumed to start after the last `;`, `{`, `}` or newline before the span. Returns an empty text if the file does not
/// exist.
pub fn directive_at(sources: &[SourceFile], span: Span) -> String {
    let Some(source) = sources.get(span.file.0 as usize) else { return String::new() };
    let at = (span.start as usize).min(source.bytes.len());
    let ends = |byte: &u8| matches!(byte, b';' | b'{' | b'}' | b'\n');
    let from = source.bytes[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let mut quote = None;
    let mut to = source.bytes.len();
    for (index, &byte) in source.bytes.iter().enumerate().skip(from) {
        if let Some(open) = quote {
            if byte == open {
                quote = None;
            }
            continue;
        }
        match byte {
            b'"' | b'\'' => quote = Some(byte),
            b';' | b'{' if index >= at => {
                to = index;
                break;
            }
            _ => {}
        }
    }
    let text = String::from_utf8_lossy(&source.masked_bytes(from, to)).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
