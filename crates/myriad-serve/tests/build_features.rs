//! Tests of the optional Cargo features: names of a feature that is not compiled in are rejected with the reason. They
//! are also run on builds without features by `make check-features`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use myriad_conf::registry::{BUILD_FEATURES, BuildFeature};
use myriad_conf::{MemoryLoader, survey};
use myriad_serve::{documented_variables, registry};

/// Returns the errors of a configuration.
fn errors(config: &str) -> Vec<String> {
    let loader = MemoryLoader::with("/conf/nginx.conf", config);
    let parsed = registry().parse(&loader, Path::new("/conf/nginx.conf"), b"");
    let survey = survey(&parsed, registry());
    let found = myriad_serve::check(&survey.model, Path::new("/conf"), &HashMap::new()).err();
    let errors = survey.findings.into_iter().chain(found.unwrap_or_default());
    errors.map(|error| error.message).collect()
}

fn directives() -> HashSet<String> {
    registry().rows().into_iter().map(|row| row.name).collect()
}

fn variables() -> HashSet<&'static str> {
    documented_variables().into_iter().map(|variable| variable.name).collect()
}

#[test]
fn names_of_a_feature_are_in_the_registry_if_it_is_compiled_in() {
    let (known_directives, known_variables) = (directives(), variables());
    for feature in BUILD_FEATURES {
        let (directives, variables) = feature.names();
        for name in directives {
            assert_eq!(known_directives.contains(name), feature.is_compiled, "{name} of {}", feature.name);
        }
        for name in variables {
            assert_eq!(known_variables.contains(name), feature.is_compiled, "${name} of {}", feature.name);
        }
    }
}

#[test]
fn every_name_that_is_not_compiled_in_belongs_to_a_missing_feature() {
    let missing = || BUILD_FEATURES.iter().filter(|feature| !feature.is_compiled).map(BuildFeature::names);
    let mut directives = directives();
    directives.extend(missing().flat_map(|(directives, _)| directives).map(str::to_owned));
    let mut variables = variables();
    variables.extend(missing().flat_map(|(_, variables)| variables));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nginx-compatibility.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, tables) = page.split_once("\n## Directives\n").expect("a table of directives");
    let (tables, _) = tables.split_once("\n## Refused by name\n").expect("a table of variables before");
    let names = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut seen = 0;
    for (name, _) in names {
        seen += 1;
        match name.strip_prefix('$') {
            Some(name) => assert!(variables.contains(name.trim_end_matches('*')), "${name}"),
            None => assert!(directives.contains(name), "{name}"),
        }
    }
    assert!(seen > 900, "only {seen} names on the page");
}

#[test]
fn directives_of_a_missing_feature_are_refused_with_its_name() {
    for feature in BUILD_FEATURES {
        for name in feature.names().0 {
            let errors = errors(&format!("http {{ {name} a; }}"));
            let refusal = format!("\"{name}\": {}", feature.refusal);
            assert_eq!(errors.contains(&refusal), !feature.is_compiled, "{errors:?}");
        }
    }
    let image = BUILD_FEATURES.iter().find(|feature| feature.name == "image").expect("the feature");
    assert_eq!(image.refusal, "this build has no feature \"image\" (build with --features image)");
}

#[test]
fn quic_listeners_are_refused_without_http3() {
    let errors = errors("http { server { listen 80; listen 443 quic; ssl_reject_handshake on; } }");
    match BuildFeature::missing("http3") {
        Some(feature) => assert_eq!(errors, [format!("\"quic\": {}", feature.refusal)]),
        None => assert_eq!(errors, [""; 0]),
    }
}

#[test]
fn variables_of_a_missing_feature_are_refused_unless_the_configuration_defines_them() {
    for feature in BUILD_FEATURES.iter().filter(|feature| !feature.is_compiled) {
        for name in feature.names().1 {
            let config =
                |rest: &str| format!("http {{ {rest} server {{ listen 80; return 200 ${name}; }} }}");
            let refusal = format!("the variable \"${name}\" is refused: {}", feature.refusal);
            assert_eq!(errors(&config("")), [refusal]);
            assert_eq!(errors(&config(&format!("map $uri ${name} {{ default 1; }}"))), [""; 0]);
        }
    }
}
