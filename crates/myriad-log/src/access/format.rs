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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::testing::{Values, template};

    fn line(text: &str, escaping: Escaping, values: &Values) -> String {
        let format = Format { name: "own".to_owned(), template: template(text), escaping };
        let mut line = Vec::new();
        format.write_line(values, &mut Frame::new(), &mut line).unwrap();
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn values_are_escaped_and_the_text_around_them_is_not() {
        let values = Values { plain: b"a\"\n", ..Values::default() };
        assert_eq!(line("\"$plain\"", Escaping::Default, &values), "\"a\\x22\\x0A\"\n");
        assert_eq!(line("{\"p\":\"$plain\"}", Escaping::Json, &values), "{\"p\":\"a\\\"\\n\"}\n");
        assert_eq!(line("$plain", Escaping::None, &values), "a\"\n\n");
    }

    #[test]
    fn what_does_not_exist_differs_from_what_is_empty() {
        let values = Values::default();
        assert_eq!(line("[$plain] [$absent]", Escaping::Default, &values), "[] [-]\n");
        assert_eq!(line("[$plain] [$absent]", Escaping::Json, &values), "[] []\n");
    }

    #[test]
    fn text_without_variables_is_a_line_for_each_request() {
        assert_eq!(line("seen", Escaping::Default, &Values::default()), "seen\n");
    }

    #[test]
    fn lines_are_appended() {
        let format = Format { name: String::new(), template: template("$plain"), escaping: Escaping::None };
        let mut lines = Vec::new();
        for plain in [&b"one"[..], b"two"] {
            format.write_line(&Values { plain, ..Values::default() }, &mut Frame::new(), &mut lines).unwrap();
        }
        assert_eq!(lines, b"one\ntwo\n");
    }

    #[test]
    fn value_that_cannot_be_made_is_an_error_and_no_line() {
        let format =
            Format { name: String::new(), template: template("a $broken"), escaping: Escaping::None };
        let mut line = Vec::new();
        assert!(format.write_line(&Values::default(), &mut Frame::new(), &mut line).is_err());
        assert!(!line.ends_with(b"\n"), "{line:?}");
    }
}
