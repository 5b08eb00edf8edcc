//! Signed ACME requests: flattened JSON Web Signatures (RFC 7515, RFC 8555 section 6.2).

use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::acme_client::error::AcmeError;
use crate::acme_client::issuer::ExternalAccount;
use crate::acme_client::key::{PublicParts, SigningKey};

/// Encodes bytes as base64url without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Identification of the signer in a signed ACME request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signer<'a> {
    /// The public key itself, for requests that create or find an account.
    Key,
    /// URL of the existing account.
    Account(&'a str),
}

/// Creates an ACME request to `url`, signed with the account key. Without a payload it is a POST-as-GET (RFC 8555
/// section 6.3).
pub(crate) fn request(
    key: &SigningKey,
    signer: Signer<'_>,
    nonce: &str,
    url: &str,
    payload: Option<&Value>,
) -> Result<String, AcmeError> {
    let mut protected = json!({ "alg": key.jwa(), "nonce": nonce, "url": url });
    match signer {
        Signer::Key => protected["jwk"] = jwk(key)?,
        Signer::Account(url) => protected["kid"] = url.into(),
    }
    let payload = payload.map_or_else(String::new, Value::to_string);
    flattened_jws(&protected, payload.as_bytes(), |message| key.sign_jws(message))
        .map(|value| value.to_string())
}

/// Creates the signed object that binds the ACME account of `key` to an external account (RFC 8555 section 7.3.4).
/// `url` is that of the request for the account.
pub(crate) fn external_binding(
    account: &ExternalAccount,
    key: &SigningKey,
    url: &str,
) -> Result<Value, AcmeError> {
    let protected = json!({ "alg": "HS256", "kid": account.kid, "url": url });
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &account.key);
    let sign = |message: &[u8]| Ok(hmac::sign(&secret, message).as_ref().to_vec());
    flattened_jws(&protected, jwk(key)?.to_string().as_bytes(), sign)
}

fn flattened_jws(
    protected: &Value,
    payload: &[u8],
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, AcmeError>,
) -> Result<Value, AcmeError> {
    let protected = encode(protected.to_string().as_bytes());
    let payload = encode(payload);
    let signature = sign(format!("{protected}.{payload}").as_bytes())?;
    Ok(json!({ "protected": protected, "payload": payload, "signature": encode(&signature) }))
}

/// Returns the public key as a JSON Web Key with only the members that RFC 7638 requires.
fn jwk(key: &SigningKey) -> Result<Value, AcmeError> {
    Ok(match key.public_parts()? {
        PublicParts::Ec { curve, x, y } => {
            json!({ "crv": curve, "kty": "EC", "x": encode(&x), "y": encode(&y) })
        }
        PublicParts::Rsa { modulus, exponent } => {
            json!({ "e": encode(&exponent), "kty": "RSA", "n": encode(&modulus) })
        }
    })
}

/// Returns the key authorization of a challenge (RFC 8555 section 8.1): its token and the thumbprint of the account
/// key.
pub(crate) fn key_authorization(key: &SigningKey, token: &str) -> Result<String, AcmeError> {
    // serde_json writes members in alphabetical order and without white space, as RFC 7638 section 3 requires.
    let thumbprint = digest::digest(&digest::SHA256, jwk(key)?.to_string().as_bytes());
    Ok(format!("{token}.{}", encode(thumbprint.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use myriad_conf::model::AcmeKeyKind;

    fn decoded(text: &Value) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text.as_str().expect("text")).expect("base64url")
    }

    #[test]
    fn request_is_signed_over_its_head_and_payload() {
        let key = SigningKey::generate(AcmeKeyKind::P256).expect("key");
        let text = request(&key, Signer::Key, "n1", "https://ca.test/x", Some(&json!({ "a": 1 })));
        let whole: Value = serde_json::from_str(&text.expect("request")).expect("JSON");
        let protected: Value = serde_json::from_slice(&decoded(&whole["protected"])).expect("JSON");
        assert_eq!((&protected["alg"], &protected["nonce"]), (&"ES256".into(), &"n1".into()));
        assert_eq!(decoded(&whole["payload"]), br#"{"a":1}"#);
        let signed =
            format!("{}.{}", whole["protected"].as_str().unwrap(), whole["payload"].as_str().unwrap());
        let mut point = vec![4];
        for part in ["x", "y"] {
            point.extend(decoded(&protected["jwk"][part]));
        }
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        assert!(public.verify(signed.as_bytes(), &decoded(&whole["signature"])).is_ok());
    }

    #[test]
    fn known_account_is_named_and_its_key_left_out() {
        let key = SigningKey::generate(AcmeKeyKind::Rsa2048).expect("key");
        let text = request(&key, Signer::Account("https://ca.test/1"), "n", "https://ca.test/x", None);
        let whole: Value = serde_json::from_str(&text.expect("request")).expect("JSON");
        let protected: Value = serde_json::from_slice(&decoded(&whole["protected"])).expect("JSON");
        assert_eq!(protected["kid"], "https://ca.test/1");
        assert!(protected.get("jwk").is_none());
        assert_eq!((whole["payload"].as_str(), protected["alg"].as_str()), (Some(""), Some("RS256")));
    }

    #[test]
    fn key_is_written_as_thumbprints_are_taken() {
        let key = SigningKey::generate(AcmeKeyKind::P384).expect("key");
        let text = jwk(&key).expect("key").to_string();
        assert!(text.starts_with(r#"{"crv":"P-384","kty":"EC","x":""#), "{text}");
        let rsa = SigningKey::generate(AcmeKeyKind::Rsa2048).expect("key");
        assert!(jwk(&rsa).expect("key").to_string().starts_with(r#"{"e":"AQAB","kty":"RSA","n":""#));
        let authorization = key_authorization(&key, "token").expect("authorization");
        assert_eq!(authorization.len(), "token.".len() + 43);
    }
}
