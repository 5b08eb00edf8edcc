//! Configuration language of gRPC: `grpc_*`.

use myriad_conf::registry::{DirectiveFamily, FamilyRow, ProtocolLanguage, pass_with_methods};
use myriad_conf::settings::{DefaultKey, Protocol, ProtocolFacts, Scheme};

use crate::http::set_header_row;

pub(super) const GRPC: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "grpc_",
    schemes: &[
        Scheme { text: "grpc://", port: None, secure: false },
        Scheme { text: "grpcs://", port: None, secure: true },
    ],
    is_url: false,
    has_environment: false,
    key: DefaultKey::FULL,
    // Directives that gRPC does not have, as in nginx: messages are neither buffered nor stored.
    lacks: &[
        "buffering",
        "buffers",
        "busy_buffers_size",
        "cache",
        "force_ranges",
        "ignore_client_abort",
        "limit_rate",
        "max_temp_file_size",
        "no_cache",
        "request_buffering",
        "send_lowat",
        "store",
        "temp",
    ],
    own: &["pass_request_body", "pass_request_headers"],
});

pub(super) const LANGUAGE: ProtocolLanguage = ProtocolLanguage::new(GRPC, FAMILIES);

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::of_origins("origin", ROWS)];

static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        pass_with_methods("Passes requests to a gRPC server.")
            .differs("a connection carries as many concurrent requests of a worker as the server allows"),
    ),
    set_header_row("`Content-Length $content_length`; `TE: trailers` if the client sent it"),
];
