//! Fields of a request and a response in pieces. No input makes the search panic. A cookie that the response repeats as
//! a separate word, and a sign of a login or session in HTML, are found wherever the response is divided.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::Fields;
use myriad_policy::{LeakScanner, PersonalCookies, PrivateInput, SentCookies, private_values};

/// Signs of a page for one visitor. The first is none.
const SIGNS: [&[u8]; 4] = [b"", b"<div id=\"wpadminbar\"", b"name=\"csrf-token\"", b"name=\"__RequestVerificationToken\""];

fuzz_target!(|input: (&[u8], &[u8], &[u8], usize, u8)| {
    let (cookie, arguments, page, at, sign) = input;
    let sign = SIGNS[usize::from(sign) % SIGNS.len()];
    let fields: Fields = [(&b"Cookie"[..], cookie), (b"Authorization", arguments), (b"User-Agent", page)].into_iter().collect();
    let sent = [cookie, arguments, page].concat();
    let values = private_values(&PrivateInput { fields: &fields, arguments, client: None, certificate: None, sent: &sent, key: b"" }).list;
    let word = values.iter().map(|value| value.value.clone()).find(|value| value.is_ascii());
    let sessions = PersonalCookies::builtin_sessions();
    let Some(mut scanner) = LeakScanner::new(values, &Fields::new(), &sessions, SentCookies { session: true, any: true }) else { return };
    let page = match &word {
        Some(word) => [page, b" ", word, b" ", sign].concat(),
        None => [page, sign].concat(),
    };
    let (first, second) = page.split_at(at.checked_rem(page.len() + 1).unwrap_or(0));
    let found = [first, second].into_iter().any(|piece| scanner.push(piece, |_, _| false).is_some());
    assert!(found || word.is_none() && sign.is_empty());
});
