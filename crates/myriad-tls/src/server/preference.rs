//! Selection of the certificate for a client.
//!
//! As in OpenSSL, the client's order of preference decides: that of its signature schemes in TLS 1.3, that of its
//! cipher suites in TLS 1.2. With `ssl_prefer_server_ciphers on` the server's order decides: ECDSA first, because it
//! costs less.

use std::sync::Arc;

use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, SupportedCipherSuite};

/// Signature schemes that TLS 1.3 does not allow in handshakes (RFC 8446 section 4.2.3).
const OLD: [SignatureScheme; 3] =
    [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::RSA_PKCS1_SHA384, SignatureScheme::RSA_PKCS1_SHA512];

/// Rule for the selection between a server's certificates.
#[derive(Clone, Debug)]
pub(crate) struct CertificatePreference {
    /// Cipher suites that the server supports.
    pub(crate) suites: Arc<[SupportedCipherSuite]>,
    /// True if the client's order of preference decides, false for the server's.
    pub(crate) is_clients: bool,
}

impl CertificatePreference {
    /// Returns the certificate for a client, from `all`, which are in the server's order of preference. Certificates
    /// that the client can use with TLS 1.2 come first, because the version is not negotiated yet; then the client's
    /// preference decides if `is_clients` is true, and the order of `all` otherwise. `None` if no certificate is usable
    /// with the client's signature schemes and a common cipher suite.
    pub(crate) fn choose(
        &self,
        hello: &ClientHello<'_>,
        all: impl Iterator<Item = Arc<CertifiedKey>>,
    ) -> Option<Arc<CertifiedKey>> {
        let mut fitting = all.filter(|certified| self.is_usable(hello, certified));
        let first = fitting.next()?;
        let Some(second) = fitting.next() else { return Some(first) };
        // The TLS version is not negotiated yet, so a certificate that is usable with TLS 1.2 as well is preferred.
        [first, second].into_iter().chain(fitting).min_by_key(|certified| {
            let rank = if self.is_clients { self.rank(hello, certified) } else { 0 };
            (!self.is_usable_tls12(hello, certified), rank)
        })
    }

    fn shared<'a>(&'a self, hello: &'a ClientHello<'_>) -> impl Iterator<Item = &'a SupportedCipherSuite> {
        self.suites.iter().filter(|suite| hello.cipher_suites().contains(&suite.suite()))
    }

    fn is_usable(&self, hello: &ClientHello<'_>, certified: &CertifiedKey) -> bool {
        let signs = |schemes: &[SignatureScheme]| certified.key.choose_scheme(schemes).is_some();
        signs(hello.signature_schemes())
            && self.shared(hello).any(|suite| match suite {
                SupportedCipherSuite::Tls12(suite) => signs(suite.sign),
                SupportedCipherSuite::Tls13(_) => true,
            })
    }

    fn is_usable_tls12(&self, hello: &ClientHello<'_>, certified: &CertifiedKey) -> bool {
        let signs = |scheme: &SignatureScheme| {
            hello.signature_schemes().contains(scheme) && certified.key.choose_scheme(&[*scheme]).is_some()
        };
        self.shared(hello)
            .any(|suite| matches!(suite, SupportedCipherSuite::Tls12(suite) if suite.sign.iter().any(signs)))
    }

    /// Returns a certificate's rank in the client's order of preference; the lowest is preferred. If client and server
    /// have a TLS 1.3 suite in common, the rank is the position of the client's first TLS 1.3 signature scheme for the
    /// certificate's key; otherwise, that of the client's first common cipher suite for the key. `usize::MAX` if there
    /// is none.
    fn rank(&self, hello: &ClientHello<'_>, certified: &CertifiedKey) -> usize {
        let signs = |schemes: &[SignatureScheme]| certified.key.choose_scheme(schemes).is_some();
        let rank = if self.shared(hello).any(|suite| suite.tls13().is_some()) {
            hello.signature_schemes().iter().position(|scheme| !OLD.contains(scheme) && signs(&[*scheme]))
        } else {
            hello.cipher_suites().iter().position(|wanted| {
                let own = self.suites.iter().find(|suite| suite.suite() == *wanted);
                own.is_some_and(
                    |suite| matches!(suite, SupportedCipherSuite::Tls12(suite) if signs(suite.sign)),
                )
            })
        };
        rank.unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, sign::any_supported_type};
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::server::Acceptor;
    use rustls::{CipherSuite, SignatureAlgorithm};

    /// Returns an ECDSA key and an RSA key. The certificates are empty, because they are not used.
    fn both() -> [Arc<CertifiedKey>; 2] {
        let ecdsa = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key");
        let ecdsa = ecdsa.to_pkcs8v1().expect("its DER").as_ref().to_vec();
        let rsa = KeyPair::generate(KeySize::Rsa2048).expect("a key");
        let rsa = AsDer::as_der(&rsa).expect("its DER").as_ref().to_vec();
        [ecdsa, rsa].map(|der| {
            let key = any_supported_type(&PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der)));
            Arc::new(CertifiedKey::new(Vec::new(), key.expect("a key")))
        })
    }

    fn sized<T: Into<u16> + Copy>(words: &[T]) -> Vec<u8> {
        let words: Vec<u8> = words.iter().flat_map(|word| (*word).into().to_be_bytes()).collect();
        [&(words.len() as u16).to_be_bytes()[..], &words].concat()
    }

    /// Encodes a TLS 1.2 client hello with these cipher suites and signature schemes.
    fn hello(suites: &[CipherSuite], schemes: &[SignatureScheme]) -> Vec<u8> {
        let mut extensions = Vec::new();
        for (kind, content) in [
            (13u16, sized(schemes)),
            (10, sized(&[0x001d_u16, 0x0017])),
            (11, vec![1, 0]),
            (43, vec![2, 3, 3]),
        ] {
            extensions.extend_from_slice(&kind.to_be_bytes());
            extensions.extend_from_slice(&(content.len() as u16).to_be_bytes());
            extensions.extend_from_slice(&content);
        }
        let length = (extensions.len() as u16).to_be_bytes();
        let body = [&[3, 3][..], &[7; 32], &[0], &sized(suites), &[1, 0], &length, &extensions].concat();
        let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
        [&[22, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat()
    }

    fn chosen(is_clients: bool, suites: &[CipherSuite], schemes: &[SignatureScheme]) -> SignatureAlgorithm {
        let bytes = hello(suites, schemes);
        let mut acceptor = Acceptor::default();
        acceptor.read_tls(&mut &bytes[..]).expect("read");
        let accepted = acceptor.accept().map_err(|(error, _)| error).expect("a hello").expect("a whole one");
        let preference = CertificatePreference { suites: ALL_CIPHER_SUITES.into(), is_clients };
        let certified = preference.choose(&accepted.client_hello(), both().into_iter());
        certified.expect("one of both").key.algorithm()
    }

    #[test]
    fn suites_of_tls_1_3_alone_choose_no_certificate_that_tls_1_2_could_not_go_on_with() {
        use CipherSuite::{
            TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 as ECDSA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 as RSA,
            TLS13_AES_128_GCM_SHA256 as TLS13,
        };
        let schemes = [SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::RSA_PSS_SHA256];
        for is_clients in [true, false] {
            let chosen = |suites: &[CipherSuite]| chosen(is_clients, suites, &schemes);
            assert_eq!(chosen(&[TLS13, RSA]), SignatureAlgorithm::RSA);
            assert_eq!(chosen(&[TLS13, RSA, ECDSA]), SignatureAlgorithm::ECDSA);
            assert_eq!(chosen(&[TLS13]), SignatureAlgorithm::ECDSA);
        }
        assert_eq!(chosen(true, &[RSA, ECDSA], &schemes), SignatureAlgorithm::RSA, "the client's order");
    }
}
