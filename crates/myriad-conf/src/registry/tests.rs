use std::collections::HashSet;

use super::{Contexts, Set, Status, directives, known, rows};

#[test]
fn a_name_stands_once_in_each_context() {
    let mut seen = HashSet::new();
    for directive in directives() {
        for bit in 0..10 {
            let context = Contexts::bit(bit);
            if directive.contexts.contains(context) {
                assert!(seen.insert((directive.name.clone(), bit)), "{} twice in {context}", directive.name);
            }
        }
    }
}

#[test]
fn what_is_refused_by_name_only_is_not_implemented_too() {
    let implemented: HashSet<_> = directives().iter().map(|directive| &*directive.name).collect();
    let mut names = HashSet::new();
    for directive in known::all() {
        assert!(!implemented.contains(directive.name), "{}", directive.name);
        assert!(names.insert(directive.name), "{} twice", directive.name);
    }
}

#[test]
fn what_sets_nothing_has_no_effect() {
    for directive in directives() {
        let silent = matches!(directive.status, Status::NoEffect(_) | Status::Later(_) | Status::Refused(_));
        assert!(silent || !matches!(directive.set, Set::Nothing), "{}", directive.name);
    }
}

#[test]
fn every_row_has_what_the_docs_need() {
    let rows = rows();
    assert!(rows.len() > 700, "{}", rows.len());
    for directive in directives() {
        assert!(!directive.doc.is_empty() && directive.doc.ends_with('.'), "{}", directive.name);
        assert!(!directive.family.is_empty(), "{}", directive.name);
        assert_ne!(directive.contexts.to_string(), "nowhere", "{}", directive.name);
    }
}

#[test]
fn every_word_of_nginx_that_recipes_use_is_known() {
    let names: HashSet<String> = rows().into_iter().map(|row| row.name).collect();
    for name in [
        "fastcgi_cache_purge",
        "proxy_cache_convert_head",
        "ssl_certificate",
        "auth_basic",
        "limit_req_zone",
        "ssi",
        "set_real_ip_from",
        "valid_referers",
        "autoindex",
        "sub_filter",
        "stub_status",
        "http2",
        "slice",
        "charset",
        "proxy_ssl_server_name",
        "aio",
        "fastcgi_temp_path",
        "uwsgi_pass",
        "grpc_pass",
        "stream",
        "mail",
        "brotli_static",
    ] {
        assert!(names.contains(name), "{name}");
    }
}
