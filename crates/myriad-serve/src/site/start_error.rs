//! Why a site does not start.

use std::fmt;

use myriad_conf::Diagnostic;

/// Why a configuration could not be run.
#[derive(Debug)]
pub enum StartError {
    /// It has errors.
    Configuration(Vec<Diagnostic>),
    /// The machine would not give what it needs.
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
