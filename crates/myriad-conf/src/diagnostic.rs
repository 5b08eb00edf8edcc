//! Diagnostics: errors, warnings and hints with their positions.

use crate::span::Span;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Error: the configuration is rejected.
    Error,
    /// Warning: the configuration is accepted, but a part of it is probably a mistake, obsolete, or without effect.
    Warning,
    /// Hint: the directive may be intended, but deserves a check; reported only when the configuration is tested
    /// (`-t`).
    Hint,
}

/// Kind of earlier error that would explain an error, so that the error may only be a consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossibleCause {
    /// The error is the use of an undefined name. It is a consequence if the directive that defines the name could not
    /// be read.
    Name(String),
    /// The error is a directive that is not allowed in its block. It is a consequence if a brace is missing or extra.
    Context,
}

/// Error, warning or hint about a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity of the diagnostic.
    pub severity: Severity,
    /// Message: one sentence without a full stop.
    pub message: String,
    /// Position in a source file; the default span if there is none.
    pub span: Span,
    /// Advice to the author of the configuration, one line per element.
    pub help: Vec<String>,
    /// Related positions with labels, such as the first of two duplicates.
    pub related: Vec<(Span, String)>,
    /// Kind of earlier error of which this error may only be a consequence; `None` if it is an independent error.
    /// Boxed, because few diagnostics have it.
    pub doubt: Option<Box<PossibleCause>>,
    /// Further diagnostics with the same cause, which are reported together with this one as positions; `None` if there
    /// are none. Boxed, because few diagnostics have it.
    pub repeats: Option<Box<RepeatedDiagnostics>>,
}

/// Further diagnostics with the same cause as this one, of which only the first is reported in full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatedDiagnostics {
    /// Cause shared by diagnostics with different messages. If `None`, diagnostics with the same severity, message and
    /// advice, and without related positions, have the same cause.
    pub cause: Option<&'static str>,
    /// Positions of the further diagnostics with the same cause.
    pub also: Vec<Span>,
}

impl Diagnostic {
    /// Creates an error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: without_data(message.into()),
            span,
            help: Vec::new(),
            related: Vec::new(),
            doubt: None,
            repeats: None,
        }
    }

    /// Creates a warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Creates a hint at `span`.
    pub fn hint(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Hint, ..Self::error(span, message) }
    }

    /// Marks the error as a use of the undefined `name` (of a variable, an upstream, a zone or a format), which may be
    /// a consequence of an error in the directive that defines the name.
    #[must_use]
    pub fn undefined(mut self, name: impl Into<String>) -> Self {
        self.doubt = Some(Box::new(PossibleCause::Name(name.into())));
        self
    }

    /// Marks the error as a directive that is not allowed in its block, which may be a consequence of a missing or
    /// extra brace.
    #[must_use]
    pub fn misplaced(mut self) -> Self {
        self.doubt = Some(Box::new(PossibleCause::Context));
        self
    }

    /// Sets the cause that this error shares with errors that have other messages.
    #[must_use]
    pub fn cause(mut self, cause: &'static str) -> Self {
        self.repeats.get_or_insert_default().cause = Some(cause);
        self
    }

    /// Adds a line of advice to the diagnostic.
    #[must_use]
    pub fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }

    /// Adds a related position with a label, such as the first of two duplicates.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}
/// Returns a message without the text after each `"data:` up to the next quotation mark: it may be a private key
/// (`ssl_certificate_key`), and messages are logged.
fn without_data(mut message: String) -> String {
    let mut from = 0;
    while let Some(at) = message[from..].find("\"data:") {
        let start = from + at + "\"data:".len();
        let end = message[start..].find('"').map_or(message.len(), |length| start + length);
        message.replace_range(start..end, "");
        from = start;
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_data_is_not_part_of_a_message() {
        let message = "invalid \"data:-----BEGIN PRIVATE KEY-----\nMII/x=\" after \"data:x\" and \"data\"";
        let shown = Diagnostic::error(Span::default(), message).message;
        assert_eq!(shown, "invalid \"data:\" after \"data:\" and \"data\"");
        assert_eq!(Diagnostic::warning(Span::default(), "\"data:MII").message, "\"data:");
    }
}
