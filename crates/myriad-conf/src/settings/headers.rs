//! nginx's headers module: `add_header`, `add_trailer`, `expires`.

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

/// `add_header_inherit`, `add_trailer_inherit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InheritFields {
    /// `on`: the fields of the level around, where the level has none of its own.
    #[default]
    On,
    /// `off`: never.
    Off,
    /// `merge`: the level's own, then those of the level around.
    Merge,
}

/// `add_header` or `add_trailer` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedFields {
    own: Vec<AddHeader>,
    outer: Vec<AddHeader>,
    inherit: InheritFields,
}

impl AddedFields {
    /// The fields that hold here, in the order in which they are added.
    pub fn iter(&self) -> impl Iterator<Item = &AddHeader> {
        let inherits = match self.inherit {
            InheritFields::On => self.own.is_empty(),
            InheritFields::Off => false,
            InheritFields::Merge => true,
        };
        self.own.iter().chain(self.outer.iter().filter(move |_| inherits))
    }

    pub(crate) fn push(&mut self, field: AddHeader) {
        self.own.push(field);
    }

    pub(crate) fn set_inherit(&mut self, inherit: InheritFields) {
        self.inherit = inherit;
    }

    /// What a level within this one begins with.
    pub(crate) fn within(&self) -> Self {
        Self { own: Vec::new(), outer: self.iter().cloned().collect(), inherit: self.inherit }
    }
}

/// `expires`. Offsets are seconds and may be negative. `T` is what a variable stands in: the text, or what it was compiled to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expires<T = Text> {
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

/// Fields added to answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderSettings {
    /// `add_header`.
    pub add: AddedFields,
    /// `add_trailer`.
    pub trailers: AddedFields,
    /// `expires`.
    pub expires: Expires,
}
