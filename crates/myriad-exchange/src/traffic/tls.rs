//! Counts of TLS handshakes, as in the API of NGINX Plus (`ssl`).

use myriad_net::HandshakeFailure;
use myriad_store::page::Counter;

/// Result of a TLS handshake, or of the verification of a client certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsEnd {
    /// Successful handshake.
    Done {
        /// True if an earlier session was resumed.
        resumed: bool,
    },
    /// Failed handshake.
    Failed(HandshakeFailure),
    /// A client certificate is invalid (OpenSSL's error code) or missing (0).
    Unverified(u32),
}

/// Defines `TlsCounts` (one worker) and `TlsSums` (all workers), with one field per name.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counts of the TLS handshakes of one worker. Only its thread writes them.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(super) struct TlsCounts {
            $($name: Counter,)+
        }

        /// Counts of TLS handshakes, summed over workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct TlsSums {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl TlsSums {
            /// Returns the sums of the counts of `workers`.
            pub(super) fn of<'a>(workers: impl IntoIterator<Item = &'a TlsCounts>) -> Self {
                let mut sums = Self::default();
                for worker in workers {
                    $(sums.$name += worker.$name.get();)+
                }
                sums
            }
        }
    };
}

counts! {
    /// Number of successful handshakes.
    handshakes,
    /// Number of failed handshakes, for any reason.
    handshakes_failed,
    /// Number of successful handshakes that resumed an earlier session.
    session_reuses,
    /// Number of handshakes that failed because client and server have no TLS version in common.
    no_common_protocol,
    /// Number of handshakes that failed because client and server have no cipher suite in common.
    no_common_cipher,
    /// Number of handshakes that failed because the client timed out.
    handshake_timeout,
    /// Number of handshakes that failed because the client rejected the server's certificate.
    peer_rejected_cert,
    /// Number of checks in which a client had sent no certificate although one is required.
    verify_no_cert,
    /// Number of checks in which a client certificate was expired.
    verify_expired_cert,
    /// Number of checks in which a client certificate was revoked.
    verify_revoked_cert,
    /// Number of client certificates with a wrong name. Names of clients are not checked, so it is always 0.
    verify_hostname_mismatch,
    /// Number of checks in which a client certificate was invalid for another reason.
    verify_other,
}

impl TlsCounts {
    /// Counts the result `end` of a TLS handshake or of the verification of a client certificate. Must be called only
    /// on the worker's thread.
    pub(super) fn add(&self, end: TlsEnd) {
        match end {
            TlsEnd::Done { resumed } => {
                self.handshakes.add(1);
                self.session_reuses.add(u64::from(resumed));
            }
            TlsEnd::Failed(why) => {
                self.handshakes_failed.add(1);
                match why {
                    HandshakeFailure::NoCommonProtocol => self.no_common_protocol.add(1),
                    HandshakeFailure::NoCommonCipher => self.no_common_cipher.add(1),
                    HandshakeFailure::TimedOut => self.handshake_timeout.add(1),
                    HandshakeFailure::CertificateRejected => self.peer_rejected_cert.add(1),
                    HandshakeFailure::Other => {}
                }
            }
            TlsEnd::Unverified(code) => self.unverified(code).add(1),
        }
    }

    /// Returns the counter for an OpenSSL error code (`X509_V_ERR_*`); 0 means that the certificate is missing.
    fn unverified(&self, code: u32) -> &Counter {
        match code {
            0 => &self.verify_no_cert,
            10 => &self.verify_expired_cert,
            23 => &self.verify_revoked_cert,
            62 => &self.verify_hostname_mismatch,
            _ => &self.verify_other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_count() {
        let counts = [TlsCounts::default(), TlsCounts::default()];
        counts[0].add(TlsEnd::Done { resumed: false });
        counts[1].add(TlsEnd::Done { resumed: true });
        for why in [
            HandshakeFailure::NoCommonProtocol,
            HandshakeFailure::NoCommonCipher,
            HandshakeFailure::TimedOut,
            HandshakeFailure::CertificateRejected,
            HandshakeFailure::Other,
        ] {
            counts[1].add(TlsEnd::Failed(why));
        }
        for code in [0, 10, 23, 62, 18, 20] {
            counts[0].add(TlsEnd::Unverified(code));
        }
        let expected = TlsSums {
            handshakes: 2,
            handshakes_failed: 5,
            session_reuses: 1,
            no_common_protocol: 1,
            no_common_cipher: 1,
            handshake_timeout: 1,
            peer_rejected_cert: 1,
            verify_no_cert: 1,
            verify_expired_cert: 1,
            verify_revoked_cert: 1,
            verify_hostname_mismatch: 1,
            verify_other: 2,
        };
        assert_eq!(TlsSums::of(&counts), expected);
    }
}
