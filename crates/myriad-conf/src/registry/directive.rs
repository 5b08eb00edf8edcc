//! Row of the registry: a directive with its contexts, arity, default, status and setter.

use std::borrow::Cow;

use super::{arity::Arity, contexts::Contexts, name_use::NameUse};
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeIssuerConf, HttpConf, MainConf, RewriteStep, ServerConf, UpstreamConf},
    parsed::Node,
    settings::{OriginSettings, Protocol, Settings},
};

/// Support status of a directive, compared with nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveStatus {
    /// Behaves as documented by nginx, or by the module of nginx that has it.
    Same,
    /// Differs from nginx as described in the note.
    Differs(&'static str),
    /// Accepted without effect; the note gives the reason.
    NoEffect(&'static str),
    /// Parsed and checked, but only implemented in a later version; the note describes the current behaviour.
    Later(&'static str),
    /// Rejected with an error that contains this reason.
    Refused(&'static str),
    /// Specific to Myriad; nginx has no such directive.
    Own,
}

/// Default value of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// No default: the directive has no effect unless it is set.
    None,
    /// Arguments, or for a block its content, as they would be written. The defaults of a configuration are parsed from
    /// these texts.
    Text(&'static str),
    /// Default that depends on other values; the text, in Markdown, describes it in the documentation.
    Computed(&'static str),
}

/// Block whose directives are read by the builder (`resolve`) instead of a setter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The `events` block.
    Events,
    /// The `http` block.
    Http,
    /// The `stream` block.
    Stream,
    /// A `server` block in `http` or `stream`.
    Server,
    /// A `location` block.
    Location,
    /// An `if` block.
    If,
    /// A `limit_except` block.
    LimitExcept,
    /// An `upstream` block.
    Upstream,
    /// An `acme_issuer` block.
    AcmeIssuer,
}

/// Setter of a directive, by the part of the model that it changes.
#[derive(Clone, Copy)]
pub enum Set {
    /// No setter: the values of the arguments are not checked, and the directive has no effect or is rejected.
    Nothing,
    /// Changes process settings: directives of the main context or `events`.
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> SetterResult),
    /// Changes `http` or `stream`: adds zones, maps or log formats.
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> SetterResult),
    /// Changes a `server` block.
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> SetterResult),
    /// Changes settings that inner levels inherit, including those of features ([`Settings::feature_mut`]).
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> SetterResult),
    /// Changes the origin settings of the protocol whose prefix the directive has.
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> SetterResult),
    /// Changes an `acme_issuer` block.
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> SetterResult),
    /// Changes an `upstream` block.
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> SetterResult),
    /// Adds a rewrite step (`set`, `return`, …). Steps are executed in source order.
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    /// Block whose directives the builder reads.
    Block(BlockKind),
}

/// Row of the registry, which describes a directive.
#[derive(Clone)]
pub struct Directive {
    /// Name of the directive.
    pub name: Cow<'static, str>,
    /// Name of the family that contains the directive: `access`, `cache`, …
    pub family: &'static str,
    /// Contexts in which the directive is allowed.
    pub contexts: Contexts,
    /// Number of arguments, and whether a block follows.
    pub arity: Arity,
    /// True if the directive may occur more than once on a level.
    pub repeats: bool,
    /// Group of directives that count as one for repetition and inheritance, such as `allow` and `deny`; `None` if the
    /// directive is alone.
    pub group: Option<&'static str>,
    /// Default value of the directive, if any.
    pub default: DefaultValue,
    /// Support status, compared with nginx.
    pub status: DirectiveStatus,
    /// Description in one line, for the documentation.
    pub doc: &'static str,
    /// Protocol of an origin directive, whose prefix its name has; otherwise `None`.
    pub protocol: Option<Protocol>,
    /// Function that applies the directive to the model.
    pub set: Set,
}

impl Directive {
    /// Creates a directive that behaves like in nginx, has no default and does not repeat. The methods below change
    /// this.
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

    /// Permits the directive more than once on a level.
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

    /// Sets the default: the arguments as they would be written, or the content of the block.
    #[must_use]
    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = DefaultValue::Text(text);
        self
    }

    /// Sets a [`DefaultValue::Computed`] with this description.
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

    /// Sets [`DirectiveStatus::Later`].
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

    /// Returns the name by which repetition and inheritance are checked: that of the group, or else of the directive.
    pub(crate) fn group_or_name(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// Reason, in error messages, for rejecting directives that a later version may support.
pub const NOT_YET: &str = "not supported yet by this version of Myriad";

/// Result of a setter; the error describes an invalid argument.
pub type SetterResult = Result<(), Diagnostic>;

/// Directive passed to its setter. The number of arguments is already checked; indexes start at 0.
pub struct Arguments<'a> {
    /// Directive as written in the file.
    pub node: &'a Node,
    /// Row of the directive in the registry.
    pub directive: &'a Directive,
    /// True if this is the first occurrence of the directive (or its group) on this level.
    pub first: bool,
    /// Names used by the directive that another directive must define. The setter adds them.
    pub uses: &'a mut Vec<NameUse>,
    /// Warnings added by the setter.
    pub warnings: &'a mut Vec<Diagnostic>,
}
