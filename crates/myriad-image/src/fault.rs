//! Why nothing became of a picture.

use std::fmt;

use crate::size::Size;

/// Why nothing became of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read or written.
    Broken(&'static str),
    /// It has more pixels than may be read.
    TooLarge(Size),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) => f.write_str(why),
            Self::TooLarge(size) => {
                write!(
                    f,
                    "it has {} x {} pixels, more than \"image_filter_pixels\" allows",
                    size.width, size.height
                )
            }
        }
    }
}

impl std::error::Error for Fault {}
