//! Directives that belong together, and what a protocol of origins brings to the language.

use std::borrow::Cow;

use super::contexts::Contexts;
use super::directive::{DefaultValue, Directive};
use crate::{
    builtin::BuiltinFile,
    diagnostic::Diagnostic,
    model::{HttpConf, LocationConf},
    settings::{OriginSettings, Protocol, Settings},
    span::Span,
    text::Text,
};

/// Directives that belong together: those of a room of this crate, of a feature or of a protocol.
#[derive(Clone, Copy)]
pub struct Family {
    /// What they are called together; the docs have a section of it.
    pub name: &'static str,
    /// The directives with names of their own, in the order of the docs.
    pub rows: &'static [Directive],
    /// The directives whose names begin with the prefix of a protocol: once for each protocol that has them, where a feature
    /// brings the family; for that protocol alone, where a protocol brings it.
    pub of_origins: &'static [FamilyRow],
    /// What only the whole of a location or an `if` shows.
    pub(crate) examine_block: Option<ExamineBlock>,
    /// What only a whole location shows.
    pub(crate) examine_location: Option<ExamineLocation>,
    /// What only the whole configuration shows.
    pub(crate) examine_http: Option<ExamineHttp>,
}

/// Looks the settings of a location or an `if` over once its own directives have been read, and adds what it finds to what was
/// found before. The span is that of the block's beginning.
pub type ExamineBlock = fn(&Settings, Span, &mut Vec<Diagnostic>);

/// Looks a location over once its own directives have been read, those of locations within it not yet, and adds what it finds
/// to what was found before.
pub type ExamineLocation = fn(&LocationConf, &mut Vec<Diagnostic>);

/// Looks the whole configuration over once everything has been read, and adds what it finds to what was found before.
pub type ExamineHttp = fn(&HttpConf, &mut Vec<Diagnostic>);

impl Family {
    /// Directives with names of their own.
    pub const fn new(name: &'static str, rows: &'static [Directive]) -> Self {
        Self { name, rows, of_origins: &[], examine_block: None, examine_location: None, examine_http: None }
    }

    /// Directives whose names begin with the prefix of a protocol.
    pub const fn of_origins(name: &'static str, of_origins: &'static [FamilyRow]) -> Self {
        Self::new(name, &[]).and_of_origins(of_origins)
    }

    /// Directives whose names begin with the prefix of a protocol besides.
    #[must_use]
    pub const fn and_of_origins(self, of_origins: &'static [FamilyRow]) -> Self {
        Self { of_origins, ..self }
    }

    /// Each location and each `if` is looked over by that function.
    #[must_use]
    pub const fn examining_blocks(self, examine: ExamineBlock) -> Self {
        Self { examine_block: Some(examine), ..self }
    }

    /// Each location is looked over by that function.
    #[must_use]
    pub const fn examining_locations(self, examine: ExamineLocation) -> Self {
        Self { examine_location: Some(examine), ..self }
    }

    /// The configuration is looked over by that function.
    #[must_use]
    pub const fn examining_http(self, examine: ExamineHttp) -> Self {
        Self { examine_http: Some(examine), ..self }
    }
}

/// A row of origins: the name's part behind the prefix of a protocol, and what it needs of one.
pub struct FamilyRow {
    row: Directive,
    needs: Needs,
    /// The default that follows from the protocol, for the docs.
    computed: Option<fn(Protocol) -> Option<&'static str>>,
}

/// What a row needs of a protocol.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    Tls,
    Fields,
}

impl FamilyRow {
    /// A row of every protocol.
    pub const fn new(row: Directive) -> Self {
        Self { row, needs: Needs::Nothing, computed: None }
    }

    /// A row of protocols that can be spoken by TLS.
    pub const fn secure(row: Directive) -> Self {
        Self { row, needs: Needs::Tls, computed: None }
    }

    /// A row of protocols whose requests have fields, rather than a CGI environment.
    pub const fn with_fields(row: Directive) -> Self {
        Self { row, needs: Needs::Fields, computed: None }
    }

    /// [`DefaultValue::Computed`], by a sentence of the protocol; no default where it has none.
    #[must_use]
    pub const fn computed_by(mut self, sentence: fn(Protocol) -> Option<&'static str>) -> Self {
        self.computed = Some(sentence);
        self
    }

    /// The directive of a protocol; none where the protocol lacks what the row needs.
    pub(super) fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        let has_it = match self.needs {
            Needs::Nothing => true,
            Needs::Tls => protocol.may_be_secure(),
            Needs::Fields => !protocol.has_environment(),
        };
        if !has_it || !protocol.has(&self.row.name) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        // Peers of streams are spoken to by TLS with the words of HTTP origins.
        let of_streams = matches!(self.needs, Needs::Tls) && protocol.serves_streams();
        let contexts = self.row.contexts;
        let contexts = if of_streams { contexts.or(Contexts::STREAM_LEVELS) } else { contexts };
        let sentence = self.computed.and_then(|sentence| sentence(protocol));
        let default = sentence.map_or(self.row.default, DefaultValue::Computed);
        Some(Directive { name, family, contexts, default, protocol: Some(protocol), ..self.row.clone() })
    }
}

/// What a protocol of origins brings to the language.
#[derive(Clone, Copy)]
pub struct ProtocolLanguage {
    /// The protocol.
    pub protocol: Protocol,
    /// Its own directives, beside those that every protocol has: its `*_pass` first.
    pub families: &'static [Family],
    /// Files that configurations include and a machine may lack: `fastcgi_params` and its like.
    pub files: &'static [BuiltinFile],
    /// What is worth a hint at a location that asks an origin by these settings, at that target; said once in a configuration.
    pub hint: fn(&LocationConf, &OriginSettings, &Text) -> Option<Diagnostic>,
}

impl ProtocolLanguage {
    /// A protocol with its own directives, and nothing else.
    pub const fn new(protocol: Protocol, families: &'static [Family]) -> Self {
        Self { protocol, families, files: &[], hint: |_, _, _| None }
    }
}
