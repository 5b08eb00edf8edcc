//! The one list of directives: name, contexts, arity, default, status, doc line and what sets the model.
//!
//! One file per family. Lifting a directive from refused to implemented is one row in the file of its family.

#![allow(clippy::unnecessary_wraps, reason = "setters and readers share one signature each")]

mod access;
mod acme;
mod arguments;
mod auth_request;
mod autoindex;
mod blocks;
mod cache;
mod charset;
mod client;
mod condition;
mod content;
mod contexts;
mod control;
mod early_hints;
mod encoding;
mod filters;
mod headers;
mod http2;
mod http3;
mod https_only;
mod known;
mod limits;
mod listen;
mod log;
mod origin;
mod origin_tls;
mod process;
mod purge;
mod realip;
mod referers;
mod resolver;
mod rewrite;
mod server;
mod shared_fetch;
mod slice;
mod ssi;
mod stub_status;
mod suggest;
mod syslog;
mod tls;
mod tuning;
mod upgrade_protocols;
mod upstream;
mod variables;
mod zone;

use std::{borrow::Cow, collections::HashMap, sync::OnceLock};

pub(crate) use arguments::{Arguments, Done, Use};
pub(crate) use condition::parse_condition;
pub use contexts::Contexts;
pub use headers::parse_expires;
pub(crate) use known::known;
pub use listen::{BadListenAddress, listen_addresses};
pub use suggest::nearest;
pub(crate) use suggest::nearest_directive;
pub use variables::{Variable, variable, variables};

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

const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
const ONE: Arity = exactly(1);
const TWO: Arity = exactly(2);

const fn exactly(count: usize) -> Arity {
    between(count, count)
}

const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

const fn block(min: usize, max: usize) -> Arity {
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
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    ($part:ident . $read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
}
use set;

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
    const fn new(name: &'static str, contexts: Contexts, arity: Arity, set: Set, doc: &'static str) -> Self {
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

    const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    const fn differs(mut self, note: &'static str) -> Self {
        self.status = Status::Differs(note);
        self
    }

    const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = Status::NoEffect(note);
        self
    }

    const fn later(mut self, note: &'static str) -> Self {
        self.status = Status::Later(note);
        self
    }

    const fn refused(mut self, reason: &'static str) -> Self {
        self.status = Status::Refused(reason);
        self
    }

    const fn own(mut self) -> Self {
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

/// Every directive that is more than a refused name, by family, then in the order of its file.
pub fn directives() -> &'static [Directive] {
    static ALL: OnceLock<Vec<Directive>> = OnceLock::new();
    ALL.get_or_init(|| {
        let families: &[(&'static str, &[Directive])] = &[
            ("process", process::ROWS),
            ("control", control::ROWS),
            ("server", server::ROWS),
            ("client", client::ROWS),
            ("content", content::ROWS),
            ("rewrite", rewrite::ROWS),
            ("access", access::ROWS),
            ("limits", limits::ROWS),
            ("realip", realip::ROWS),
            ("referers", referers::ROWS),
            ("stub_status", stub_status::ROWS),
            ("auth_request", auth_request::ROWS),
            ("autoindex", autoindex::ROWS),
            ("slice", slice::ROWS),
            ("ssi", ssi::ROWS),
            ("charset", charset::ROWS),
            ("headers", headers::ROWS),
            ("log", log::ROWS),
            ("encoding", encoding::ROWS),
            ("filters", filters::ROWS),
            ("blocks", blocks::ROWS),
            ("upstream", upstream::ROWS),
            ("resolver", resolver::ROWS),
            ("early_hints", early_hints::ROWS),
            ("upgrade_protocols", upgrade_protocols::ROWS),
            ("cache", cache::OWN),
            ("shared_fetch", shared_fetch::ROWS),
            ("tls", tls::ROWS),
            ("http2", http2::ROWS),
            ("acme", acme::ROWS),
            ("http3", http3::ROWS),
            ("https_only", https_only::ROWS),
            ("tuning", tuning::ROWS),
        ];
        let mut all: Vec<Directive> = Vec::new();
        for (family, rows) in families {
            all.extend(rows.iter().cloned().map(|row| Directive { family, ..row }));
        }
        for protocol in [Protocol::FastCgi, Protocol::Http] {
            let families = [
                ("origin", origin::ROWS),
                ("origin_tls", origin_tls::ROWS),
                ("cache", cache::ROWS),
                ("tuning", tuning::ORIGIN),
            ];
            for (family, rows) in families {
                all.extend(rows.iter().filter_map(|row| row.named_for(protocol, family)));
            }
        }
        all
    })
}

/// A row of the upstream family: the name's part after `fastcgi_` or `proxy_`, and which of them have it.
pub(crate) struct FamilyRow {
    row: Directive,
    only: Option<Protocol>,
}

impl FamilyRow {
    const fn both(row: Directive) -> Self {
        Self { row, only: None }
    }

    const fn fastcgi(row: Directive) -> Self {
        Self { row, only: Some(Protocol::FastCgi) }
    }

    const fn proxy(row: Directive) -> Self {
        Self { row, only: Some(Protocol::Http) }
    }

    fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        if self.only.is_some_and(|only| only != protocol) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        Some(Directive { name, family, protocol: Some(protocol), ..self.row.clone() })
    }
}

/// The rows of a name: most have one, those that mean different things in different contexts several.
pub(crate) fn rows_named(name: &str) -> &'static [&'static Directive] {
    static BY_NAME: OnceLock<HashMap<&'static str, Vec<&'static Directive>>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let mut map: HashMap<&'static str, Vec<&'static Directive>> = HashMap::new();
        for directive in directives() {
            map.entry(&directive.name).or_default().push(directive);
        }
        map
    });
    by_name.get(name).map_or(&[], Vec::as_slice)
}

/// One line of the table in the docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The directive's name.
    pub name: String,
    /// The family, or nginx's module for names that are only refused.
    pub family: &'static str,
    /// Where it may stand, as nginx's manual says it; empty for names that are only refused.
    pub contexts: String,
    /// The default, if there is one.
    pub default: Option<&'static str>,
    /// How it fares here.
    pub status: Status,
    /// What it does; empty for names that are only refused.
    pub doc: &'static str,
}

/// The whole registry, for docs: every directive, then every name that is known and refused.
pub fn rows() -> Vec<Row> {
    let implemented = directives().iter().map(|directive| Row {
        name: directive.name.clone().into_owned(),
        family: directive.family,
        contexts: directive.contexts.to_string(),
        default: directive.default,
        status: directive.status,
        doc: directive.doc,
    });
    let refused = known::all().map(|directive| Row {
        name: directive.name.to_owned(),
        family: directive.module,
        contexts: String::new(),
        default: None,
        status: Status::Refused(directive.reason),
        doc: "",
    });
    // The parser itself puts other files in its place.
    let include = Row {
        name: "include".to_owned(),
        family: "process",
        contexts: "any".to_owned(),
        default: None,
        status: Status::Same,
        doc: "Reads other files in its place; the name may hold `*`, `?` and `[ ]`.",
    };
    std::iter::once(include).chain(implemented).chain(refused).collect()
}

#[cfg(test)]
mod tests;
