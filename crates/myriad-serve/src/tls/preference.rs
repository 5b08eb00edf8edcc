//! Which of a server's certificates a client gets.
//!
//! As in OpenSSL the client's order decides, that of its ways of signing in TLS 1.3 and that of its suites in TLS 1.2, unless
//! `ssl_prefer_server_ciphers on` says that the server's does: ECDSA first, which costs less.

use std::sync::Arc;

use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, SupportedCipherSuite};

/// Ways of signing that TLS 1.3 does not have (RFC 8446 section 4.2.3).
const OLD: [SignatureScheme; 3] =
    [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::RSA_PKCS1_SHA384, SignatureScheme::RSA_PKCS1_SHA512];

/// What decides.
#[derive(Clone, Debug)]
pub(crate) struct Preference {
    /// The suites of the server.
    pub(crate) suites: Vec<SupportedCipherSuite>,
    /// Whether the client's order does.
    pub(crate) is_clients: bool,
}

impl Preference {
    /// The certificate for a client; `all` are in the server's order. None where no key can sign in a way that the client
    /// understands, under a suite that both have.
    pub(crate) fn choose(
        &self,
        hello: &ClientHello<'_>,
        all: impl Iterator<Item = Arc<CertifiedKey>>,
    ) -> Option<Arc<CertifiedKey>> {
        let mut fitting = all.filter(|certified| self.fits(hello, certified));
        let first = fitting.next()?;
        if !self.is_clients {
            return Some(first);
        }
        let Some(second) = fitting.next() else { return Some(first) };
        [first, second].into_iter().chain(fitting).min_by_key(|certified| self.rank(hello, certified))
    }

    fn shared<'a>(&'a self, hello: &'a ClientHello<'_>) -> impl Iterator<Item = &'a SupportedCipherSuite> {
        self.suites.iter().filter(|suite| hello.cipher_suites().contains(&suite.suite()))
    }

    fn fits(&self, hello: &ClientHello<'_>, certified: &CertifiedKey) -> bool {
        let signs = |schemes: &[SignatureScheme]| certified.key.choose_scheme(schemes).is_some();
        signs(hello.signature_schemes())
            && self.shared(hello).any(|suite| match suite {
                SupportedCipherSuite::Tls12(suite) => signs(suite.sign),
                SupportedCipherSuite::Tls13(_) => true,
            })
    }

    /// How far behind in the client's order the first is that leads to a certificate.
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
