//! Configurations with their expected findings, one per file. A file added to `golden/` is an additional test.
//!
//! The text after the line `### findings` is the expected output; without this line the configuration must have no
//! findings. `GOLDEN_WRITE=1` writes the current output, which must be reviewed before it is committed.

use std::{fs, path::Path};

use myriad_conf::{MemoryLoader, build, render};

const MARK: &str = "### findings\n";

fn findings(config: &str) -> String {
    let loader = MemoryLoader::with("/conf/nginx.conf", config);
    let parsed = myriad_serve::registry().parse(&loader, Path::new("/conf/nginx.conf"), b"");
    let findings = match build(&parsed, myriad_serve::registry()) {
        Ok(model) => model.warnings,
        Err(errors) => errors,
    };
    findings.iter().map(|finding| render(&parsed, finding)).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_configuration_gives_its_findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut failed = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (config, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let found = findings(config);
        seen += 1;
        if found == expected {
            continue;
        }
        if std::env::var_os("GOLDEN_WRITE").is_some() {
            fs::write(&path, format!("{config}{MARK}{found}")).unwrap();
        } else {
            failed.push(format!("{}\n--- expected\n{expected}--- found\n{found}", path.display()));
        }
    }
    assert!(seen >= 20, "only {seen} golden files");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
