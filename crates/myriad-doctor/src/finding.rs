//! Findings.

/// How much a finding matters, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Visitors suffer, or soon will.
    Bad,
    /// It could be better.
    Warning,
    /// It could not be looked at.
    Unseen,
    /// All is well.
    Fine,
}

impl Severity {
    /// Word in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Warning => "warning",
            Self::Unseen => "unseen",
            Self::Fine => "fine",
        }
    }
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the check, for machines: `opcache-off`.
    pub check: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, or why it could not be looked at: a sentence.
    pub what: String,
    /// What to do; empty where nothing is.
    pub remedy: String,
}

/// List that checks add to.
pub(crate) struct Report<'l> {
    pub(crate) check: &'static str,
    pub(crate) list: &'l mut Vec<Finding>,
}

impl<'l> Report<'l> {
    pub(crate) fn new(check: &'static str, list: &'l mut Vec<Finding>) -> Self {
        Self { check, list }
    }

    pub(crate) fn fine(self, what: impl Into<String>) {
        self.add(Severity::Fine, what, "");
    }

    pub(crate) fn warn(self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Warning, what, remedy);
    }

    pub(crate) fn bad(self, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Bad, what, remedy);
    }

    pub(crate) fn unseen(self, why: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Unseen, why, remedy);
    }

    fn add(self, severity: Severity, what: impl Into<String>, remedy: impl Into<String>) {
        self.list.push(Finding { check: self.check, severity, what: what.into(), remedy: remedy.into() });
    }
}
