//! Diagnostics as people read them, and `-T`.

use crate::{diagnostic::Diagnostic, parsed::Parsed};

/// Message, file, line, column, the line with carets, advice; ends with a newline.
pub fn render(_parsed: &Parsed, diagnostic: &Diagnostic) -> String {
    diagnostic.message.clone()
}

/// `-T`: every file that was read, once, after a line `# configuration file PATH:`.
pub fn dump(_parsed: &Parsed) -> Vec<u8> {
    Vec::new()
}
