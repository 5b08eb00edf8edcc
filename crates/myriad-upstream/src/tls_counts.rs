//! Counters of TLS handshakes with a peer.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// TLS counters of a peer, named as in NGINX Plus's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsCounts {
    /// Number of completed handshakes.
    pub handshakes: u64,
    /// Number of failed handshakes, for any reason.
    pub handshakes_failed: u64,
    /// Number of completed handshakes that resumed a session.
    pub session_reuses: u64,
    /// Number of handshakes that failed because the peer rejected the offered TLS versions, or selected a version or
    /// parameters that this server does not support.
    pub no_common_protocol: u64,
    /// Number of handshakes that timed out.
    pub handshake_timeout: u64,
    /// Number of handshakes that failed because the peer rejected the client certificate.
    pub peer_rejected_cert: u64,
    /// Number of handshakes that failed because the peer's certificate has expired or is not valid yet.
    pub expired_cert: u64,
    /// Number of handshakes that failed because the peer's certificate is revoked.
    pub revoked_cert: u64,
    /// Number of handshakes that failed because the peer's certificate is for another name.
    pub hostname_mismatch: u64,
    /// Number of handshakes that failed because the peer's certificate is not trusted for another reason.
    pub other_cert: u64,
}

/// Reason why the certificates of a peer are not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustFailure {
    /// The certificate has expired or is not valid yet.
    Expired,
    /// The certificate is revoked.
    Revoked,
    /// The certificate is not valid for the name of the peer.
    Name,
    /// Any other reason, such as an unknown authority.
    Other,
}

impl TlsCounts {
    /// Counts a completed handshake; `resumed` is true if it resumed a session.
    pub(crate) fn record_completed(&mut self, resumed: bool) {
        self.handshakes += 1;
        self.session_reuses += u64::from(resumed);
    }

    /// Counts a timed-out handshake.
    pub(crate) fn timed_out(&mut self) {
        self.handshakes_failed += 1;
        self.handshake_timeout += 1;
    }

    /// Counts a handshake that failed because the certificate of the peer is not trusted.
    pub(crate) fn distrusted(&mut self, why: TrustFailure) {
        self.handshakes_failed += 1;
        match why {
            TrustFailure::Expired => self.expired_cert += 1,
            TrustFailure::Revoked => self.revoked_cert += 1,
            TrustFailure::Name => self.hostname_mismatch += 1,
            TrustFailure::Other => self.other_cert += 1,
        }
    }

    /// Counts a failed handshake by its reason.
    pub(crate) fn failed(&mut self, error: &io::Error) {
        use AlertDescription as Alert;
        let why = match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(Error::InvalidCertificate(why)) => return self.distrusted(distrust(why)),
            Some(Error::AlertReceived(Alert::ProtocolVersion) | Error::PeerIncompatible(_)) => {
                &mut self.no_common_protocol
            }
            Some(Error::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::CertificateRequired
                | Alert::UnknownCA
                | Alert::AccessDenied,
            )) => &mut self.peer_rejected_cert,
            _ => {
                self.handshakes_failed += 1;
                return;
            }
        };
        *why += 1;
        self.handshakes_failed += 1;
    }

    /// Adds the counters of `other` to those of `self`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.handshakes += other.handshakes;
        self.handshakes_failed += other.handshakes_failed;
        self.session_reuses += other.session_reuses;
        self.no_common_protocol += other.no_common_protocol;
        self.handshake_timeout += other.handshake_timeout;
        self.peer_rejected_cert += other.peer_rejected_cert;
        self.expired_cert += other.expired_cert;
        self.revoked_cert += other.revoked_cert;
        self.hostname_mismatch += other.hostname_mismatch;
        self.other_cert += other.other_cert;
    }
}

fn distrust(why: &CertificateError) -> TrustFailure {
    match why {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => TrustFailure::Expired,
        CertificateError::Revoked => TrustFailure::Revoked,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TrustFailure::Name
        }
        _ => TrustFailure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_their_reasons() {
        let mut counts = TlsCounts::default();
        for error in [
            Error::AlertReceived(AlertDescription::ProtocolVersion),
            Error::AlertReceived(AlertDescription::UnknownCA),
            Error::InvalidCertificate(CertificateError::Revoked),
            Error::InvalidCertificate(CertificateError::NotValidYet),
            Error::DecryptError,
        ] {
            counts.failed(&io::Error::other(error));
        }
        counts.failed(&io::Error::from(io::ErrorKind::UnexpectedEof));
        counts.timed_out();
        counts.record_completed(true);
        let expected = TlsCounts {
            handshakes: 1,
            handshakes_failed: 7,
            session_reuses: 1,
            no_common_protocol: 1,
            handshake_timeout: 1,
            peer_rejected_cert: 1,
            expired_cert: 1,
            revoked_cert: 1,
            ..TlsCounts::default()
        };
        assert_eq!(counts, expected);
    }
}
