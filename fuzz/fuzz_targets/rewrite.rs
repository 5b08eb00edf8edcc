//! Rewrite programs: a program is rejected, or it runs and leaves a valid request.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/myriad-script/tests/programs/mod.rs"]
mod programs;

fuzz_target!(|text: &str| programs::run(text));
