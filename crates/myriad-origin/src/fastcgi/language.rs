//! Configuration language of FastCGI: `fastcgi_*`, and the files `fastcgi_params` and `fastcgi.conf`.

use myriad_conf::BuiltinFile;
use myriad_conf::registry::{DirectiveFamily, ProtocolLanguage};
use myriad_conf::settings::{Protocol, ProtocolFacts};

use super::directives::ROWS;
use super::hint::without_script;
use crate::cgi::table;

pub(super) const FASTCGI: Protocol =
    Protocol::new(&ProtocolFacts { prefix: "fastcgi_", ..ProtocolFacts::ENVIRONMENT });

pub(super) const LANGUAGE: ProtocolLanguage =
    ProtocolLanguage { protocol: FASTCGI, families: FAMILIES, files: FILES, hint: without_script };

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::of_origins("origin", ROWS)];

static FILES: &[BuiltinFile] = &[
    BuiltinFile { name: "fastcgi_params", text: params },
    BuiltinFile {
        name: "fastcgi.conf",
        text: || format!("fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n{}", params()),
    },
];

fn params() -> String {
    table("fastcgi_param", PARAMS)
}

/// CGI meta-variables that PHP expects (RFC 3875 section 4.1, and PHP's own), with nginx's variables for their values.
const PARAMS: &[(&str, &str)] = &[
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("HTTPS", "$https if_not_empty"),
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx/$nginx_version"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("REMOTE_PORT", "$remote_port"),
    ("REMOTE_USER", "$remote_user"),
    ("SERVER_ADDR", "$server_addr"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$server_name"),
    // php-cgi refuses to execute a script without this parameter.
    ("REDIRECT_STATUS", "200"),
];
