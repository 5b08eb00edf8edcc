//! Tables that stand in for files that a configuration includes and a machine lacks.

mod types;

use std::{fmt::Write as _, path::Path};

/// The text for an absent file, by its name: `mime.types`, `fastcgi_params`, `fastcgi.conf`, `scgi_params`, `uwsgi_params`.
pub(crate) fn file(path: &Path) -> Option<String> {
    match path.file_name()?.to_str()? {
        "mime.types" => Some(mime_types()),
        "fastcgi_params" => Some(fastcgi_params(false)),
        "fastcgi.conf" => Some(fastcgi_params(true)),
        "scgi_params" => Some(params("scgi_param", SCGI_PARAMS)),
        "uwsgi_params" => Some(params("uwsgi_param", UWSGI_PARAMS)),
        _ => None,
    }
}

/// A `types` block from the built-in table.
fn mime_types() -> String {
    let mut text = String::from("types {\n");
    for (media_type, extensions) in types::TYPES {
        let _ = writeln!(text, "    {media_type} {extensions};");
    }
    text.push_str("}\n");
    text
}

/// The CGI meta-variables that PHP expects (RFC 3875 section 4.1, and PHP's own), with what nginx calls their values.
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
    // php-cgi refuses to run a script without it.
    ("REDIRECT_STATUS", "200"),
];

fn fastcgi_params(script_filename: bool) -> String {
    let mut text = String::new();
    if script_filename {
        text.push_str("fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n");
    }
    text.push_str(&params("fastcgi_param", PARAMS));
    text
}

/// What SCGI applications expect.
const SCGI_PARAMS: &[(&str, &str)] = &[
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

/// What uwsgi applications expect.
const UWSGI_PARAMS: &[(&str, &str)] = &[
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

fn params(directive: &str, params: &[(&str, &str)]) -> String {
    params.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{directive} {name} {value};");
        text
    })
}
