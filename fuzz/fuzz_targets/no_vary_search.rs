//! `No-Vary-Search` and queries: the canonical query contains only sent arguments and does not change if canonicalized again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_policy::NoVarySearch;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (field, query) = input;
    let Some(rule) = NoVarySearch::parse(field) else { return };
    let canonical = rule.canonical(query);
    assert!(canonical.len() <= query.len());
    assert_eq!(rule.canonical(&canonical), canonical);
    let arguments = |text: &'_ [u8]| text.split(|byte| *byte == b'&').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let sent = arguments(query);
    assert!(canonical.is_empty() || arguments(&canonical).iter().all(|argument| sent.contains(argument)));
});
