//! Families of directives, and the directives and files that an origin protocol adds to the language.

use std::borrow::Cow;

use super::contexts::Contexts;
use super::directive::{DefaultValue, Directive, DirectiveStatus};
use crate::{
    builtin::BuiltinFile,
    diagnostic::Diagnostic,
    model::{HttpConf, LocationConf},
    settings::{OriginSettings, Protocol, Settings},
    span::Span,
    text::Text,
};

/// Family of directives that this crate, a feature or a protocol defines.
#[derive(Clone, Copy)]
pub struct DirectiveFamily {
    /// Name of the family, also the section of the documentation.
    pub name: &'static str,
    /// Directives with fixed names, in the order of the documentation.
    pub rows: &'static [Directive],
    /// Directives whose names start with the prefix of a protocol. Those of a feature exist for each protocol that
    /// supports them; those of a protocol only for that protocol.
    pub of_origins: &'static [FamilyRow],
    /// Function that checks each complete location or `if`; `None` if there is nothing to check.
    pub(crate) examine_block: Option<ExamineBlock>,
    /// Function that checks each location; `None` if there is nothing to check.
    pub(crate) examine_location: Option<ExamineLocation>,
    /// Function that checks the complete `http` block; `None` if there is nothing to check.
    pub(crate) examine_http: Option<ExamineHttp>,
}

/// Function that checks the settings of a location or `if` after its directives have been read, and adds diagnostics.
/// The span is the start of the block.
pub type ExamineBlock = fn(&Settings, Span, &mut Vec<Diagnostic>);

/// Function that checks a location after its directives have been read, and adds diagnostics. The location has no
/// rewrite steps and no nested locations yet.
pub type ExamineLocation = fn(&LocationConf, &mut Vec<Diagnostic>);

/// Function that checks the whole `http` block after all its directives have been read, and adds diagnostics.
pub type ExamineHttp = fn(&HttpConf, &mut Vec<Diagnostic>);

impl DirectiveFamily {
    /// Creates a family of directives with fixed names.
    pub const fn new(name: &'static str, rows: &'static [Directive]) -> Self {
        Self { name, rows, of_origins: &[], examine_block: None, examine_location: None, examine_http: None }
    }

    /// Creates a family of directives whose names start with the prefix of a protocol.
    pub const fn of_origins(name: &'static str, of_origins: &'static [FamilyRow]) -> Self {
        Self::new(name, &[]).and_of_origins(of_origins)
    }

    /// Adds directives whose names start with the prefix of a protocol.
    #[must_use]
    pub const fn and_of_origins(self, of_origins: &'static [FamilyRow]) -> Self {
        Self { of_origins, ..self }
    }

    /// Sets the function that checks each location and `if`.
    #[must_use]
    pub const fn examining_blocks(self, examine: ExamineBlock) -> Self {
        Self { examine_block: Some(examine), ..self }
    }

    /// Sets the function that checks each location.
    #[must_use]
    pub const fn examining_locations(self, examine: ExamineLocation) -> Self {
        Self { examine_location: Some(examine), ..self }
    }

    /// Sets the function that checks the complete `http` block.
    #[must_use]
    pub const fn examining_http(self, examine: ExamineHttp) -> Self {
        Self { examine_http: Some(examine), ..self }
    }
}

/// Row of an origin directive: its name is the part after the prefix of a protocol.
pub struct FamilyRow {
    row: Directive,
    needs: RowRequirement,
    /// Function that returns a default that depends on the protocol, for the documentation; `None` if the default of
    /// the row applies to every protocol.
    computed: Option<fn(Protocol) -> Option<&'static str>>,
}

/// Capability that a protocol needs for a [`FamilyRow`] to exist for it.
#[derive(Clone, Copy)]
enum RowRequirement {
    Nothing,
    Tls,
    Fields,
}

impl FamilyRow {
    /// Creates a row that exists for all origin protocols that do not exclude it (`ProtocolFacts::lacks`).
    pub const fn new(row: Directive) -> Self {
        Self { row, needs: RowRequirement::Nothing, computed: None }
    }

    /// Creates a row that exists for origin protocols that support TLS.
    pub const fn secure(row: Directive) -> Self {
        Self { row, needs: RowRequirement::Tls, computed: None }
    }

    /// Creates a row that exists for origin protocols whose requests have header fields instead of a CGI environment.
    pub const fn with_fields(row: Directive) -> Self {
        Self { row, needs: RowRequirement::Fields, computed: None }
    }

    /// Sets a [`DefaultValue::Computed`] that depends on the protocol. Where `sentence` returns `None`, the default of
    /// the row applies.
    #[must_use]
    pub const fn computed_by(mut self, sentence: fn(Protocol) -> Option<&'static str>) -> Self {
        self.computed = Some(sentence);
        self
    }

    /// Returns the directive for a protocol; `None` if the protocol lacks the required feature or does not have the
    /// directive.
    pub(super) fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        let has_it = match self.needs {
            RowRequirement::Nothing => true,
            RowRequirement::Tls => protocol.may_be_secure(),
            RowRequirement::Fields => !protocol.has_environment(),
        };
        if !has_it || !protocol.has(&self.row.name) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        // TLS connections of `stream` to upstream servers use the directives of HTTP origins.
        let of_streams = matches!(self.needs, RowRequirement::Tls) && protocol.serves_streams();
        let contexts = self.row.contexts;
        let contexts = if of_streams { contexts.or(Contexts::STREAM_LEVELS) } else { contexts };
        let sentence = self.computed.and_then(|sentence| sentence(protocol));
        let default = sentence.map_or(self.row.default, DefaultValue::Computed);
        let status = match self.row.status {
            DirectiveStatus::Same | DirectiveStatus::Differs(_) if protocol.is_own(&self.row.name) => {
                DirectiveStatus::Own
            }
            status => status,
        };
        let protocol = Some(protocol);
        Some(Directive { name, family, contexts, default, status, protocol, ..self.row.clone() })
    }
}

/// Directives, built-in files and hints that an origin protocol adds to the configuration language.
#[derive(Clone, Copy)]
pub struct ProtocolLanguage {
    /// Origin protocol that the directives belong to.
    pub protocol: Protocol,
    /// Directives specific to the protocol, starting with its `*_pass`.
    pub families: &'static [DirectiveFamily],
    /// Built-in files that configurations include and that may not exist on a machine: `fastcgi_params` and similar.
    pub files: &'static [BuiltinFile],
    /// Function that returns a hint about a location with these origin settings and this `*_pass` target; `None`
    /// without a hint. A hint is reported once per configuration.
    pub hint: fn(&LocationConf, &OriginSettings, &Text) -> Option<Diagnostic>,
}

impl ProtocolLanguage {
    /// Creates an entry with the directives of a protocol, without files and hints.
    pub const fn new(protocol: Protocol, families: &'static [DirectiveFamily]) -> Self {
        Self { protocol, families, files: &[], hint: |_, _, _| None }
    }
}
