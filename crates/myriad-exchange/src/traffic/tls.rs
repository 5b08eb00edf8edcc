//! Handshakes of TLS, as NGINX Plus counts them (`ssl` of its API).

use myriad_net::HandshakeFailure;
use myriad_page::Counter;

/// How a handshake ended, or what was found wrong with a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsEnd {
    /// Both agreed; whether on a session of before.
    Done {
        /// Whether an earlier session was resumed.
        resumed: bool,
    },
    /// It failed.
    Failed(HandshakeFailure),
    /// The client's certificate is missing or does not convince: the number of the error in OpenSSL's list, 0 for none at all.
    Unverified(u32),
}

/// The names of the counts, each in one word.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Handshakes of one worker.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(super) struct TlsCounts {
            $($name: Counter,)+
        }

        /// Handshakes of all workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct TlsSums {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl TlsSums {
            /// The sums of the counts of all workers.
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
    /// Handshakes that succeeded.
    handshakes,
    /// Those that did not.
    handshakes_failed,
    /// Those that resumed an earlier session.
    session_reuses,
    /// Failed: no version of TLS that both speak.
    no_common_protocol,
    /// Failed: no cipher suite that both know.
    no_common_cipher,
    /// Failed: the client took too long.
    handshake_timeout,
    /// Failed: the client did not believe the certificate that it was shown.
    peer_rejected_cert,
    /// Clients without the certificate that the server demands.
    verify_no_cert,
    /// Client certificates that are out of date.
    verify_expired_cert,
    /// Client certificates that were revoked.
    verify_revoked_cert,
    /// Client certificates of another name; clients have none that is checked, so that it stays 0.
    verify_hostname_mismatch,
    /// Client certificates with another fault.
    verify_other,
}

impl TlsCounts {
    /// Adds an end. To be called on the thread of the worker only.
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

    /// The count of an error of OpenSSL's list (`X509_V_ERR_*`).
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
