//! Tests of responses that `fixtures/make.sh` creates.

use super::*;

const NOW: i64 = 1_800_000_000;

macro_rules! pem {
    ($name:literal) => {
        crate::x509::pem::certificates(include_bytes!(concat!("fixtures/", $name, ".pem")))
            .next()
            .unwrap()
            .unwrap()
    };
}

macro_rules! answer {
    ($name:literal) => {
        (include_bytes!(concat!("fixtures/", $name, ".der"))).as_slice()
    };
}

/// Checks a response for the certificate `leaf`, issued by `root`, with [`OcspId::check`].
fn judge_at(answer: &[u8], authorized: bool, now_s: i64) -> Result<OcspValidity, OcspError> {
    let (leaf, root) = (pem!("leaf"), pem!("root"));
    let (leaf, root) = (Certificate::parse(&leaf).unwrap(), Certificate::parse(&root).unwrap());
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    OcspId::of(&leaf, &root).check(answer, &root, authorized, now_s, algorithms.all)
}

fn judge(answer: &[u8]) -> Result<OcspValidity, OcspError> {
    judge_at(answer, true, NOW)
}

#[test]
fn ocsp_response_is_valid_from_issuer_or_authorized_responder_only() {
    let good = judge(answer!("good")).unwrap();
    assert!(good.this_update < NOW && good.next_update.is_some_and(|next| next > NOW));
    assert!(judge(answer!("good-by-key")).is_ok());
    assert!(judge(answer!("delegated")).is_ok());
    assert_eq!(judge(answer!("endless")).unwrap().next_update, None);
    assert_eq!(judge(answer!("unauthorized")), Err(OcspError::Unauthorized));
    assert_eq!(judge(answer!("impostor")), Err(OcspError::Unauthorized));
    // Without `authorized`, only the signature is verified.
    assert!(judge_at(answer!("unauthorized"), false, NOW).is_ok());
}

#[test]
fn an_answer_counts_for_its_certificate_and_its_time() {
    assert_eq!(judge(answer!("of-other")), Err(OcspError::OtherCertificate));
    assert_eq!(judge(answer!("revoked")), Err(OcspError::Revoked));
    assert_eq!(judge(answer!("unknown")), Err(OcspError::Unknown));
    let OcspValidity { this_update, next_update } = judge(answer!("good")).unwrap();
    let next_update = next_update.unwrap();
    let at = |now_s| judge_at(answer!("good"), true, now_s).map(drop);
    assert_eq!((at(this_update - SKEW_S), at(next_update)), (Ok(()), Ok(())));
    assert_eq!(at(this_update - SKEW_S - 1), Err(OcspError::NotYetValid));
    assert_eq!(at(next_update + 1), Err(OcspError::Expired));
    // An error response is not signed (RFC 6960 section 4.2.1).
    assert_eq!(judge(&[0x30, 3, 0x0a, 1, 6]), Err(OcspError::Unsuccessful(6)));
    assert_eq!(judge(&[0x30, 3, 0x0a, 1, 0]), Err(OcspError::Malformed));
}

#[test]
fn ocsp_status_of_any_kind_is_valid_only_within_its_time() {
    let (leaf, root) = (pem!("leaf"), pem!("root"));
    let (leaf, root) = (Certificate::parse(&leaf).unwrap(), Certificate::parse(&root).unwrap());
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    let id = OcspId::of(&leaf, &root);
    let at = |answer: &[u8], now_s| id.status(answer, &root, now_s, algorithms.all).map(|(status, _)| status);
    assert_eq!(at(answer!("good"), NOW), Ok(OcspStatus::Good));
    assert_eq!(at(answer!("revoked"), NOW), Ok(OcspStatus::Revoked));
    assert_eq!(at(answer!("unknown"), NOW), Ok(OcspStatus::Unknown));
    assert_eq!(at(answer!("unauthorized"), NOW), Err(OcspError::Unauthorized));
    assert_eq!(at(answer!("of-other"), NOW), Err(OcspError::OtherCertificate));
    assert_eq!(at(answer!("revoked"), 0), Err(OcspError::NotYetValid));
    assert_eq!(at(answer!("revoked"), i64::MAX), Err(OcspError::Expired));
    assert_ne!(id.key(), OcspId::of(&root, &root).key());
}

#[test]
fn no_damage_goes_unnoticed() {
    let sound = answer!("good-by-key");
    for position in 0..sound.len() {
        let mut damaged = sound.to_vec();
        damaged[position] ^= 1;
        assert!(judge(&damaged).is_err(), "at {position}");
        assert!(judge(&sound[..position]).is_err(), "cut at {position}");
    }
}

/// Returns the response with these attached certificates instead of its own; the signature does not cover them.
fn with_attached(answer: &[u8], certificates: &[&[u8]]) -> Vec<u8> {
    let mut parts = DerReader::new(basic(answer).unwrap()).inside(tag::SEQUENCE).unwrap();
    let signed = [parts.value(), parts.value(), parts.value()].map(|part| part.unwrap().whole).concat();
    let list = constructed(tag::context(0), &[&constructed(tag::SEQUENCE, certificates)]);
    let basic = constructed(tag::OCTET_STRING, &[&constructed(tag::SEQUENCE, &[&signed, &list])]);
    let typed = constructed(tag::SEQUENCE, &[&constructed(tag::OID, &[&BASIC]), &basic]);
    constructed(tag::SEQUENCE, &[&[0x0a, 1, 0], &constructed(tag::context(0), &[&typed])])
}

#[test]
fn what_somebody_between_adds_to_an_answer_spoils_it() {
    let (sound, root) = (answer!("good-by-key"), pem!("root"));
    let root: &[u8] = &root;
    assert!(judge(&with_attached(sound, &[])).is_ok());
    assert!(judge(&with_attached(sound, &[root; MOST_SIGNERS])).is_ok());
    assert_eq!(judge(&with_attached(sound, &[root; MOST_SIGNERS + 1])), Err(OcspError::Malformed));
    let padded = |length| with_attached(sound, &[&constructed(tag::SEQUENCE, &[&vec![0x41; length]])]);
    for length in [0, 200, 15_000] {
        assert_eq!(judge(&padded(length)), Err(OcspError::Malformed), "{length}");
        assert_eq!(check_form(&padded(length)), Err(OcspError::Malformed), "{length}");
    }
    for length in [16_000, 40_000, 100_000] {
        assert_eq!(judge(&padded(length)), Err(OcspError::TooLarge), "{length}");
        assert_eq!(check_form(&padded(length)), Err(OcspError::TooLarge), "{length}");
    }
    for sound in [answer!("good"), answer!("delegated"), answer!("unknown"), answer!("of-other")] {
        assert_eq!(check_form(sound), Ok(()));
    }
}

#[test]
fn seeded_nonsense_is_refused_in_peace() {
    let mut random = fastrand::Rng::with_seed(6960);
    let samples = [answer!("good"), answer!("delegated"), answer!("revoked")];
    for _ in 0..3000 {
        let mut bytes = random.choice(samples).unwrap().to_vec();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        bytes.truncate(random.usize(..=bytes.len()));
        let _ = (judge(&bytes), judge_at(&bytes, false, NOW));
    }
}

#[test]
fn of_several_answers_the_newest_that_holds_counts_and_the_worse_of_two_alike() {
    let single = |status, time, this_update| SingleResponse {
        status,
        time,
        validity: OcspValidity { this_update, next_update: None },
    };
    let (good, bad, over) = (Ok(()), Err(OcspError::Revoked), Err(OcspError::Expired));
    for (one, other, verdict) in [
        (single(good, over, 1), single(good, good, 1), Ok(())),
        (single(bad, over, 3), single(good, good, 2), Ok(())),
        (single(good, good, 1), single(bad, good, 2), bad),
        (single(good, good, 2), single(bad, good, 2), bad),
        (single(good, over, 1), single(good, over, 2), over),
    ] {
        assert_eq!(one.or(other).result().map(drop), verdict);
        assert_eq!(other.or(one).result().map(drop), verdict);
    }
}

#[test]
fn a_question_is_that_of_openssl() {
    let (leaf, root) = (pem!("leaf"), pem!("root"));
    let (leaf, root) = (Certificate::parse(&leaf).unwrap(), Certificate::parse(&root).unwrap());
    let id = OcspId::of(&leaf, &root);
    let request = id.request();
    // As written by `openssl ocsp -no_nonce`: four sequences around SHA-1, the two hashes and the serial number.
    assert_eq!(request[..10], [0x30, 0x42, 0x30, 0x40, 0x30, 0x3e, 0x30, 0x3c, 0x30, 0x3a]);
    assert_eq!(request[10..21], SHA1);
    assert_eq!(request[request.len() - 3..], [2, 1, 0x10]);
    assert_eq!(request.len(), 0x44);
    // With a long serial number, lengths need more than one byte.
    let long = OcspId { serial: [1; 200].into(), ..id };
    let request = long.request();
    let mut reader = DerReader::new(&request);
    for _ in 0..4 {
        reader = reader.inside(tag::SEQUENCE).unwrap();
    }
    assert_eq!(long.is_meant(reader.inside(tag::SEQUENCE).unwrap()), Ok(true));
}

#[test]
fn the_responder_is_named_by_the_certificate() {
    assert_eq!(
        Certificate::parse(&pem!("leaf")).unwrap().ocsp_responder(),
        Some("http://ocsp.test:8081/path")
    );
    assert_eq!(Certificate::parse(&pem!("other")).unwrap().ocsp_responder(), None);
}
