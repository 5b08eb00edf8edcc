//! Configuration language of uwsgi: `uwsgi_*`, and the file `uwsgi_params`.

use myriad_conf::BuiltinFile;
use myriad_conf::registry::{DirectiveFamily, FamilyRow, PARAM, ProtocolLanguage, pass};
use myriad_conf::settings::{Protocol, ProtocolFacts, Scheme};

use super::settings;
use crate::cgi::table;

pub(super) const UWSGI: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "uwsgi_",
    schemes: &[
        Scheme { text: "uwsgi://", port: None, secure: false },
        Scheme { text: "suwsgi://", port: None, secure: true },
    ],
    ..ProtocolFacts::ENVIRONMENT
});

pub(super) const LANGUAGE: ProtocolLanguage =
    ProtocolLanguage { files: FILES, ..ProtocolLanguage::new(UWSGI, FAMILIES) };

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::new("origin", settings::ROWS).and_of_origins(ROWS)];

static ROWS: &[FamilyRow] = &[FamilyRow::new(pass("Passes requests to a uwsgi server.")), PARAM];

static FILES: &[BuiltinFile] = &[BuiltinFile { name: "uwsgi_params", text: || table("uwsgi_param", PARAMS) }];

/// Parameters that uwsgi applications expect, with the variables for their values.
const PARAMS: &[(&str, &str)] = &[
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("REQUEST_URI", "$request_uri"),
    ("PATH_INFO", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("HTTPS", "$https if_not_empty"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("REMOTE_PORT", "$remote_port"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$server_name"),
];
