//! Settings of nginx's headers module.

use myriad_conf::Text;
use myriad_exchange::runtime::ExpiresRule;

/// One `add_header` or `add_trailer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddHeader {
    /// Name of the added field.
    pub name: Text,
    /// Value of the added field; if it evaluates to an empty text, the field is not added, but an existing `ETag` or
    /// `Last-Modified` of this name is removed.
    pub value: Text,
    /// `always`: true if the field is also added to responses with statuses other than 200, 201, 204, 206, 301, 302,
    /// 303, 304, 307, 308.
    pub always: bool,
}

/// Value of `add_header_inherit` or `add_trailer_inherit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InheritFields {
    /// `on`: the fields of the outer level apply if the level has none.
    #[default]
    On,
    /// `off`: fields of the outer level never apply.
    Off,
    /// `merge`: the fields of the level apply, then those of the outer level.
    Merge,
}

/// All `add_header` or `add_trailer` of a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AddedFields {
    own_fields: Vec<AddHeader>,
    outer_fields: Vec<AddHeader>,
    inherit: InheritFields,
}

impl AddedFields {
    /// Returns the effective fields, in the order in which they are added.
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

/// Settings of `add_header`, `add_trailer` and `expires` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderSettings {
    /// `add_header`: fields that are added to the head.
    pub add: AddedFields,
    /// `add_trailer`: fields that are added after the body.
    pub trailers: AddedFields,
    /// `expires`: lifetime that `Expires` and `Cache-Control` state.
    pub expires: ExpiresRule<Text>,
}

myriad_conf::feature_settings!(HeaderSettings, |around| Some(HeaderSettings {
    add: around.add.within(),
    trailers: around.trailers.within(),
    expires: around.expires.clone(),
}));
