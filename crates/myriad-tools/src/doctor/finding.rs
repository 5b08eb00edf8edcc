//! Findings of the doctor, and their severities.

/// Severity of a finding; the variants are ordered, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Visitors are affected, or soon will be.
    Bad,
    /// Improvement is possible.
    Warning,
    /// The check could not be performed.
    Unseen,
    /// No problem was found.
    Fine,
}

impl Severity {
    /// Returns the name of the severity that reports contain.
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

/// Result of a single check of `myriad doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// Name of the check for programs that read the report, such as `opcache-off`.
    pub check: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// Text of the observation, or the reason why the check could not be performed.
    pub what: String,
    /// Remedy that the user can apply; empty if none is needed or known.
    pub remedy: String,
}

/// Adds the findings of one check to a list.
pub(crate) struct CheckReport<'l> {
    pub(crate) check: &'static str,
    pub(crate) list: &'l mut Vec<DoctorFinding>,
}

impl<'l> CheckReport<'l> {
    pub(crate) fn new(check: &'static str, list: &'l mut Vec<DoctorFinding>) -> Self {
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
        self.list.push(DoctorFinding {
            check: self.check,
            severity,
            what: what.into(),
            remedy: remedy.into(),
        });
    }
}
