//! Tests of the registry of variables of the core and of all features.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use myriad_conf::registry::DirectiveStatus;
use myriad_exchange::exchange::variables::VariableNames;
use myriad_script::Catalogue;
use myriad_serve::{documented_variables, variables};

#[test]
fn no_name_has_two_rows() {
    let mut seen = HashSet::new();
    let twice: Vec<_> = documented_variables().into_iter().filter(|known| !seen.insert(known.name)).collect();
    assert_eq!(twice, []);
}

/// Adds the contents of all source files below a folder that use `testing::variables`.
fn add_tests(folder: &Path, sources: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_tests(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a source");
            sources.extend(source.contains("testing::variables::{").then_some(source));
        }
    }
}

#[test]
fn every_row_is_read_by_a_test() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    for folder in ["crates", "tests/tests/in_process"] {
        add_tests(&top.join(folder), &mut sources);
    }
    // Only the part after `#[cfg(test)]` counts, since the definition of a variable also contains its name.
    let is_read = |name: &str| {
        let quoted = if name.ends_with('_') { format!("\"{name}") } else { format!("\"{name}\"") };
        sources.iter().any(|source| {
            let tests = source.split_once("#[cfg(test)]").map_or(&**source, |(_, tests)| tests);
            tests.contains(&quoted)
        })
    };
    let unread: Vec<_> =
        variables().rows().iter().map(|row| row.name).filter(|name| !is_read(name)).collect();
    assert_eq!(unread, [""; 0]);
}

#[test]
fn what_nginx_has_and_the_server_has_not_is_refused_with_a_reason() {
    let mut names = VariableNames::new(variables());
    for known in documented_variables() {
        let DirectiveStatus::Refused(reason) = known.status else { continue };
        assert_eq!(names.builtin(known.name), None, "${}", known.name);
        assert_eq!(names.refusal(known.name), Some(reason), "${}", known.name);
    }
    assert_eq!(names.refusal("host"), None);
    assert_eq!(names.refusal("nothing"), None);
}
