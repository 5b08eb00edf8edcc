//! Browser cache times of a place (`expires`).

/// `expires`. Offsets are in seconds and may be negative. `T` is the type of a text with variables: source or compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExpiresRule<T> {
    /// No change of the fields.
    #[default]
    Off,
    /// `epoch`: 1 January 1970 and `no-cache`.
    Epoch,
    /// `max`: 31 December 2037 and ten years.
    Max,
    /// Seconds from now; a negative value produces `no-cache`.
    Access(i64),
    /// `modified TIME`: seconds from the file's last modification.
    Modified(i64),
    /// `@15h30m`: next occurrence of the time of day, in seconds since local midnight.
    Daily(u32),
    /// Variable that evaluates to one of the above at run time.
    Variable {
        /// Text with the variable.
        text: T,
        /// True if `modified` precedes it.
        modified: bool,
    },
}

impl<T> ExpiresRule<T> {
    /// Converts the text of a variable with `compile`.
    pub fn map<U>(&self, compile: impl FnOnce(&T) -> U) -> ExpiresRule<U> {
        match self {
            Self::Off => ExpiresRule::Off,
            Self::Epoch => ExpiresRule::Epoch,
            Self::Max => ExpiresRule::Max,
            Self::Access(seconds) => ExpiresRule::Access(*seconds),
            Self::Modified(seconds) => ExpiresRule::Modified(*seconds),
            Self::Daily(second) => ExpiresRule::Daily(*second),
            Self::Variable { text, modified } => {
                ExpiresRule::Variable { text: compile(text), modified: *modified }
            }
        }
    }

    /// Returns whether the result may depend on the last modification of the content.
    pub fn reads_change(&self) -> bool {
        matches!(self, Self::Modified(_) | Self::Variable { modified: true, .. })
    }
}
