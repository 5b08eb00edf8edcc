//! Errors of values that are read.

use std::fmt;

/// Reason for which a value is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The tag is missing or wrong: another secret, another cluster's or key's value, or a value that was changed.
    NotAuthentic,
    /// The value is authentic, but its format is invalid.
    Malformed,
    /// The value is authentic, but a newer version of Myriad wrote it in a format that this version cannot read.
    NewerVersion,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAuthentic => "not authenticated by the cluster's secret",
            Self::Malformed => "invalid format",
            Self::NewerVersion => "written by a newer version of Myriad",
        })
    }
}

impl std::error::Error for RecordError {}
