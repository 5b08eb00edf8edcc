//! Settings of the addition module.

/// Settings of `add_before_body`, `add_after_body` and `addition_types` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AdditionSettings {
    /// `add_before_body`: a path; empty for none.
    pub before: Vec<u8>,
    /// `add_after_body`: a path; empty for none.
    pub after: Vec<u8>,
    /// `addition_types`, in lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
}

myriad_conf::feature_settings!(AdditionSettings);
