//! Reasons why a picture was not processed.

use std::fmt;

use crate::size::Size;

/// Reason why a picture was not processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read or written.
    Broken(&'static str),
    /// It has more pixels than may be read.
    TooLarge(Size),
    /// Reading it takes more processor time or memory than pictures of its size need.
    TooCostly(&'static str),
    /// The interrupt cancelled the work.
    Cancelled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) | Self::TooCostly(why) => f.write_str(why),
            Self::TooLarge(size) => {
                write!(
                    f,
                    "it has {} x {} pixels, more than \"image_filter_pixels\" allows",
                    size.width, size.height
                )
            }
            Self::Cancelled => f.write_str("cancelled: no client is waiting"),
        }
    }
}

impl std::error::Error for Fault {}
