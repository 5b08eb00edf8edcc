//! Variables `$secure_link*`.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use md5::{Digest, Md5};
use myriad_base::digits::{decimal, hexadecimal};
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::RowValue::Run;
use myriad_script::{EvalError, Frame, Template};
use subtle::ConstantTimeEq;

/// Maximum length of a digest in base64, in bytes: 22 characters and 2 of padding.
const WRITTEN: usize = 24;

/// Decoder of base64url. The caller removes padding; surplus bits are ignored, as in nginx.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Compiled `secure_link*` of a location.
pub(super) enum SecureLink {
    /// `secure_link_secret`: secret of links with the digest in their path.
    InPath(Box<[u8]>),
    /// `secure_link` and `secure_link_md5`: link with its digest, and text whose digest must be equal.
    Digested { link: Template, digested: Template },
}

/// Inputs of the variables. The directives may contain any variable. The variables are therefore declared to depend on
/// the connection: requests whose routing reads them never use the shortcut.
const READS: &[Reads] = &[Reads::Moment, Reads::Connection];

pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("secure_link", "secure_link", READS, Run(secure_link)),
    RequestVariable::new("secure_link", "secure_link_expires", READS, Run(expires)),
];

/// Appends the value of `$secure_link`: `1`, or `0` for an expired link; with `secure_link_secret`, the link that
/// follows the digest. Returns false (no value) for an invalid link, and without `secure_link*`.
fn secure_link(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    match request.place().features.get() {
        None => Ok(false),
        Some(SecureLink::InPath(secret)) => {
            // The URI as sent, with arguments and escapes, so that a client cannot add arguments to a link that was
            // signed without them.
            let link = request.sent_uri().and_then(|uri| link_in_path(uri, secret));
            out.extend_from_slice(link.unwrap_or_default());
            Ok(link.is_some())
        }
        Some(SecureLink::Digested { link, digested }) => {
            let (mut given, mut text) = (Vec::new(), Vec::new());
            link.eval(request, frame, &mut given)?;
            digested.eval(request, frame, &mut text)?;
            let Some((_, expires)) = split_digest(&given).filter(|(digest, _)| digest_matches(digest, &text))
            else {
                return Ok(false);
            };
            let is_over = expires.is_some_and(|(expires_s, _)| expires_s < request.received.wall_s());
            out.push(if is_over { b'0' } else { b'1' });
            Ok(true)
        }
    }
}

/// Appends the value of `$secure_link_expires`, as written in the link; the digest is not verified. Returns false (no
/// value) if the link has no valid expiry time, and without `secure_link` or `secure_link_md5`.
fn expires(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    let Some(SecureLink::Digested { link, .. }) = request.place().features.get() else { return Ok(false) };
    let mut value = Vec::new();
    link.eval(request, frame, &mut value)?;
    let Some((_, text)) = split_digest(&value).and_then(|(_, expires)| expires) else { return Ok(false) };
    out.extend_from_slice(text);
    Ok(true)
}

/// Expiry time of a link, in seconds since 1970, and its text.
type ExpiryTime<'a> = (u64, &'a [u8]);

/// Splits the value of `secure_link` into the digest and the expiry time after the comma, if there is a comma. Returns
/// `None` if the expiry time is invalid.
fn split_digest(value: &[u8]) -> Option<(&[u8], Option<ExpiryTime<'_>>)> {
    let Some(comma) = value.iter().position(|byte| *byte == b',') else { return Some((value, None)) };
    let text = &value[comma + 1..];
    let expires_s = decimal(text).filter(|expires_s| *expires_s > 0)?;
    Some((&value[..comma], Some((expires_s, text))))
}

fn digest_matches(written: &[u8], text: &[u8]) -> bool {
    if written.len() > WRITTEN {
        return false;
    }
    let bare = written.split(|byte| *byte == b'=').next().unwrap_or_default();
    let digest = BASE64.decode(bare).unwrap_or_default();
    bool::from(digest.ct_eq(&Md5::digest(text)[..]))
}

/// Returns the part `link` of `/prefix/DIGEST/link`; `None` if the hexadecimal digest does not match the link and the
/// secret.
fn link_in_path<'a>(uri: &'a [u8], secret: &[u8]) -> Option<&'a [u8]> {
    let mut parts = uri.get(1..)?.splitn(3, |byte| *byte == b'/');
    let (_, written, link) = (parts.next()?, parts.next()?, parts.next()?);
    if written.len() != 32 || link.is_empty() {
        return None;
    }
    let mut digest = Md5::new();
    digest.update(link);
    digest.update(secret);
    let expected: [u8; 16] = digest.finalize().into();
    let written = hexadecimal::<u128>(written)?.to_be_bytes();
    bool::from(expected.ct_eq(&written)).then_some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_proves_its_text_and_no_other() {
        // echo -n secret | openssl md5 -binary | base64
        for written in ["Xr4ilOzQ4PCOq3aQ0qbuaQ==", "Xr4ilOzQ4PCOq3aQ0qbuaQ", "Xr4ilOzQ4PCOq3aQ0qbuaQ="] {
            assert!(
                digest_matches(written.as_bytes(), b"secret")
                    && !digest_matches(written.as_bytes(), b"secret2"),
                "{written}"
            );
        }
        for wrong in
            ["", "=", "Xr4ilOzQ4PCOq3aQ0qbua", "Xr4ilOzQ4PCOq3aQ0qbuaQQQQQQQ", "Xr4ilOzQ4PCOq3aQ0qb+aQ"]
        {
            assert!(!digest_matches(wrong.as_bytes(), b"secret"), "{wrong}");
        }
    }

    #[test]
    fn expiry_after_comma_must_be_positive_number() {
        assert_eq!(split_digest(b"a"), Some((&b"a"[..], None)));
        assert_eq!(split_digest(b"a,17"), Some((&b"a"[..], Some((17, &b"17"[..])))));
        for wrong in [&b"a,"[..], b"a,0", b"a,-1", b"a,+1", b"a,1x", b"a,1,2", b"a,99999999999999999999999"] {
            assert_eq!(split_digest(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn link_is_path_after_digest() {
        let digest = format!("{:032x}", u128::from_be_bytes(Md5::digest(b"test.htmlsecret").into()));
        let uri = |digest: &str, link: &str| format!("/p/{digest}/{link}").into_bytes();
        assert_eq!(link_in_path(&uri(&digest, "test.html"), b"secret"), Some(&b"test.html"[..]));
        assert_eq!(
            link_in_path(&uri(&digest.to_uppercase(), "test.html"), b"secret"),
            Some(&b"test.html"[..])
        );
        for wrong in [
            uri(&digest, "test"),
            uri(&digest, ""),
            uri("x", "test.html"),
            b"/p".to_vec(),
            b"".to_vec(),
            b"/".to_vec(),
        ] {
            assert_eq!(link_in_path(&wrong, b"secret"), None, "{}", wrong.escape_ascii());
        }
    }
}
