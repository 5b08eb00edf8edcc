//! Configuration language of HTTP origins: `proxy_*`.

use myriad_conf::registry::{DirectiveFamily, ProtocolLanguage};
use myriad_conf::settings::{DefaultKey, Protocol, ProtocolFacts, Scheme};

use super::directives::{ROWS, TUNING};

pub(super) const HTTP: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "proxy_",
    schemes: &[
        Scheme { text: "http://", port: Some(80), secure: false },
        Scheme { text: "https://", port: Some(443), secure: true },
    ],
    is_url: true,
    has_environment: false,
    // As in nginx, the actual default key differs from the documented one: it contains the URI of the origin request.
    key: DefaultKey {
        text: "$proxy_internal_scheme://$proxy_internal_host$proxy_internal_uri",
        documented: "`$scheme$proxy_host$request_uri`",
        warned: false,
    },
    lacks: &[],
    own: &[],
});

pub(super) const LANGUAGE: ProtocolLanguage = ProtocolLanguage::new(HTTP, FAMILIES);

static FAMILIES: &[DirectiveFamily] =
    &[DirectiveFamily::of_origins("origin", ROWS), DirectiveFamily::of_origins("tuning", TUNING)];
