//! Errors at the start of a site.

use std::fmt;

use myriad_conf::Diagnostic;

/// Reason why a configuration could not be compiled or started.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is invalid.
    Configuration(Vec<Diagnostic>),
    /// A system resource is not available.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(errors) => {
                for (index, error) in errors.iter().enumerate() {
                    let separator = if index > 0 { "; " } else { "" };
                    write!(f, "{separator}{}", error.message)?;
                }
                Ok(())
            }
            Self::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}
