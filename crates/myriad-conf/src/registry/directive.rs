//! Description of a directive: name, contexts, arity, and the setter with its arguments.

use std::borrow::Cow;

use super::{arity::Arity, contexts::Contexts, name_use::NameUse};
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeIssuerConf, HttpConf, MainConf, RewriteStep, ServerConf, UpstreamConf},
    parsed::Node,
    settings::{OriginSettings, Protocol, Settings},
};

/// Support status of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveStatus {
    /// Behaves as documented by nginx.
    Same,
    /// Supported, but different from nginx as described in the note.
    Differs(&'static str),
    /// Accepted without effect, for the reason in the note.
    NoEffect(&'static str),
    /// Parsed and checked, but only implemented in a later version. The note describes the current behaviour.
    Later(&'static str),
    /// The configuration is rejected, for this reason.
    Refused(&'static str),
    /// Specific to Myriad; nginx has no such directive.
    Own,
}

/// Default value of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// No default.
    None,
    /// Default as text after the name of the directive, or inside its block. The outermost level of a configuration is
    /// parsed from these texts, so that no default is written twice.
    Text(&'static str),
    /// Default without a fixed text. The sentence, in Markdown, describes it in the docs.
    Computed(&'static str),
}

/// Block that the builder processes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// `events`.
    Events,
    /// `http`.
    Http,
    /// `stream`.
    Stream,
    /// `server` in `http` or `stream`.
    Server,
    /// `location`.
    Location,
    /// `if`.
    If,
    /// `limit_except`.
    LimitExcept,
    /// `upstream`.
    Upstream,
    /// `acme_issuer`.
    AcmeIssuer,
}

/// Setter of a directive, by the part of the model that it changes.
#[derive(Clone, Copy)]
pub enum Set {
    /// No setter: the directive is accepted without effect, or rejected.
    Nothing,
    /// Process settings: directives outside of `http`, or in `events`.
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> SetterResult),
    /// Parts that exist once per `http`: zones, maps, formats.
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> SetterResult),
    /// `server` block.
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> SetterResult),
    /// Settings of a level, inherited by inner levels; also the settings of features ([`Settings::feature_mut`]).
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> SetterResult),
    /// Settings of origins, for the protocol whose prefix the name has.
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> SetterResult),
    /// `acme_issuer` block.
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> SetterResult),
    /// `upstream` block.
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> SetterResult),
    /// Step of the rewrite module. The order of steps is preserved.
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    /// Block that the builder processes.
    Block(BlockKind),
}

/// Row of the registry: a directive.
#[derive(Clone)]
pub struct Directive {
    /// Name of the directive.
    pub name: Cow<'static, str>,
    /// Family that contains the directive: `access`, `cache`, …
    pub family: &'static str,
    /// Contexts in which the directive is allowed.
    pub contexts: Contexts,
    /// Number of arguments.
    pub arity: Arity,
    /// True if the directive may occur more than once on a level.
    pub repeats: bool,
    /// Group of directives that count as one for repetition and inheritance, such as `allow` and `deny`.
    pub group: Option<&'static str>,
    /// Default value.
    pub default: DefaultValue,
    /// Support status.
    pub status: DirectiveStatus,
    /// Description in one line.
    pub doc: &'static str,
    /// Protocol whose prefix the name has, for directives of origins.
    pub protocol: Option<Protocol>,
    /// Setter.
    pub set: Set,
}

impl Directive {
    /// Creates a directive that behaves as documented by nginx. The methods below change the other properties.
    pub const fn new(
        name: &'static str,
        contexts: Contexts,
        arity: Arity,
        set: Set,
        doc: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            family: "",
            contexts,
            arity,
            repeats: false,
            group: None,
            default: DefaultValue::None,
            status: DirectiveStatus::Same,
            doc,
            protocol: None,
            set,
        }
    }

    /// Allows the directive more than once on a level.
    #[must_use]
    pub const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Sets the group. Directives of a group count as one for repetition and inheritance.
    #[must_use]
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Sets the default, as it would be written.
    #[must_use]
    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = DefaultValue::Text(text);
        self
    }

    /// Sets a [`DefaultValue::Computed`].
    #[must_use]
    pub const fn computed(mut self, sentence: &'static str) -> Self {
        self.default = DefaultValue::Computed(sentence);
        self
    }

    /// Sets [`DirectiveStatus::Differs`].
    #[must_use]
    pub const fn differs(mut self, note: &'static str) -> Self {
        self.status = DirectiveStatus::Differs(note);
        self
    }

    /// Sets [`DirectiveStatus::NoEffect`].
    #[must_use]
    pub const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = DirectiveStatus::NoEffect(note);
        self
    }

    /// Sets [`DirectiveStatus::DeferredSection`].
    #[must_use]
    pub const fn later(mut self, note: &'static str) -> Self {
        self.status = DirectiveStatus::Later(note);
        self
    }

    /// Sets [`DirectiveStatus::Refused`].
    #[must_use]
    pub const fn refused(mut self, reason: &'static str) -> Self {
        self.status = DirectiveStatus::Refused(reason);
        self
    }

    /// Sets [`DirectiveStatus::Own`].
    #[must_use]
    pub const fn own(mut self) -> Self {
        self.status = DirectiveStatus::Own;
        self
    }

    /// Returns the key by which repetitions are counted: the group, or else the name.
    pub(crate) fn group_or_name(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// Reason for directives that a later version will support.
pub const NOT_YET: &str = "not supported yet by this version of Myriad";

/// Result of a setter.
pub type SetterResult = Result<(), Diagnostic>;

/// Directive passed to its setter. Indexes count arguments from 0; the arity is already checked.
pub struct Arguments<'a> {
    /// Directive as written in the file.
    pub node: &'a Node,
    /// Row of the directive in the registry.
    pub directive: &'a Directive,
    /// True if this is the first occurrence of the directive (or its group) on this level.
    pub first: bool,
    /// Names that must be defined elsewhere. The setter adds the names that it reads.
    pub uses: &'a mut Vec<NameUse>,
    /// Warnings added by the setter.
    pub warnings: &'a mut Vec<Diagnostic>,
}
