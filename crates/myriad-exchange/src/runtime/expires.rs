//! Freshness lifetime of responses in browsers (`expires`).

/// `expires` directive. `T` is the type of texts with variables: as written, or compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExpiresRule<T> {
    /// `off`: the header fields are not changed.
    #[default]
    Off,
    /// `epoch`: `Expires` of 1 January 1970, and `Cache-Control: no-cache`.
    Epoch,
    /// `max`: `Expires` of 31 December 2037, and a `max-age` of ten years.
    Max,
    /// `TIME`: seconds from the time of the response; a negative value also sends `Cache-Control: no-cache`.
    Access(i64),
    /// `modified TIME`: seconds from the last modification of the response; may be negative.
    Modified(i64),
    /// `@15h30m`: next occurrence of the time of day, in seconds since local midnight.
    Daily(u32),
    /// Variable, evaluated for each request to `off`, `epoch`, `max`, a time, or a time of day with `@`. After
    /// `modified`, the value is a time.
    Variable {
        /// Text that contains the variable.
        text: T,
        /// True if the argument `modified` precedes the variable.
        modified: bool,
    },
}

impl<T> ExpiresRule<T> {
    /// Converts the text of [`Self::Variable`] with `compile`; the other variants are copied.
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

    /// Returns true if the directive has the argument `modified`: the resulting header fields then depend on the time
    /// of the last modification.
    pub fn reads_change(&self) -> bool {
        matches!(self, Self::Modified(_) | Self::Variable { modified: true, .. })
    }
}
