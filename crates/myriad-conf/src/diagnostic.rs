//! What is wrong with a configuration, and where.

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// A line that works, but probably not as meant.
    Warning,
    /// It may well be meant, and is worth a thought when somebody tests the configuration (`-t`).
    Hint,
}

/// What may have led to an error, other than what its place says: an error before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing defines this name, unless a directive does that could not be read.
    Name(String),
    /// The directive may not stand in this block, unless a brace is missing or too many.
    Context,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// What, in one sentence without a full stop.
    pub message: String,
    /// Where; the default span for what no file holds.
    pub span: Span,
    /// What to do about it, a line each.
    pub help: Vec<String>,
    /// Other places that matter, such as the first of two duplicates.
    pub related: Vec<(Span, String)>,
    /// Which earlier error may have led to this one; boxed, since few have it.
    pub doubt: Option<Box<Doubt>>,
    /// What it shares with other findings; boxed, since few have it.
    pub repeats: Option<Box<Repeats>>,
}

/// Findings of one cause, of which the first is reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Cause of findings with different messages; else the message is the cause.
    pub cause: Option<&'static str>,
    /// Further places with the same cause.
    pub also: Vec<Span>,
}

impl Diagnostic {
    /// An error at `span`.
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

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// A hint at `span`.
    pub fn hint(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Hint, ..Self::error(span, message) }
    }

    /// Says that the error is that nothing defines `name` (of a variable, an upstream, a zone, a format).
    #[must_use]
    pub fn undefined(mut self, name: impl Into<String>) -> Self {
        self.doubt = Some(Box::new(Doubt::Name(name.into())));
        self
    }

    /// Says that the error is that the directive may not stand in its block.
    #[must_use]
    pub fn misplaced(mut self) -> Self {
        self.doubt = Some(Box::new(Doubt::Context));
        self
    }

    /// Names the cause that the error shares with others.
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

    /// Adds another place that matters.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}
