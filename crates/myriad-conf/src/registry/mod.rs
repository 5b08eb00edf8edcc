//! The one list of directives: name, contexts, arity, default, status, doc line and what sets the model.
//!
//! One file per family. Lifting a directive from refused to implemented is one row in the file of its family.

#![allow(clippy::unnecessary_wraps, reason = "setters and readers share one signature each")]

mod access;
mod acme;
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
mod directive;
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

use std::{collections::HashMap, sync::OnceLock};

pub(crate) use condition::parse_condition;
pub use contexts::Contexts;
pub(crate) use directive::{Arguments, Block, Done, NOT_YET, Set, Use};
pub use directive::{Arity, Directive, Status};
use directive::{FLAG, FamilyRow, ONE, TWO, at_least, between, block, exactly, set};
pub use headers::parse_expires;
pub(crate) use known::known;
pub use listen::{BadListenAddress, listen_addresses};
pub use suggest::nearest;
pub use variables::{Variable, variable, variables};

use crate::settings::Protocol;

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

/// The nearest directive, implemented ones first.
pub(crate) fn nearest_directive(name: &str) -> Option<&'static str> {
    nearest(name, directives().iter().map(|directive| &*directive.name))
        .or_else(|| nearest(name, known::all().map(|directive| directive.name)))
}

/// One line of the table in the docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The directive's name.
    pub name: String,
    /// The family, or nginx's module for names that are only refused.
    pub family: &'static str,
    /// The contexts where it may stand, as nginx's manual says them; empty for names that are only refused.
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
