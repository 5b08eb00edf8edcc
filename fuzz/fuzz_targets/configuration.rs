//! Configuration text: any text is accepted, or rejected with diagnostics that can be displayed.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use myriad_conf::{MemoryLoader, build, render};

fuzz_target!(|text: &[u8]| {
    let path = Path::new("/etc/myriad.conf");
    let loader = MemoryLoader::with(path, text);
    let parsed = myriad_serve::registry().parse(&loader, path, b"");
    if let Err(findings) = build(&parsed, myriad_serve::registry()) {
        assert!(!findings.is_empty());
        for finding in &findings {
            assert!(!render(&parsed, finding).is_empty());
        }
    }
});
