//! Server side includes: nginx's ssi module.

/// `ssi*` of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsiSettings {
    /// `ssi`.
    pub on: bool,
    /// `ssi_types`, lower case, always with `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `ssi_silent_errors`.
    pub silent_errors: bool,
    /// `ssi_last_modified`.
    pub last_modified: bool,
    /// `ssi_value_length`, bytes.
    pub value_length: u64,
}

impl Default for SsiSettings {
    fn default() -> Self {
        Self {
            on: false,
            types: vec!["text/html".to_owned()],
            silent_errors: false,
            last_modified: false,
            value_length: 255,
        }
    }
}
