//! Rules of Apache: whatever they hold, what comes of them is sound, and no text of theirs is a directive of its own.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use myriad_conf::MemoryLoader;
use myriad_import::{Options, translate};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let told = translate(&text, &Options::default());
    let path = Path::new("/site.conf");
    let loader = MemoryLoader::with(path.to_owned(), told.text.into_bytes());
    let parsed = myriad_serve::registry().parse(&loader, path, b"");
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let known: [&[u8]; 3] = [b"server", b"map", b"geo"];
    assert!(parsed.nodes.iter().all(|node| known.contains(&node.name.text.as_slice())));
});
