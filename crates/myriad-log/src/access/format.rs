//! Compiled log formats of access logs (`log_format`).

use myriad_conf::model::LogEscape;
use myriad_script::{Environment, EvalError, Frame, Template};

use super::escape::Escaped;

/// Compiled `log_format` directive: format of the lines of an access log.
pub struct LogFormat {
    /// Name of the `log_format`.
    pub name: String,
    /// Text of a line, without the line break, with variables that are evaluated for each request.
    pub template: Template,
    /// Escaping of the values (`escape=`).
    pub escape: LogEscape,
}

impl LogFormat {
    /// Appends the line of a request, including its line break. Fails if a variable cannot be evaluated.
    pub fn write_line(
        &self,
        request: &impl Environment,
        frame: &mut Frame,
        line: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        self.template.write(request, frame, line, &Escaped(self.escape))?;
        line.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::testing::{TestVariables, template};

    fn line(text: &str, escape: LogEscape, values: &TestVariables) -> String {
        let format = LogFormat { name: "own".to_owned(), template: template(text), escape };
        let mut line = Vec::new();
        format.write_line(values, &mut Frame::new(), &mut line).unwrap();
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn values_are_escaped_and_the_text_around_them_is_not() {
        let values = TestVariables { plain: b"a\"\n", ..TestVariables::default() };
        assert_eq!(line("\"$plain\"", LogEscape::Default, &values), "\"a\\x22\\x0A\"\n");
        assert_eq!(line("{\"p\":\"$plain\"}", LogEscape::Json, &values), "{\"p\":\"a\\\"\\n\"}\n");
        assert_eq!(line("$plain", LogEscape::None, &values), "a\"\n\n");
    }

    #[test]
    fn what_does_not_exist_differs_from_what_is_empty() {
        let values = TestVariables::default();
        assert_eq!(line("[$plain] [$absent]", LogEscape::Default, &values), "[] [-]\n");
        assert_eq!(line("[$plain] [$absent]", LogEscape::Json, &values), "[] []\n");
    }

    #[test]
    fn text_without_variables_is_a_line_for_each_request() {
        assert_eq!(line("seen", LogEscape::Default, &TestVariables::default()), "seen\n");
    }

    #[test]
    fn lines_are_appended() {
        let format = LogFormat { name: String::new(), template: template("$plain"), escape: LogEscape::None };
        let mut lines = Vec::new();
        for plain in [&b"one"[..], b"two"] {
            format
                .write_line(
                    &TestVariables { plain, ..TestVariables::default() },
                    &mut Frame::new(),
                    &mut lines,
                )
                .unwrap();
        }
        assert_eq!(lines, b"one\ntwo\n");
    }

    #[test]
    fn value_that_cannot_be_made_is_an_error_and_no_line() {
        let format =
            LogFormat { name: String::new(), template: template("a $broken"), escape: LogEscape::None };
        let mut line = Vec::new();
        assert!(format.write_line(&TestVariables::default(), &mut Frame::new(), &mut line).is_err());
        assert!(!line.ends_with(b"\n"), "{line:?}");
    }
}
