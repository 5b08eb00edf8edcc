//! Apache rules: any translation is a valid configuration, and no text of the rules becomes a directive.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use myriad_cli::apache::{TranslationOptions, translate};
use myriad_conf::{MemoryLoader, Node};

/// All directives that a translation can contain, except those in [`TABLES`].
const WRITTEN: &[&str] = &[
    "add_header",
    "auth_basic",
    "auth_basic_user_file",
    "autoindex",
    "break",
    "charset",
    "client_max_body_size",
    "default_type",
    "deny",
    "error_page",
    "etag",
    "expires",
    "fastcgi_param",
    "fastcgi_pass",
    "fastcgi_split_path_info",
    "geo",
    "gzip",
    "gzip_types",
    "gzip_vary",
    "if",
    "include",
    "index",
    "listen",
    "location",
    "map",
    "more_clear_headers",
    "more_clear_input_headers",
    "more_set_headers",
    "more_set_input_headers",
    "return",
    "rewrite",
    "root",
    "server",
    "server_name",
    "server_tokens",
    "set",
    "ssl_certificate",
    "ssl_certificate_key",
    "try_files",
    "types",
];
/// Blocks with entries that are not directives.
const TABLES: &[&str] = &["geo", "map", "types"];

fn foreign<'n>(nodes: &'n [Node], found: &mut Vec<&'n Node>) {
    let is = |names: &[&str], node: &Node| names.iter().any(|name| node.name.text == name.as_bytes());
    found.extend(nodes.iter().filter(|node| !is(WRITTEN, node)));
    for node in nodes.iter().filter(|node| !is(TABLES, node)) {
        foreign(node.block.as_deref().unwrap_or_default(), found);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let told = translate(
        &text,
        &TranslationOptions { php: Some("/run/php.sock".into()), ..TranslationOptions::default() },
    );
    let path = Path::new("/site.conf");
    let loader = MemoryLoader::with(path.to_owned(), told.text.into_bytes());
    let parsed = myriad_serve::registry().parse(&loader, path, b"");
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let mut found = Vec::new();
    foreign(&parsed.nodes, &mut found);
    assert!(found.is_empty(), "{found:?}");
});
