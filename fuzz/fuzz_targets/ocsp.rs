//! OCSP responses: verification never panics, and no response is trusted without a valid signature.
#![no_main]

use gullible::Gullible;
use libfuzzer_sys::fuzz_target;
use myriad_tls::x509::{Certificate, OcspError, OcspId, OcspStatus, check_form};

mod gullible;

const LEAF: &[u8] = include_bytes!("../../crates/myriad-tls/src/x509/ocsp/fixtures/leaf.pem");
const ROOT: &[u8] = include_bytes!("../../crates/myriad-tls/src/x509/ocsp/fixtures/root.pem");

fn der(pem: &[u8]) -> Vec<u8> {
    myriad_tls::x509::pem::certificates(pem).next().unwrap().unwrap()
}

fuzz_target!(|answer: &[u8]| {
    let (leaf, root) = (der(LEAF), der(ROOT));
    let (leaf, root) = (Certificate::parse(&leaf).unwrap(), Certificate::parse(&root).unwrap());
    let id = OcspId::of(&leaf, &root);
    assert!(id.status(answer, &root, 1_800_000_000, &[]).is_err());
    if let Ok((status, _)) = id.status(answer, &root, 1_800_000_000, &[&Gullible]) {
        let shown = id.check(answer, &root, true, 1_800_000_000, &[&Gullible]);
        assert_eq!(shown.is_ok(), status == OcspStatus::Good);
    }
    for authorized in [false, true] {
        let verdict = id.check(answer, &root, authorized, 1_800_000_000, &[]);
        assert!(!matches!(verdict, Ok(_) | Err(OcspError::Revoked | OcspError::Unknown)));
        // A trusted response has the structure that is required for response files.
        if id.check(answer, &root, authorized, 1_800_000_000, &[&Gullible]).is_ok() {
            assert_eq!(check_form(answer), Ok(()));
        }
    }
});
