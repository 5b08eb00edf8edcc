//! Access limits of an `api`: `secret_sha256=`, `zone=`.

use crate::protocol::AdminRequest as Asked;
use myriad_exchange::exchange::Request;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Access limits of an `api`. The configuration contains only a hash of the secret, so that its readers do not learn
/// the secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiScope {
    /// SHA-256 of the secret that every request must send; `None` if none is required.
    pub(crate) secret: Option<[u8; 32]>,
    /// Cache zone to which all requests are limited; `None` for all zones and upstream groups.
    pub(crate) zone: Option<String>,
}

impl ApiScope {
    /// Parses a SHA-256 hash, written as 64 hexadecimal digits; `None` if it is invalid.
    pub(crate) fn hash(text: &[u8]) -> Option<[u8; 32]> {
        let mut hash = [0; 32];
        if text.len() != 2 * hash.len() {
            return None;
        }
        for (byte, digits) in hash.iter_mut().zip(text.chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()?;
        }
        Some(hash)
    }

    /// Returns whether a request contains the secret, in a single field `Authorization: Bearer SECRET`; true if none is
    /// required.
    pub(super) fn admits(&self, request: &Request) -> bool {
        let Some(hash) = self.secret else { return true };
        let mut fields = request.received.head.fields().get_all(b"authorization");
        let (Some(field), None) = (fields.next(), fields.next()) else { return false };
        let Some((scheme, secret)) = field.split_at_checked(b"Bearer ".len()) else { return false };
        // The comparison of the hashes takes constant time, so that its duration does not reveal anything about the
        // secret.
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && bool::from(Sha256::digest(secret.trim_ascii())[..].ct_eq(&hash))
    }

    /// Restricts a request to the permitted cache zone. Returns an error text for the client if the request names
    /// another zone or concerns more than a cache zone.
    pub(super) fn restrict_to_zone(&self, asked: &mut Asked) -> Result<(), String> {
        let Some(own) = &self.zone else { return Ok(()) };
        let zone = match asked {
            Asked::Stats(asked) => &mut asked.zone,
            Asked::Pages(asked) => &mut asked.zone,
            Asked::Page(asked) => &mut asked.zone,
            Asked::Purge(asked) => &mut asked.zone,
            Asked::Purges(asked) => &mut asked.zone,
            Asked::Tags(asked) => &mut asked.zone,
            Asked::Leaks(asked) => &mut asked.zone,
            _ => {
                return Err(format!("this API is restricted to the zone \"{own}\""));
            }
        };
        if zone.as_ref().is_some_and(|zone| zone != own) {
            return Err(format!("this API is restricted to the zone \"{own}\""));
        }
        *zone = Some(own.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::{PurgeRequest, UpstreamsRequest};

    use super::*;

    #[test]
    fn hash_has_as_many_digits_as_it_has() {
        assert_eq!(ApiScope::hash(&[b'f'; 64]), Some([255; 32]));
        assert_eq!(ApiScope::hash(&[b'A'; 64]), Some([0xaa; 32]));
        for text in [&b"ff"[..], &[b'f'; 65], &[b'g'; 64], b""] {
            assert_eq!(ApiScope::hash(text), None);
        }
    }

    #[test]
    fn request_stays_in_its_zone() {
        let scope = ApiScope { zone: Some("one".to_owned()), ..ApiScope::default() };
        let mut asked = Asked::Purge(PurgeRequest { all: true, ..PurgeRequest::default() });
        assert_eq!(scope.restrict_to_zone(&mut asked), Ok(()));
        assert!(matches!(&asked, Asked::Purge(purge) if purge.zone.as_deref() == Some("one")));
        let mut asked =
            Asked::Purge(PurgeRequest { zone: Some("two".to_owned()), ..PurgeRequest::default() });
        assert!(scope.restrict_to_zone(&mut asked).is_err());
        assert!(scope.restrict_to_zone(&mut Asked::Upstreams(UpstreamsRequest::default())).is_err());
        assert_eq!(ApiScope::default().restrict_to_zone(&mut asked), Ok(()));
    }
}
