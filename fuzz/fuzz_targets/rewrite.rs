//! Rewrite programs: refused, or they run and leave the request whole.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/myriad-script/tests/programs/mod.rs"]
mod programs;

fuzz_target!(|text: &str| programs::run(text));
