//! Directive families of the language itself.

use super::{
    acme, blocks, client, content, control, family::Family, http2, log, origin, origin_tls, process, rewrite,
    server, tls, tuning, upstream, zone,
};

/// Families of directives with fixed names.
pub(super) const FAMILIES: &[Family] = &[
    Family::new("process", process::ROWS),
    Family::new("control", control::ROWS),
    Family::new("server", server::ROWS),
    Family::new("client", client::ROWS),
    Family::new("content", content::ROWS),
    Family::new("rewrite", rewrite::ROWS),
    Family::new("log", log::ROWS),
    Family::new("blocks", blocks::ROWS),
    Family::new("upstream", upstream::ROWS),
    Family::new("tls", tls::ROWS),
    Family::new("http2", http2::ROWS),
    Family::new("acme", acme::ROWS),
    #[cfg(feature = "http3")]
    Family::new("http3", super::http3::ROWS),
    Family::new("tuning", tuning::ROWS),
];

/// Families whose directives exist once per origin protocol.
pub(super) const OF_ORIGINS: [Family; 4] = [
    Family::of_origins("origin", origin::ROWS),
    Family::of_origins("origin_tls", origin_tls::ROWS),
    Family::of_origins("cache", zone::OF_ORIGINS),
    Family::of_origins("tuning", tuning::ORIGIN),
];
