//! Tests of the directives that origin protocols add to the language.

use std::path::Path;

use myriad_conf::{MemoryLoader, Node, build};
use myriad_serve::registry;

const PATH: &str = "/etc/nginx/nginx.conf";

/// Returns the lines of all directives, with blanks between their words.
fn lines(nodes: &[Node]) -> Vec<String> {
    let line = |node: &Node| {
        let words = std::iter::once(&node.name).chain(&node.args);
        words.map(|word| String::from_utf8_lossy(&word.text).into_owned()).collect::<Vec<_>>().join(" ")
    };
    nodes.iter().map(line).collect()
}

#[test]
fn built_in_parameters_stand_in_for_absent_files_only() {
    let parse = |loader: &MemoryLoader| registry().parse(loader, Path::new(PATH), b"");
    let parsed = parse(&MemoryLoader::with(PATH, "include /x/fastcgi_params; include fastcgi.conf;"));
    assert_eq!(parsed.errors, []);
    assert!(parsed.sources[1..].iter().all(|source| source.builtin));
    let found = lines(&parsed.nodes);
    let count = |line: &str| found.iter().filter(|found| *found == line).count();
    assert_eq!(count("fastcgi_param REDIRECT_STATUS 200"), 2);
    assert_eq!(count("fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name"), 1);

    let parsed = parse(&MemoryLoader::with(PATH, "include scgi_params; include uwsgi_params;"));
    assert_eq!(parsed.errors, []);
    let found = lines(&parsed.nodes);
    assert!(found.contains(&"scgi_param SCGI 1".to_owned()));
    assert!(found.contains(&"uwsgi_param PATH_INFO $document_uri".to_owned()));

    let own =
        MemoryLoader::with(PATH, "include fastcgi_params;").and("/etc/nginx/fastcgi_params", "user own;");
    assert_eq!(lines(&parse(&own).nodes), ["user own"]);
}

#[test]
fn what_one_protocol_lacks_is_unknown_there() {
    for text in [
        "proxy_param A b;",
        "fastcgi_set_header A b;",
        "proxy_keep_conn on;",
        "fastcgi_redirect off;",
        "scgi_ssl_verify on;",
        "uwsgi_index i;",
    ] {
        let loader = MemoryLoader::with(PATH, format!("http {{ {text} }}"));
        let parsed = registry().parse(&loader, Path::new(PATH), b"");
        let errors = build(&parsed, registry()).expect_err(text);
        assert!(errors[0].message.contains("unknown directive"), "{text}");
    }
}

#[test]
fn a_name_of_a_protocol_is_suggested_for_what_is_nearly_its() {
    for (text, meant) in [("fastcgi_indx i;", "fastcgi_index"), ("uwsgi_modifier a;", "uwsgi_modifier1")] {
        let loader = MemoryLoader::with(PATH, format!("http {{ {text} }}"));
        let parsed = registry().parse(&loader, Path::new(PATH), b"");
        let errors = build(&parsed, registry()).expect_err(text);
        assert!(errors[0].help.iter().any(|help| help.contains(meant)), "{:?}", errors[0]);
    }
}
