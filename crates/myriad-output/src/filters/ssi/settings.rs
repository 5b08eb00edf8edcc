//! Settings of the ssi module.

/// Settings of `ssi*` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SsiSettings {
    /// True for `ssi on`.
    pub on: bool,
    /// `ssi_types`, in lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `ssi_silent_errors`: true if a failed command writes no error message.
    pub silent_errors: bool,
    /// `ssi_last_modified`: true if `Last-Modified` is preserved.
    pub last_modified: bool,
    /// `ssi_value_length`: maximum length of a parameter's value, in bytes.
    pub value_length: u64,
}

myriad_conf::feature_settings!(SsiSettings);
