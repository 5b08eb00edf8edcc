//! nginx's headers module: `add_header`, `expires`.

use crate::text::Text;

/// One `add_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddHeader {
    /// The field's name.
    pub name: Text,
    /// The value; an empty result adds nothing.
    pub value: Text,
    /// Also on answers other than 200, 201, 204, 206, 301, 302, 303, 304, 307, 308.
    pub always: bool,
}

/// `expires`. Offsets are seconds and may be negative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expires {
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
        text: Text,
        /// Whether `modified` stood before it.
        modified: bool,
    },
}

/// Fields added to answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderSettings {
    /// `add_header`, in source order.
    pub add: Vec<AddHeader>,
    /// `expires`.
    pub expires: Expires,
}
