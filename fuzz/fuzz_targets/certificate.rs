//! Certificates and revocation lists as clients and origins show them: whatever they hold, they are read or refused, and
//! what is shown of them stays on one line.
#![no_main]

use gullible::Gullible;
use libfuzzer_sys::fuzz_target;
use myriad_x509::{Certificate, Purpose, RevocationList, Trust, show_time};

mod gullible;

/// DER one behind the other; what follows the last that is whole is one more.
fn pieces(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let length = match bytes {
            [_, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
            [_, 0x81, long, ..] => 3 + usize::from(*long),
            [_, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => bytes.len(),
        };
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fuzz_target!(|data: &[u8]| {
    // Which of the first eight are trusted, and what the others are shown for.
    let Some((&[trusted, purpose], rest)) = data.split_first_chunk() else { return };
    let purpose = if purpose & 1 == 0 { Purpose::Client } else { Purpose::Server };
    let (mut trust, mut roots, mut chain) = (Trust::new(9), Vec::new(), Vec::new());
    for (index, der) in pieces(rest).into_iter().enumerate() {
        if let Ok(certificate) = Certificate::parse(der) {
            for name in [certificate.subject, certificate.issuer] {
                let shown = name.rfc2253() + &name.legacy();
                assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            let _ =
                (certificate.shown_serial(), show_time(certificate.not_after), certificate.is_for("a.test"));
        }
        if let Ok(list) = RevocationList::parse(der) {
            trust.revoke(list);
        } else if index < 8 && trusted & 1 << index != 0 {
            assert_eq!(trust.add(der).is_ok(), Certificate::parse(der).is_ok());
            roots.push(der);
        } else {
            chain.push(der);
        }
    }
    let _ = trust.verify(&chain, purpose, 1_800_000_000, &[&Gullible]);
    // Without a way of checking signatures nobody is believed but who is trusted as he stands.
    let verdict = trust.verify(&chain, purpose, 1_800_000_000, &[]);
    assert!(verdict.is_err() || roots.contains(&chain[0]));
});
