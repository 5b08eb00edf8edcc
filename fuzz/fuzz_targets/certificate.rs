//! Certificates and revocation lists as clients and origins show them: whatever they hold, they are read or refused, and
//! what is shown of them stays on one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_x509::{Certificate, Purpose, RevocationList, Trust, show_time};

fuzz_target!(|chain: Vec<Vec<u8>>| {
    let mut trust = Trust::new(9);
    for der in &chain {
        if let Ok(certificate) = Certificate::parse(der) {
            for name in [certificate.subject, certificate.issuer] {
                let shown = name.rfc2253() + &name.legacy();
                assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            let _ = (certificate.shown_serial(), show_time(certificate.not_after), certificate.is_for("a.test"));
            assert!(trust.add(der).is_ok());
        }
        if let Ok(list) = RevocationList::parse(der) {
            trust.revoke(list);
        }
    }
    // Without a way of checking signatures nobody is believed but who is trusted as he stands.
    let verdict = trust.verify(&chain, Purpose::Client, 1_800_000_000, &[]);
    assert!(verdict.is_err() || Certificate::parse(&chain[0]).is_ok());
});
