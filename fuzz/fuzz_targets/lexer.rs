//! Configuration text to words and blocks: the text at the position of each word is that word.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use myriad_conf::MemoryLoader;
use myriad_conf::registry::Registry;

#[path = "../../crates/myriad-serve/tests/lexer_properties/mod.rs"]
mod lexer_properties;

fuzz_target!(|text: &[u8]| {
    let path = Path::new("/etc/myriad.conf");
    let parsed = Registry::language().parse(&MemoryLoader::with(path, text), path, b"");
    lexer_properties::check(&parsed, &parsed.nodes);
});
