//! The families of directives that the language itself has, those of origins once for each protocol.

use super::{
    FamilyRow, access, acme, blocks, cache, client, content, control, directive::Directive, encoding,
    family::Family, headers, http2, http3, https_only, limits, log, origin, origin_tls, process, realip,
    resolver, rewrite, server, shared_fetch, tls, tuning, upstream,
};
use crate::settings::Protocol;

/// The families whose rows are directives as they stand.
pub(super) fn families() -> [Family; 23] {
    [
        Family { name: "process", rows: process::ROWS },
        Family { name: "control", rows: control::ROWS },
        Family { name: "server", rows: server::ROWS },
        Family { name: "client", rows: client::ROWS },
        Family { name: "content", rows: content::ROWS },
        Family { name: "rewrite", rows: rewrite::ROWS },
        Family { name: "access", rows: access::ROWS },
        Family { name: "limits", rows: limits::ROWS },
        Family { name: "realip", rows: realip::ROWS },
        Family { name: "headers", rows: headers::ROWS },
        Family { name: "log", rows: log::ROWS },
        Family { name: "encoding", rows: encoding::ROWS },
        Family { name: "blocks", rows: blocks::ROWS },
        Family { name: "upstream", rows: upstream::ROWS },
        Family { name: "resolver", rows: resolver::ROWS },
        Family { name: "cache", rows: cache::OWN },
        Family { name: "shared_fetch", rows: shared_fetch::ROWS },
        Family { name: "tls", rows: tls::ROWS },
        Family { name: "http2", rows: http2::ROWS },
        Family { name: "acme", rows: acme::ROWS },
        Family { name: "http3", rows: http3::ROWS },
        Family { name: "https_only", rows: https_only::ROWS },
        Family { name: "tuning", rows: tuning::ROWS },
    ]
}

/// The directives of the families of origins: each row stands for one directive of each protocol that has it.
pub(super) fn of_origins() -> impl Iterator<Item = Directive> {
    let families: [(&'static str, &'static [FamilyRow]); 4] = [
        ("origin", origin::ROWS),
        ("origin_tls", origin_tls::ROWS),
        ("cache", cache::ROWS),
        ("tuning", tuning::ORIGIN),
    ];
    let of = move |protocol| {
        let named = move |(family, rows): (&'static str, &'static [FamilyRow])| {
            rows.iter().filter_map(move |row| row.named_for(protocol, family))
        };
        families.into_iter().flat_map(named)
    };
    Protocol::ALL.into_iter().flat_map(of)
}
