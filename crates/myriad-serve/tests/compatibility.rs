//! Test that `docs/nginx-compatibility.md` agrees with the registry.

#[path = "../examples/compatibility.rs"]
#[allow(dead_code, reason = "the program's `main` is not called from here")]
mod compatibility;

use std::{collections::HashSet, fs, path::Path};

#[test]
fn compatibility_page_matches_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nginx-compatibility.md");
    let written = fs::read_to_string(&path).unwrap_or_default();
    let page = compatibility::page();
    let first = page.lines().zip(written.lines()).position(|(now, then)| now != then);
    let line = first.unwrap_or_else(|| page.lines().count().min(written.lines().count())) + 1;
    assert!(
        written == page,
        "docs/nginx-compatibility.md is out of date from line {line} on; write it again:\n\
         cargo run -p myriad-serve --example compatibility > docs/nginx-compatibility.md"
    );
}

#[test]
fn every_name_of_the_registry_is_on_the_page() {
    let page = compatibility::page();
    for row in myriad_serve::registry().rows() {
        assert!(page.contains(&format!("`{}`", row.name)), "{}", row.name);
    }
}

#[test]
fn every_variable_is_on_the_page() {
    let page = compatibility::page();
    for variable in myriad_serve::documented_variables() {
        let any = if variable.name.ends_with('_') { "*" } else { "" };
        assert!(page.contains(&format!("`${}{any}`", variable.name)), "{}", variable.name);
    }
}

#[test]
fn golden_tests_cover_names_that_there_are() {
    let directives: HashSet<String> =
        myriad_serve::registry().rows().into_iter().map(|row| row.name).collect();
    for name in compatibility::coverage::Coverage::read().names() {
        let is_named = |known: &myriad_serve::DocumentedVariable, name: &str| {
            known.name == name || known.name.ends_with('_') && name.starts_with(known.name)
        };
        let known = match name.strip_prefix('$') {
            Some(variable) => {
                myriad_serve::documented_variables().iter().any(|known| is_named(known, variable))
            }
            None => directives.contains(name),
        };
        assert!(known, "a golden test covers `{name}`, which is no directive and no `$variable`");
    }
}
