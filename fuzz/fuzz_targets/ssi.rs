//! Pages with SSI: the result does not depend on the pieces, all references are in bounds, and no page causes a panic.
#![no_main]

use std::fmt::Arguments;
use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use myriad_script::ssi::{PageEnvironment, PatternGroups, SsiPage, SsiRules};

/// Request in which each variable has its name as the value, and patterns are plain text.
struct Request;

impl PageEnvironment for Request {
    fn variable(&mut self, name: &[u8], _: &[u8]) -> Option<Vec<u8>> {
        (name.len() % 2 == 0).then(|| name.to_vec())
    }

    fn search(&mut self, pattern: &[u8], subject: &[u8]) -> Result<Option<PatternGroups>, String> {
        if pattern.is_empty() {
            return Err("empty".to_owned());
        }
        let at = subject.windows(pattern.len()).position(|window| window == pattern);
        let found = at.map(|at| at..at + pattern.len());
        Ok(found
            .map(|whole| PatternGroups { numbered: [whole].to_vec(), named: vec![("found".to_owned(), 0)] }))
    }

    fn uri(&self) -> &[u8] {
        b"/folder/page"
    }

    fn log(&mut self, _: Arguments<'_>) {}
}

/// Returns the result of a page: its text and its includes.
fn run(page: &[u8], step: usize) -> Vec<u8> {
    let rules = SsiRules { value_length: 64, silent_errors: false };
    let mut reader = SsiPage::new(rules, Rc::default());
    let (mut whole, mut out) = (Vec::new(), Vec::new());
    for mut piece in page.chunks(step) {
        while !piece.is_empty() {
            let include = reader.push(&mut piece, &mut Request, &mut out);
            whole.append(&mut out);
            if let Some(include) = include {
                whole.extend_from_slice(format!("{include:?}").as_bytes());
            }
        }
    }
    reader.finish(&mut Request, &mut out);
    whole.append(&mut out);
    whole
}

fuzz_target!(|input: (u8, &[u8])| {
    let (step, page) = input;
    let whole = run(page, page.len().max(1));
    assert_eq!(run(page, 1), whole);
    assert_eq!(run(page, usize::from(step).max(1)), whole);
});
