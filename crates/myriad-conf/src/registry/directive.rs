//! A directive: what it is called, where it may stand, what it takes and what it sets, and how its setter sees it.

use std::borrow::Cow;

use super::{arity::Arity, contexts::Contexts, used::Use};
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeIssuerConf, HttpConf, MainConf, RewriteStep, ServerConf, UpstreamConf},
    parsed::Node,
    settings::{OriginSettings, Protocol, Settings},
};

/// How a directive of nginx fares here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It means what nginx documents.
    Same,
    /// It is obeyed, but means something else in the way that the note says.
    Differs(&'static str),
    /// It is accepted and changes nothing, for the reason that the note says.
    NoEffect(&'static str),
    /// It is read and checked; a later version acts on it, this one does as the note says.
    Later(&'static str),
    /// The configuration is refused, for this reason.
    Refused(&'static str),
    /// Myriad's own; nginx has no such directive.
    Own,
}

/// What holds where a directive is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// Nothing.
    None,
    /// What the directive would say with this text behind its name, or in its block: the outermost level of a configuration is read
    /// from it, so that no default is said twice.
    Text(&'static str),
    /// No text of its own says it; the sentence, in Markdown, tells the docs what follows from what.
    Computed(&'static str),
}

/// A block that the builder walks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
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

/// What a directive sets, by the part of the model it belongs to.
#[derive(Clone, Copy)]
pub enum Set {
    /// Nothing: it is accepted or refused without effect.
    Nothing,
    /// The process: what stands outside of `http`, or in `events`.
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> Done),
    /// What `http` has once: zones, maps, formats.
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> Done),
    /// A `server`.
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> Done),
    /// What holds per level, inherited by the levels within; also the settings of features ([`Settings::feature_mut`]).
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> Done),
    /// How an origin is asked, by the protocol whose prefix the name has.
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> Done),
    /// An `acme_issuer`.
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> Done),
    /// An `upstream`.
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> Done),
    /// A step of the rewrite module; it is kept in its order.
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    /// A block that the builder walks.
    Block(Block),
}

/// One directive.
#[derive(Clone)]
pub struct Directive {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The file of the registry that holds it: `access`, `cache`, …
    pub family: &'static str,
    /// The contexts where it may stand.
    pub contexts: Contexts,
    /// What it takes.
    pub arity: Arity,
    /// Whether it may be written more than once on one level.
    pub repeats: bool,
    /// Directives that count as one for repetition and inheritance, such as `allow` and `deny`.
    pub group: Option<&'static str>,
    /// What holds where it is not written.
    pub default: DefaultValue,
    /// How it fares here.
    pub status: Status,
    /// What it does, in one line.
    pub doc: &'static str,
    /// The protocol whose prefix its name has, where it is a row of origins.
    pub protocol: Option<Protocol>,
    /// What it sets.
    pub set: Set,
}

impl Directive {
    /// A directive that means what nginx documents; the methods below say otherwise.
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
            status: Status::Same,
            doc,
            protocol: None,
            set,
        }
    }

    /// It may be written more than once on one level.
    #[must_use]
    pub const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Directives of one group count as one for repetition and inheritance.
    #[must_use]
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// The default, as it would be written.
    #[must_use]
    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = DefaultValue::Text(text);
        self
    }

    /// [`DefaultValue::Computed`].
    #[must_use]
    pub const fn computed(mut self, sentence: &'static str) -> Self {
        self.default = DefaultValue::Computed(sentence);
        self
    }

    /// [`Status::Differs`].
    #[must_use]
    pub const fn differs(mut self, note: &'static str) -> Self {
        self.status = Status::Differs(note);
        self
    }

    /// [`Status::NoEffect`].
    #[must_use]
    pub const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = Status::NoEffect(note);
        self
    }

    /// [`Status::Later`].
    #[must_use]
    pub const fn later(mut self, note: &'static str) -> Self {
        self.status = Status::Later(note);
        self
    }

    /// [`Status::Refused`].
    #[must_use]
    pub const fn refused(mut self, reason: &'static str) -> Self {
        self.status = Status::Refused(reason);
        self
    }

    /// [`Status::Own`].
    #[must_use]
    pub const fn own(mut self) -> Self {
        self.status = Status::Own;
        self
    }

    /// What repetition is counted by.
    pub(crate) fn counted_as(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// The reason of directives that a later version brings.
pub const NOT_YET: &str = "not supported yet by this version of Myriad";

/// What a setter returns.
pub type Done = Result<(), Diagnostic>;

/// One directive as its setter sees it. Indexes count arguments from 0; the arity was checked before.
pub struct Arguments<'a> {
    /// The directive as it stands in the file.
    pub node: &'a Node,
    /// Its row.
    pub directive: &'a Directive,
    /// Whether it (or its group) stands here for the first time on this level.
    pub first: bool,
    /// Names that must be defined somewhere: the setter adds those that it reads.
    pub uses: &'a mut Vec<Use>,
    /// What is worth a warning.
    pub warnings: &'a mut Vec<Diagnostic>,
}
