//! Configuration language of SCGI: `scgi_*`, and the file `scgi_params`.

use myriad_conf::BuiltinFile;
use myriad_conf::registry::{DirectiveFamily, FamilyRow, PARAM, ProtocolLanguage, pass};
use myriad_conf::settings::{Protocol, ProtocolFacts};

use crate::cgi::table;

pub(super) const SCGI: Protocol =
    Protocol::new(&ProtocolFacts { prefix: "scgi_", ..ProtocolFacts::ENVIRONMENT });

pub(super) const LANGUAGE: ProtocolLanguage =
    ProtocolLanguage { files: FILES, ..ProtocolLanguage::new(SCGI, FAMILIES) };

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::of_origins("origin", ROWS)];

static ROWS: &[FamilyRow] = &[
    FamilyRow::new(
        pass("Passes requests to an SCGI server.")
            .differs("`SCGI 1` and the length of the body are always sent, regardless of `scgi_param`"),
    ),
    PARAM,
];

static FILES: &[BuiltinFile] = &[BuiltinFile { name: "scgi_params", text: || table("scgi_param", PARAMS) }];

/// Parameters that SCGI applications expect, with the variables for their values.
const PARAMS: &[(&str, &str)] = &[
    ("REQUEST_METHOD", "$request_method"),
    ("REQUEST_URI", "$request_uri"),
    ("QUERY_STRING", "$query_string"),
    ("CONTENT_TYPE", "$content_type"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SCGI", "1"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("HTTPS", "$https if_not_empty"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("REMOTE_PORT", "$remote_port"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$server_name"),
];
