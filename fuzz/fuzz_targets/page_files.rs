//! Pages: the files that they load. Configuration files of PHP, databases and Apache: their values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_tools::doctor::{is_minified, linked_assets};
use myriad_tools::tune::{FileFormat, PresentFile, PresentSettings};

const FORMATS: [FileFormat; 8] = [
    FileFormat::PhpIni,
    FileFormat::FpmPool,
    FileFormat::MyCnf,
    FileFormat::Sysctl,
    FileFormat::Limits,
    FileFormat::Apache,
    FileFormat::Redis,
    FileFormat::Unit,
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let linked = linked_assets(&text, "a.test");
    for path in linked.assets.iter().chain(&linked.pictures) {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
    }
    let _ = is_minified(bytes);
    for format in FORMATS {
        let source = PresentFile { path: "a".into(), format, text: text.clone() };
        let once = PresentSettings::read(std::slice::from_ref(&source));
        assert_eq!(once, PresentSettings::read(&[source.clone(), source]), "read twice it says the same");
    }
});
