//! A compiled `log_format`.

use myriad_script::{Environment, EvalError, Frame, Piece, Template};

use super::Escaping;

/// A `log_format`.
pub struct Format {
    /// Its name.
    pub name: String,
    /// The text.
    pub template: Template,
    /// How values are written.
    pub escaping: Escaping,
}

impl Format {
    /// Appends the line of a request, and its end.
    pub fn write_line(
        &self,
        request: &impl Environment,
        frame: &mut Frame,
        line: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        self.template.for_each_piece(request, frame, |piece| match piece {
            Piece::Literal(text) => line.extend_from_slice(text),
            Piece::Value(value) => self.escaping.write(value, line),
            Piece::Missing => line.extend_from_slice(self.escaping.missing()),
        })?;
        line.push(b'\n');
        Ok(())
    }
}
