//! Tests of properties that every directive of the language and of features has.

use std::collections::HashSet;

use myriad_conf::registry::{Contexts, DefaultValue, DirectiveStatus, Set};
use myriad_serve::registry;

#[test]
fn a_name_stands_once_in_each_context() {
    let mut seen = HashSet::new();
    for directive in registry().directives() {
        for context in Contexts::each() {
            if directive.contexts.contains(context) {
                assert!(
                    seen.insert((directive.name.clone(), context)),
                    "{} twice in {context}",
                    directive.name
                );
            }
        }
    }
}

#[test]
fn what_is_refused_by_name_only_is_not_implemented_too() {
    let implemented: HashSet<_> = registry().directives().iter().map(|directive| &*directive.name).collect();
    let mut names = HashSet::new();
    for row in registry().rows().into_iter().filter(|row| row.contexts.is_empty()) {
        assert!(!implemented.contains(&*row.name), "{}", row.name);
        assert!(names.insert(row.name.clone()), "{} twice", row.name);
    }
}

#[test]
fn what_sets_nothing_has_no_effect() {
    for directive in registry().directives() {
        let silent = matches!(
            directive.status,
            DirectiveStatus::NoEffect(_) | DirectiveStatus::Later(_) | DirectiveStatus::Refused(_)
        );
        assert!(silent || !matches!(directive.set, Set::Nothing), "{}", directive.name);
    }
}

#[test]
fn every_row_has_what_the_docs_need() {
    let rows = registry().rows();
    assert!(rows.len() > 700, "{}", rows.len());
    for directive in registry().directives() {
        assert!(!directive.doc.is_empty() && directive.doc.ends_with('.'), "{}", directive.name);
        assert!(!directive.family.is_empty(), "{}", directive.name);
        assert_ne!(directive.contexts.to_string(), "nowhere", "{}", directive.name);
    }
}

#[test]
fn every_word_of_nginx_that_recipes_use_is_known() {
    let names: HashSet<String> = registry().rows().into_iter().map(|row| row.name).collect();
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

#[test]
fn computed_defaults_are_described_in_a_phrase() {
    for directive in registry().directives() {
        if let DefaultValue::Computed(phrase) = directive.default {
            assert!(
                !phrase.is_empty() && !phrase.contains('|') && !phrase.ends_with('.'),
                "{}",
                directive.name
            );
        }
    }
}
