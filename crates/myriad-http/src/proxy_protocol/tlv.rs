//! TLVs (type, length, value) in PROXY headers of version 2 (section 2.2 of the PROXY protocol).

use myriad_base::digits::hexadecimal;

use super::ProxyHeader;

const SSL: u8 = 0x20;
/// Length in bytes of the fixed part of an [`SSL`] TLV: the client flags and the result of the certificate
/// verification.
const SSL_FIXED: usize = 5;

/// Selects a TLV (type-length-value field) of a PROXY header, as nginx's variables `$proxy_protocol_tlv_…` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tlv {
    /// TLV with this type number.
    Type(u8),
    /// TLV with this type number inside the TLV with TLS information (`ssl`).
    Ssl(u8),
    /// Result of the verification of the client certificate; 0 is success.
    SslVerify,
}

impl Tlv {
    /// Returns the TLV with this name: `alpn`, `authority`, `unique_id`, `ssl`, `netns`, `ssl_version`, `ssl_cn`,
    /// `ssl_cipher`, `ssl_sig_alg`, `ssl_key_alg`, `ssl_verify`, or a type such as `0xae` or `ssl_0x21`. `None` for
    /// other names.
    pub fn named(name: &str) -> Option<Self> {
        let plain = match name {
            "alpn" => Some(0x01),
            "authority" => Some(0x02),
            "unique_id" => Some(0x05),
            "ssl" => Some(SSL),
            "netns" => Some(0x30),
            "ssl_verify" => return Some(Self::SslVerify),
            name => number(name),
        };
        if let Some(kind) = plain {
            return Some(Self::Type(kind));
        }
        let kind = match name.strip_prefix("ssl_")? {
            "version" => 0x21,
            "cn" => 0x22,
            "cipher" => 0x23,
            "sig_alg" => 0x24,
            "key_alg" => 0x25,
            name => number(name)?,
        };
        Some(Self::Ssl(kind))
    }
}

/// Parses a TLV type such as `0xae`, with any number of leading zeros; `None` if it is above `0xff` or invalid.
fn number(text: &str) -> Option<u8> {
    hexadecimal(text.strip_prefix("0x")?)
}

impl ProxyHeader {
    /// Appends the value of a TLV (as a decimal number for [`Tlv::SslVerify`]) to `out`. Returns false if the header
    /// does not contain it.
    pub fn tlv(&self, tlv: Tlv, out: &mut Vec<u8>) -> bool {
        let value = match tlv {
            Tlv::Type(kind) => find(&self.tlvs, kind),
            Tlv::Ssl(kind) => self.ssl().and_then(|(_, facts)| find(facts, kind)),
            Tlv::SslVerify => {
                let Some((verify, _)) = self.ssl() else { return false };
                out.extend_from_slice(verify.to_string().as_bytes());
                return true;
            }
        };
        out.extend_from_slice(value.unwrap_or_default());
        value.is_some()
    }

    /// Returns the result of the client certificate's verification, and the TLVs inside the TLS information; `None` if
    /// there is no TLS information or it is too short.
    fn ssl(&self) -> Option<(u32, &[u8])> {
        let (fixed, facts) = find(&self.tlvs, SSL)?.split_at_checked(SSL_FIXED)?;
        let verify = <[u8; 4]>::try_from(&fixed[1..]).ok()?;
        Some((u32::from_be_bytes(verify), facts))
    }
}

/// Returns the value of the first TLV of type `kind`; `None` if there is none before the end or before a TLV with an
/// invalid length.
fn find(mut tlvs: &[u8], kind: u8) -> Option<&[u8]> {
    while let [found, high, low, rest @ ..] = tlvs {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (value, next) = rest.split_at_checked(length)?;
        if *found == kind {
            return Some(value);
        }
        tlvs = next;
    }
    None
}
