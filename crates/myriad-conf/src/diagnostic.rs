//! Diagnostics: errors, warnings and hints with their positions.

use crate::span::Span;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Error: the configuration is rejected.
    Error,
    /// Warning: the line works, but probably not as intended.
    Warning,
    /// Hint: the line may be intended, but deserves a check when the configuration is tested (`-t`).
    Hint,
}

/// Earlier error that may be the actual cause of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossibleCause {
    /// The name is undefined, unless it is defined by a directive that could not be read.
    Name(String),
    /// The directive is not allowed in this block, unless a brace is missing or extra.
    Context,
}

/// Diagnostic of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Message: one sentence without a full stop.
    pub message: String,
    /// Position; the default span if the diagnostic has no source file.
    pub span: Span,
    /// Advice, one line per element.
    pub help: Vec<String>,
    /// Related positions, such as the first of two duplicates.
    pub related: Vec<(Span, String)>,
    /// Earlier error that may be the cause of this error. Boxed, because few diagnostics have it.
    pub doubt: Option<Box<PossibleCause>>,
    /// Data shared with other diagnostics of the same cause. Boxed, because few diagnostics have it.
    pub repeats: Option<Box<RepeatedDiagnostics>>,
}

/// Diagnostics with the same cause, of which only the first is reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatedDiagnostics {
    /// Cause shared by diagnostics with different messages. If `None`, the message is the cause.
    pub cause: Option<&'static str>,
    /// Further positions with the same cause.
    pub also: Vec<Span>,
}

impl Diagnostic {
    /// Creates an error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
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

    /// Marks the error as caused by the undefined `name` (of a variable, an upstream, a zone or a format).
    #[must_use]
    pub fn undefined(mut self, name: impl Into<String>) -> Self {
        self.doubt = Some(Box::new(PossibleCause::Name(name.into())));
        self
    }

    /// Marks the error as caused by a directive that is not allowed in its block.
    #[must_use]
    pub fn misplaced(mut self) -> Self {
        self.doubt = Some(Box::new(PossibleCause::Context));
        self
    }

    /// Sets the cause that this error shares with others.
    #[must_use]
    pub fn cause(mut self, cause: &'static str) -> Self {
        self.repeats.get_or_insert_default().cause = Some(cause);
        self
    }

    /// Adds a line of advice.
    #[must_use]
    pub fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }

    /// Adds a related position.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}
