//! How long answers may be kept by browsers, as a place says it.

/// `expires`. Offsets are seconds and may be negative. `T` is what a variable stands in: the text, or what it was compiled to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expires<T> {
    /// Leaves the fields alone.
    #[default]
    Off,
    /// `epoch`: 1 January 1970 and `no-cache`.
    Epoch,
    /// `max`: 31 December 2037 and ten years.
    Max,
    /// Seconds from now; negative gives `no-cache`.
    Access(i64),
    /// `modified TIME`: seconds from the file's last change.
    Modified(i64),
    /// `@15h30m`: the next time of day, in seconds since local midnight.
    Daily(u32),
    /// A variable that yields one of the above at run time.
    Variable {
        /// The text with the variable.
        text: T,
        /// Whether `modified` stood before it.
        modified: bool,
    },
}

impl<T> Expires<T> {
    /// The same of a text that is made into something else.
    pub fn map<U>(&self, compile: impl FnOnce(&T) -> U) -> Expires<U> {
        match self {
            Self::Off => Expires::Off,
            Self::Epoch => Expires::Epoch,
            Self::Max => Expires::Max,
            Self::Access(seconds) => Expires::Access(*seconds),
            Self::Modified(seconds) => Expires::Modified(*seconds),
            Self::Daily(second) => Expires::Daily(*second),
            Self::Variable { text, modified } => {
                Expires::Variable { text: compile(text), modified: *modified }
            }
        }
    }

    /// Whether it may depend on when the content was changed last.
    pub fn reads_change(&self) -> bool {
        matches!(self, Self::Modified(_) | Self::Variable { modified: true, .. })
    }
}
