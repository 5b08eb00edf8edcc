//! Certificates and revocation lists from clients and upstreams: any content is parsed or rejected, and their
//! description fits on one line.
#![no_main]

use gullible::Gullible;
use libfuzzer_sys::fuzz_target;
use myriad_base::calendar::show_x509_time;
use myriad_tls::x509::der::DerReader;
use myriad_tls::x509::{Certificate, CertificatePurpose, RevocationList, TrustStore};

mod gullible;

/// Splits concatenated DER; bytes after the last complete element form another piece.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut reader = DerReader::new(bytes);
    let mut pieces: Vec<&[u8]> =
        std::iter::from_fn(|| reader.value().ok()).map(|value| value.whole).collect();
    let taken = pieces.iter().map(|piece| piece.len()).sum();
    pieces.extend(Some(&bytes[taken..]).filter(|rest| !rest.is_empty()));
    pieces
}

fuzz_target!(|data: &[u8]| {
    // A bit for each trusted certificate of the first eight, and the purpose of the others.
    let Some((&[trusted, purpose], rest)) = data.split_first_chunk() else { return };
    let purpose = if purpose & 1 == 0 { CertificatePurpose::Client } else { CertificatePurpose::Server };
    let (mut trust, mut roots, mut chain) = (TrustStore::new(9), Vec::new(), Vec::new());
    for (index, der) in pieces(rest).into_iter().enumerate() {
        if let Ok(certificate) = Certificate::parse(der) {
            for name in [certificate.subject, certificate.issuer] {
                let shown = name.rfc2253() + &name.legacy();
                assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            let _ = (
                certificate.serial_hex(),
                show_x509_time(certificate.not_after),
                certificate.is_valid_for("a.test"),
            );
        }
        if let Ok(list) = RevocationList::parse(der) {
            trust.add_revocation_list(list);
        } else if index < 8 && trusted & 1 << index != 0 {
            assert_eq!(trust.add(der).is_ok(), Certificate::parse(der).is_ok());
            roots.push(der);
        } else {
            chain.push(der);
        }
    }
    let _ = trust.verify(&chain, purpose, 1_800_000_000, &[&Gullible]);
    // Without signature verification, only a certificate that is in the trusted roots may be accepted.
    let verdict = trust.verify(&chain, purpose, 1_800_000_000, &[]);
    assert!(verdict.is_err() || roots.contains(&chain[0]));
});
