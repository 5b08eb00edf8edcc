//! Settings of the directives.

use myriad_conf::Text;
use myriad_exchange::runtime::ExpiresRule;

/// Single `add_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddHeader {
    /// Name of the field.
    pub name: Text,
    /// Value; an empty result adds nothing.
    pub value: Text,
    /// Set if also added to responses other than 200, 201, 204, 206, 301, 302, 303, 304, 307, 308.
    pub always: bool,
}

/// `add_header_inherit`, `add_trailer_inherit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InheritFields {
    /// `on`: the fields of the enclosing level, if the level has none.
    #[default]
    On,
    /// `off`: never.
    Off,
    /// `merge`: the fields of the level, then those of the enclosing level.
    Merge,
}

/// `add_header` or `add_trailer` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AddedFields {
    own_fields: Vec<AddHeader>,
    outer_fields: Vec<AddHeader>,
    inherit: InheritFields,
}

impl AddedFields {
    /// Returns the effective fields in the order in which they are added.
    pub(super) fn iter(&self) -> impl Iterator<Item = &AddHeader> {
        let inherits = match self.inherit {
            InheritFields::On => self.own_fields.is_empty(),
            InheritFields::Off => false,
            InheritFields::Merge => true,
        };
        self.own_fields.iter().chain(self.outer_fields.iter().filter(move |_| inherits))
    }

    pub(super) fn push(&mut self, field: AddHeader) {
        self.own_fields.push(field);
    }

    pub(super) fn set_inherit(&mut self, inherit: InheritFields) {
        self.inherit = inherit;
    }

    /// Returns the initial settings of a nested level.
    fn within(&self) -> Self {
        Self { own_fields: Vec::new(), outer_fields: self.iter().cloned().collect(), inherit: self.inherit }
    }
}

/// Fields added to responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderSettings {
    /// `add_header`.
    pub add: AddedFields,
    /// `add_trailer`.
    pub trailers: AddedFields,
    /// `expires`.
    pub expires: ExpiresRule<Text>,
}

myriad_conf::feature_settings!(HeaderSettings, |around| Some(HeaderSettings {
    add: around.add.within(),
    trailers: around.trailers.within(),
    expires: around.expires.clone(),
}));
