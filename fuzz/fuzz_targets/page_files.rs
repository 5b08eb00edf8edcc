//! Pages: the files that they load. Configuration files of PHP, databases and Apache: their values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_tools::doctor::{is_minified, linked};
use myriad_tools::tune::{Format, Present, Source};

const FORMATS: [Format; 8] = [
    Format::PhpIni,
    Format::FpmPool,
    Format::MyCnf,
    Format::Sysctl,
    Format::Limits,
    Format::Apache,
    Format::Redis,
    Format::Unit,
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let linked = linked(&text, "a.test");
    for path in linked.assets.iter().chain(&linked.pictures) {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
    }
    let _ = is_minified(bytes);
    for format in FORMATS {
        let source = Source { path: "a".into(), format, text: text.clone() };
        let once = Present::read(std::slice::from_ref(&source));
        assert_eq!(once, Present::read(&[source.clone(), source]), "read twice it says the same");
    }
});
