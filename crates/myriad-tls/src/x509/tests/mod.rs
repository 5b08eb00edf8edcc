//! Tests of chains that `make.sh` creates.

mod webpki;

use crate::x509::{
    Certificate, CertificateHost, CertificatePurpose, RevocationList, TrustStore, VerifyError, pem,
};

const NOW: i64 = 1_800_000_000;

macro_rules! files {
    ($($name:literal),*) => {
        fn file(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!($name, ".pem")),)*
                _ => panic!("{name} is no file"),
            }
        }
    };
}
files!(
    "card",
    "deep",
    "excluded",
    "inside",
    "leaf",
    "letter",
    "lone",
    "middle",
    "middle-list",
    "narrow",
    "old",
    "outside",
    "pinned",
    "post",
    "root",
    "root-list",
    "root-list-middle",
    "server",
    "shallow",
    "strange",
    "underdeep",
    "usurper"
);

/// Returns the decoded content of the first PEM block in the test file with this name.
fn der(name: &str) -> Vec<u8> {
    pem::blocks(file(name).as_bytes()).next().unwrap().unwrap().bytes().unwrap()
}

fn trusting(names: &[&str], depth: u32) -> TrustStore {
    let mut trust = TrustStore::new(depth);
    for name in names {
        trust.add(&der(name)).unwrap();
    }
    trust
}

fn judge_at(
    trust: &TrustStore,
    chain: &[&str],
    purpose: CertificatePurpose,
    now_s: i64,
) -> Result<(), VerifyError> {
    let chain: Vec<_> = chain.iter().map(|name| der(name)).collect();
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    trust.verify(&chain, purpose, now_s, algorithms.all).map(drop)
}

fn judge(trust: &TrustStore, chain: &[&str]) -> Result<(), VerifyError> {
    judge_at(trust, chain, CertificatePurpose::Client, NOW)
}

#[test]
fn chain_to_root_is_trusted_with_intermediate_from_peer_or_trust_store() {
    assert_eq!(judge(&trusting(&["root"], 1), &["leaf", "middle"]), Ok(()));
    assert_eq!(judge(&trusting(&["root", "middle"], 1), &["leaf"]), Ok(()));
    assert_eq!(judge(&trusting(&["root"], 1), &["leaf", "lone", "root", "middle"]), Ok(()));
    assert_eq!(judge(&trusting(&["root"], 0), &["old"]), Ok(()));
    assert_eq!(judge(&trusting(&["lone"], 0), &["lone"]), Ok(()));
}

#[test]
fn untrusted_chains_fail_with_openssl_error_codes() {
    for (trusted, chain, error) in [
        (&["root"][..], &["leaf"][..], VerifyError::FirstNotVerified),
        (&["lone"], &["leaf", "middle"], VerifyError::NoLocalIssuer),
        (&["lone"], &["leaf", "middle", "root"], VerifyError::SelfSignedInChain),
        (&["root"], &["lone"], VerifyError::SelfSigned),
        (&["middle"], &["leaf"], VerifyError::NoIssuer),
        (&["middle", "lone"], &["leaf", "root"], VerifyError::NoIssuer),
        (&["middle", "lone"], &["leaf", "middle", "root"], VerifyError::NoIssuer),
        (&[], &["leaf"], VerifyError::FirstNotVerified),
    ] {
        assert_eq!(judge(&trusting(trusted, 9), chain), Err(error), "{trusted:?} {chain:?}");
    }
    assert_eq!(VerifyError::SelfSigned.to_string(), "self-signed certificate");
    assert_eq!(judge(&trusting(&["root"], 1), &[]), Err(VerifyError::Malformed));
}

#[test]
fn authorities_in_between_are_counted_and_must_be_authorities() {
    assert_eq!(judge(&trusting(&["root"], 0), &["leaf", "middle"]), Err(VerifyError::NoLocalIssuer));
    assert_eq!(judge(&trusting(&["root", "middle"], 0), &["leaf"]), Err(VerifyError::NoIssuer));
    assert_eq!(judge(&trusting(&["root", "middle"], 0), &["leaf", "middle"]), Err(VerifyError::NoIssuer));
    assert_eq!(
        judge(&trusting(&["root"], 9), &["underdeep", "deep", "shallow"]),
        Err(VerifyError::PathLength)
    );
    assert_eq!(judge(&trusting(&["root"], 9), &["deep", "shallow"]), Err(VerifyError::Purpose));
    assert_eq!(judge(&trusting(&["root"], 9), &["usurper", "leaf", "middle"]), Err(VerifyError::Purpose));
}

#[test]
fn a_certificate_is_for_what_it_was_made_for() {
    let trust = trusting(&["root"], 9);
    assert_eq!(judge_at(&trust, &["server"], CertificatePurpose::Server, NOW), Ok(()));
    assert_eq!(judge(&trust, &["server"]), Err(VerifyError::Purpose));
    assert_eq!(
        judge_at(&trust, &["leaf", "middle"], CertificatePurpose::Server, NOW),
        Err(VerifyError::Purpose)
    );
    assert_eq!(judge(&trust, &["strange"]), Err(VerifyError::CriticalExtension));
}

#[test]
fn validity_period_applies_to_untrusted_certificates_too() {
    let trust = trusting(&["root"], 9);
    let judge = |chain: &[&str], now| judge_at(&trust, chain, CertificatePurpose::Client, now);
    assert_eq!(judge(&["leaf", "middle"], 0), Err(VerifyError::NotYetValid));
    assert_eq!(judge(&["leaf", "middle"], i64::MAX), Err(VerifyError::Expired));
    assert_eq!(judge(&["lone"], i64::MAX), Err(VerifyError::Expired));
}

#[test]
fn what_is_trusted_is_so_until_the_first_of_it_runs_out() {
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.all;
    let lists = ["root-list", "middle-list"].map(|name| RevocationList::parse(&der(name)).unwrap());
    let chain = ["leaf", "middle"].map(der);
    let [leaf, middle, root] = ["leaf", "middle", "root"].map(der);
    let [leaf, middle, root] = [&leaf, &middle, &root].map(|der| Certificate::parse(der).unwrap());
    let mut trust = trusting(&["root"], 9);
    let until = trust.verify(&chain, CertificatePurpose::Client, NOW, algorithms).unwrap();
    assert_eq!(until, leaf.not_after.min(middle.not_after).min(root.not_after));
    let verdict = |now_s| trust.verify(&chain, CertificatePurpose::Client, now_s, algorithms);
    assert_eq!([verdict(until), verdict(until + 1)], [Ok(until), Err(VerifyError::Expired)]);
    let check_list = |now_s| lists[1].check(&leaf, &middle, now_s, algorithms);
    let listed = check_list(NOW).unwrap();
    assert_eq!(
        [check_list(listed), check_list(listed + 1)],
        [Ok(listed), Err(VerifyError::RevocationListExpired)]
    );
    let earliest = listed.min(lists[0].check(&middle, &root, NOW, algorithms).unwrap()).min(until);
    for list in lists {
        trust.add_revocation_list(list);
    }
    assert_eq!(trust.verify(&chain, CertificatePurpose::Client, NOW, algorithms), Ok(earliest));
}

#[test]
fn names_stay_where_their_authority_may_sign() {
    let trust = trusting(&["root"], 9);
    assert_eq!(judge(&trust, &["inside", "narrow"]), Ok(()));
    assert_eq!(judge(&trust, &["outside", "narrow"]), Err(VerifyError::NotPermitted));
    assert_eq!(judge(&trust, &["excluded", "narrow"]), Err(VerifyError::Excluded));
    let post = trusting(&["post"], 9);
    assert_eq!(judge(&post, &["card"]), Ok(()));
    assert_eq!(judge(&post, &["letter"]), Err(VerifyError::NotPermitted));
}

#[test]
fn untrusted_chain_is_limited_in_signature_checks_and_depth() {
    let trust = trusting(&["root"], 9);
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    // The key of each lookalike CA verifies the certificate, but its own signature is invalid: two verifications each.
    let with_lookalikes = |count: u8| {
        let lookalike = |flip: u8| {
            let mut middle = der("middle");
            *middle.last_mut().unwrap() ^= flip;
            middle
        };
        let mut chain = vec![der("leaf")];
        chain.extend((1..=count).map(lookalike));
        chain.push(der("middle"));
        trust.verify(&chain, CertificatePurpose::Client, NOW, algorithms.all).map(drop)
    };
    assert_eq!(with_lookalikes(7), Ok(()));
    assert_eq!(with_lookalikes(8), Err(VerifyError::TooLong));
    let unrelated = &["leaf", "middle", "root"];
    assert_eq!(judge(&trusting(&["lone"], 1), unrelated), Err(VerifyError::SelfSignedInChain));
    assert_eq!(judge(&trusting(&["lone"], 0), unrelated), Err(VerifyError::NoLocalIssuer));
}

#[test]
fn every_issuer_in_chain_needs_revocation_list() {
    let with = |lists: &[&str]| {
        let mut trust = trusting(&["root"], 9);
        for name in lists {
            trust.add_revocation_list(RevocationList::parse(&der(name)).unwrap());
        }
        trust
    };
    let chain = &["leaf", "middle"];
    assert_eq!(judge(&with(&["root-list", "middle-list"]), chain), Ok(()));
    assert_eq!(judge(&with(&["root-list"]), chain), Err(VerifyError::NoRevocationList));
    assert_eq!(judge(&with(&["root-list-middle"]), chain), Err(VerifyError::Revoked));
    assert_eq!(
        judge(&with(&["root-list-middle", "root-list", "middle-list"]), chain),
        Err(VerifyError::Revoked)
    );
    assert_eq!(judge(&with(&["root-list"]), &["old"]), Ok(()));
}

#[test]
fn certificate_fields_names_and_fingerprint_are_readable() {
    let der = der("leaf");
    let leaf = Certificate::parse(&der).unwrap();
    assert_eq!(leaf.subject.rfc2253(), "CN=leaf,O=Example\\, Inc.,C=DE");
    assert_eq!(leaf.subject.legacy(), "/C=DE/O=Example, Inc./CN=leaf");
    assert_eq!(leaf.issuer.rfc2253(), "CN=middle");
    assert_eq!((leaf.version, leaf.serial_hex().as_str()), (3, "6C656166"));
    assert_eq!(leaf.pem().trim(), file("leaf").trim());
    assert_eq!(leaf.fingerprint().len(), 40);
    for (host, expected) in [
        ("leaf.test", true),
        ("a.leaf.test", true),
        ("127.0.0.1", true),
        ("127.0.0.2", false),
        ("leaf", false),
    ] {
        assert_eq!(leaf.is_valid_for(host), expected, "{host}");
    }
    let hosts: Vec<_> = leaf.hosts().collect();
    let address = CertificateHost::Address([127, 0, 0, 1].into());
    assert!(hosts.contains(&CertificateHost::Name(b"leaf.test")) && hosts.contains(&address), "{hosts:?}");
    let old = self::der("old");
    let old = Certificate::parse(&old).unwrap();
    assert!(old.is_valid_for("old") && old.hosts().next().is_none());
    assert_eq!(old.subject.common_name().as_deref(), Some("old"));
}

/// Each flipped bit is detected or gives a certificate with an invalid signature, and never causes a panic.
#[test]
fn no_damage_goes_unnoticed() {
    let trust = trusting(&["root"], 9);
    let algorithms = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    let sound = der("server");
    for position in 0..sound.len() {
        for bit in [0, 3, 7] {
            let mut damaged = sound.clone();
            damaged[position] ^= 1 << bit;
            assert!(
                trust.verify(&[&damaged], CertificatePurpose::Server, NOW, algorithms.all).is_err(),
                "{position} {bit}"
            );
            let _ = trust.verify(&[&damaged[..position]], CertificatePurpose::Server, NOW, algorithms.all);
        }
    }
    let list = der("root-list-middle");
    for position in 0..list.len() {
        let mut damaged = list.clone();
        damaged[position] ^= 0x55;
        let _ = RevocationList::parse(&damaged);
        let _ = RevocationList::parse(&damaged[..position]);
    }
}

#[test]
fn seeded_nonsense_is_refused_in_peace() {
    let mut random = fastrand::Rng::with_seed(509);
    let sound = der("leaf");
    for _ in 0..20_000 {
        let mut bytes = sound.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[at] = random.u8(..),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.u8(..)),
            }
        }
        if let Ok(certificate) = Certificate::parse(&bytes) {
            let _ = (certificate.subject.rfc2253(), certificate.issuer.legacy(), certificate.serial_hex());
            let _ = certificate.is_valid_for("leaf.test");
        }
    }
}
