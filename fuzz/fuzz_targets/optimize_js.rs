//! Scripts: removal of white space and comments. Rewriting the result changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_optimize::OptimizeLimits;
use myriad_optimize::images::image_size;
use myriad_optimize::js::rewrite_javascript;

fuzz_target!(|bytes: &[u8]| {
    let _ = image_size(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    let limits = OptimizeLimits::default();
    if let Ok(shorter) = rewrite_javascript(text, &limits) {
        assert_eq!(rewrite_javascript(&shorter, &limits).as_deref(), Ok(shorter.as_str()), "{text:?}");
    }
});
