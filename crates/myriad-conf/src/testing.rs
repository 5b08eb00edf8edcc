//! Two origin protocols for tests of code that supports all protocols: one sends a CGI environment to an address, the
//! other a request to a URL. They have nginx's prefixes and few directives.

use crate::{
    registry::{
        Contexts, Directive, DirectiveFamily, FamilyRow, PARAM, ProtocolLanguage, Registry, Set, TWO, pass,
    },
    settings::{DefaultKey, Parameter, Protocol, ProtocolFacts, Scheme},
};

/// Protocol that sends a CGI environment to an address.
pub const ENVIRONMENT: Protocol =
    Protocol::new(&ProtocolFacts { prefix: "fastcgi_", ..ProtocolFacts::ENVIRONMENT });

/// Protocol that sends requests with header fields to a URL, optionally over TLS.
pub const URL: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "proxy_",
    schemes: &[
        Scheme { text: "http://", port: Some(80), secure: false },
        Scheme { text: "https://", port: Some(443), secure: true },
    ],
    is_url: true,
    has_environment: false,
    key: DefaultKey { text: "$proxy_host$request_uri", documented: "what is asked for", warned: false },
    lacks: &[],
    own: &[],
});

static OF_ENVIRONMENT: &[FamilyRow] = &[FamilyRow::new(pass("Asks an origin.")), PARAM];

static OF_URL: &[FamilyRow] = &[
    FamilyRow::new(pass("Asks an origin.")),
    FamilyRow::new(
        Directive::new(
            "set_header",
            Contexts::HSL,
            TWO,
            Set::Origin(|origin, args| {
                args.start(&mut origin.request.parameters);
                let (name, value) = (args.text(0)?, args.text(1)?);
                origin.request.parameters.push(Parameter { name, value, if_not_empty: false });
                Ok(())
            }),
            "A field for the origin.",
        )
        .repeats(),
    ),
];

/// Returns a registry with the directives of this crate and of the two protocols.
pub fn registry() -> Registry {
    Registry::new(
        [],
        [
            ProtocolLanguage::new(
                ENVIRONMENT,
                const { &[DirectiveFamily::of_origins("origin", OF_ENVIRONMENT)] },
            ),
            ProtocolLanguage::new(URL, const { &[DirectiveFamily::of_origins("origin", OF_URL)] }),
        ],
    )
}
