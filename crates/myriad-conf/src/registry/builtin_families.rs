//! Families of directives that this crate defines.

use super::{
    acme, blocks, client, content, control, family::DirectiveFamily, http2, log, origin, origin_tls, process,
    rewrite, server, tls, tuning, upstream, zone,
};

/// Families of directives whose names have no protocol prefix.
pub(super) const FAMILIES: &[DirectiveFamily] = &[
    DirectiveFamily::new("process", process::ROWS),
    DirectiveFamily::new("control", control::ROWS),
    DirectiveFamily::new("server", server::ROWS),
    DirectiveFamily::new("client", client::ROWS),
    DirectiveFamily::new("content", content::ROWS),
    DirectiveFamily::new("rewrite", rewrite::ROWS),
    DirectiveFamily::new("log", log::ROWS),
    DirectiveFamily::new("blocks", blocks::ROWS),
    DirectiveFamily::new("upstream", upstream::ROWS),
    DirectiveFamily::new("tls", tls::ROWS),
    DirectiveFamily::new("http2", http2::ROWS),
    DirectiveFamily::new("acme", acme::ROWS),
    #[cfg(feature = "http3")]
    DirectiveFamily::new("http3", super::http3::ROWS),
    DirectiveFamily::new("tuning", tuning::ROWS),
];

/// Families of directives that exist once per origin protocol, with its prefix, such as `proxy_`.
pub(super) const OF_ORIGINS: [DirectiveFamily; 4] = [
    DirectiveFamily::of_origins("origin", origin::ROWS),
    DirectiveFamily::of_origins("origin_tls", origin_tls::ROWS),
    DirectiveFamily::of_origins("cache", zone::OF_ORIGINS),
    DirectiveFamily::of_origins("tuning", tuning::ORIGIN),
];
