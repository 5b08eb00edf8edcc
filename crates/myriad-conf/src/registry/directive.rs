//! A directive: what it is called, where it may stand, what it takes and what it sets.

use std::borrow::Cow;

use super::arguments::{Arguments, Done};
use super::contexts::Contexts;
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeIssuerConf, HttpConf, MainConf, RewriteStep, ServerConf, UpstreamConf},
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

/// How many arguments, and whether a block follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// At least so many.
    pub min: usize,
    /// At most so many; `usize::MAX` for any number.
    pub max: usize,
    /// Its one argument is `on` or `off`.
    pub flag: bool,
    /// It ends with a block rather than `;`.
    pub block: bool,
}

pub(super) const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
pub(super) const ONE: Arity = exactly(1);
pub(super) const TWO: Arity = exactly(2);

pub(super) const fn exactly(count: usize) -> Arity {
    between(count, count)
}

pub(super) const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

pub(super) const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

pub(super) const fn block(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: true }
}

/// A block that the builder walks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Events,
    Http,
    Server,
    Location,
    If,
    LimitExcept,
    Upstream,
    AcmeIssuer,
}

/// What a directive sets, by the part of the model it belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    Nothing,
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> Done),
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> Done),
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> Done),
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> Done),
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> Done),
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> Done),
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> Done),
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    Block(Block),
}

/// `set!(Settings.flag => client.tcp_nodelay)`: the one argument, read by that method, goes to that field.
macro_rules! set {
    ($part:ident . $read:ident => $($field:ident).+) => {
        $crate::registry::directive::Set::$part(|conf, args| {
            conf.$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    ($part:ident . $read:ident => Some $($field:ident).+) => {
        $crate::registry::directive::Set::$part(|conf, args| {
            conf.$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
}
pub(super) use set;

/// One directive.
#[derive(Clone)]
pub struct Directive {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The file of the registry that holds it: `access`, `cache`, …
    pub family: &'static str,
    /// Where it may stand.
    pub contexts: Contexts,
    /// What it takes.
    pub arity: Arity,
    /// Whether it may be written more than once on one level.
    pub repeats: bool,
    /// Directives that count as one for repetition and inheritance, such as `allow` and `deny`.
    pub group: Option<&'static str>,
    /// The default, as it would be written.
    pub default: Option<&'static str>,
    /// How it fares here.
    pub status: Status,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Which member of the upstream family it belongs to.
    pub protocol: Option<Protocol>,
    pub(crate) set: Set,
}

impl Directive {
    pub(super) const fn new(
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
            default: None,
            status: Status::Same,
            doc,
            protocol: None,
            set,
        }
    }

    pub(super) const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    pub(super) const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    pub(super) const fn differs(mut self, note: &'static str) -> Self {
        self.status = Status::Differs(note);
        self
    }

    pub(super) const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = Status::NoEffect(note);
        self
    }

    pub(super) const fn later(mut self, note: &'static str) -> Self {
        self.status = Status::Later(note);
        self
    }

    pub(super) const fn refused(mut self, reason: &'static str) -> Self {
        self.status = Status::Refused(reason);
        self
    }

    pub(super) const fn own(mut self) -> Self {
        self.status = Status::Own;
        self
    }

    /// What repetition is counted by.
    pub(crate) fn counted_as(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// The reason of directives that a later version brings.
pub(crate) const NOT_YET: &str = "not supported yet by this version of Myriad";

/// A row of the upstream family: the name's part after `fastcgi_` or `proxy_`, and which of them have it.
pub(crate) struct FamilyRow {
    row: Directive,
    only: Option<Protocol>,
}

impl FamilyRow {
    pub(super) const fn both(row: Directive) -> Self {
        Self { row, only: None }
    }

    pub(super) const fn fastcgi(row: Directive) -> Self {
        Self { row, only: Some(Protocol::FastCgi) }
    }

    pub(super) const fn proxy(row: Directive) -> Self {
        Self { row, only: Some(Protocol::Http) }
    }

    pub(super) fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        if self.only.is_some_and(|only| only != protocol) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        Some(Directive { name, family, protocol: Some(protocol), ..self.row.clone() })
    }
}
