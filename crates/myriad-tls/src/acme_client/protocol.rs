//! ACME protocol with one authority: directory, nonces, account and signed requests (RFC 8555 sections 6 and 7).

use std::fmt::Write;
use std::sync::Arc;

use myriad_base::digits::decimal;
use serde_json::{Value, json};

use crate::acme_client::error::{AcmeError, AcmeProblem, one_line};
use crate::acme_client::https::{Https, HttpsReply};
use crate::acme_client::issuer::Issuer;
use crate::acme_client::jws::{self, Signer};
use crate::acme_client::key::SigningKey;

/// Maximum number of attempts of an ACME request whose nonce is rejected. Authorities lose nonces when they restart,
/// and some reject valid nonces to test clients.
const MOST_NONCES: usize = 20;

/// Directory of an ACME authority: its URLs and properties (RFC 8555 section 7.1.1).
#[derive(Clone, Debug)]
pub(crate) struct AcmeDirectory {
    /// URL that returns a new nonce.
    pub(crate) new_nonce: String,
    /// URL for requests that create or find an account.
    pub(crate) new_account: String,
    /// URL for requests of new orders.
    pub(crate) new_order: String,
    /// URL for queries of renewal information (RFC 9773); `None` if the authority has none.
    pub(crate) renewal_info: Option<String>,
    /// URL of the terms of service; `None` if there are none.
    pub(crate) terms: Option<String>,
    /// True if an external account is required (RFC 8555 section 7.3.4).
    pub(crate) wants_external_account: bool,
    /// Names of the offered certificate profiles.
    pub(crate) profiles: Vec<String>,
}

/// Client of one ACME authority with one account.
pub struct AcmeClient {
    https: Https,
    pub(crate) directory: AcmeDirectory,
    key: Arc<SigningKey>,
    /// Nonce for the next signed request; `None` if one must be requested first.
    nonce: Option<String>,
    /// URL of the account; `None` before it is known.
    account: Option<String>,
}

impl AcmeClient {
    /// Reads the directory of the authority and creates the client. Fails if the status is not 2xx, or the directory
    /// lacks a URL that every authority must have.
    pub fn open(https: Https, issuer: &Issuer, key: Arc<SigningKey>) -> Result<Self, AcmeError> {
        let reply = https.get(&issuer.uri)?;
        let reply = check_reply(reply)?;
        let directory = AcmeDirectory::read(&json_of(&reply)?)?;
        Ok(Self { https, directory, key, nonce: None, account: None })
    }

    /// Returns the account key.
    pub(crate) fn key(&self) -> &SigningKey {
        &self.key
    }

    /// Creates the account, or finds the existing account of the key (RFC 8555 section 7.3). Returns its URL, which is
    /// cached. Fails if the authority requires agreement to its terms, or an external account, and `issuer` is not
    /// configured for it.
    pub fn account(&mut self, issuer: &Issuer) -> Result<String, AcmeError> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        if let Some(terms) = self.directory.terms.as_ref().filter(|_| !issuer.accepts_terms) {
            return Err(AcmeError::Refused(format!(
                "the certificate authority requires agreement to its terms of service: read {terms} and add \
                     accept_terms_of_service to acme_issuer \"{}\"",
                issuer.name
            )));
        }
        if self.directory.wants_external_account && issuer.external_account.is_none() {
            return Err(AcmeError::Refused(format!(
                "the certificate authority requires an external account: add external_account_key to acme_issuer \"{}\"",
                issuer.name
            )));
        }
        let url = self.directory.new_account.clone();
        let mut payload = json!({});
        if issuer.accepts_terms {
            payload["termsOfServiceAgreed"] = true.into();
        }
        if !issuer.contacts.is_empty() {
            payload["contact"] = issuer.contacts.clone().into();
        }
        if let Some(external) = &issuer.external_account {
            payload["externalAccountBinding"] = jws::external_binding(external, &self.key, &url)?;
        }
        let reply = self.send_signed(&url, Some(&payload), "", true)?;
        let account =
            location(&reply).ok_or_else(|| AcmeError::Protocol("the account has no URL".to_owned()))?;
        self.account = Some(account.clone());
        Ok(account)
    }

    /// Discards the cached account URL, because the account no longer exists at the authority.
    pub(crate) fn forget_account(&mut self) {
        self.account = None;
    }

    /// Sends a POST request signed for the account; repeats it with a new nonce if the authority rejects the nonce, up
    /// to [`MOST_NONCES`] attempts. Fails if the status is not 2xx.
    pub(crate) fn post(&mut self, url: &str, payload: &Value) -> Result<HttpsReply, AcmeError> {
        self.send_signed(url, Some(payload), "", false)
    }

    /// Fetches a URL with a signed request of the account (POST-as-GET). `accept` is the value of the `Accept` header;
    /// empty for none. Repeats the request and fails like [`AcmeClient::post`].
    pub(crate) fn fetch(&mut self, url: &str, accept: &str) -> Result<HttpsReply, AcmeError> {
        self.send_signed(url, None, accept, false)
    }

    /// Sends an unsigned GET request for a public resource. Fails if the status is not 2xx.
    pub(crate) fn get(&self, url: &str) -> Result<HttpsReply, AcmeError> {
        check_reply(self.https.get(url)?)
    }

    fn send_signed(
        &mut self,
        url: &str,
        payload: Option<&Value>,
        accept: &str,
        as_key: bool,
    ) -> Result<HttpsReply, AcmeError> {
        let mut last = None;
        for _ in 0..MOST_NONCES {
            let nonce = match self.nonce.take() {
                Some(nonce) => nonce,
                None => self.new_nonce()?,
            };
            let signer = match &self.account {
                Some(account) if !as_key => Signer::Account(account),
                _ => Signer::Key,
            };
            let body = jws::request(&self.key, signer, &nonce, url, payload)?;
            let reply = self.https.post(url, &body, accept)?;
            self.nonce = nonce_of(&reply);
            match check_reply(reply) {
                Err(error) if error.is_problem("badNonce") => last = Some(error),
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or_else(|| AcmeError::Protocol("every nonce was rejected".to_owned())))
    }

    fn new_nonce(&self) -> Result<String, AcmeError> {
        let reply = check_reply(self.https.head(&self.directory.new_nonce)?)?;
        nonce_of(&reply)
            .ok_or_else(|| AcmeError::Protocol("the newNonce response has no Replay-Nonce header".to_owned()))
    }
}

impl AcmeDirectory {
    fn read(value: &Value) -> Result<Self, AcmeError> {
        let url = |name: &str| {
            text_member(value, name)
                .ok_or_else(|| AcmeError::Protocol(format!("the directory has no \"{name}\"")))
        };
        let meta = &value["meta"];
        let profiles = meta["profiles"].as_object().map(|profiles| profiles.keys().cloned().collect());
        Ok(Self {
            new_nonce: url("newNonce")?,
            new_account: url("newAccount")?,
            new_order: url("newOrder")?,
            renewal_info: text_member(value, "renewalInfo"),
            terms: text_member(meta, "termsOfService"),
            wants_external_account: meta["externalAccountRequired"].as_bool() == Some(true),
            profiles: profiles.unwrap_or_default(),
        })
    }
}

/// Returns a string member of a JSON object; `None` if it is missing or not a string.
pub(crate) fn text_member(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(str::to_owned)
}

/// Returns the `Location` header of a response; `None` if it is missing or does not begin with `https://`.
pub(crate) fn location(reply: &HttpsReply) -> Option<String> {
    let value = std::str::from_utf8(reply.field("location")?).ok()?;
    value.starts_with("https://").then(|| value.to_owned())
}

/// Returns the value of the `Retry-After` header in seconds; `None` if it is missing or not a number (a date).
pub(crate) fn retry_after(reply: &HttpsReply) -> Option<u64> {
    decimal(reply.field("retry-after")?.trim_ascii())
}

/// Parses the body of a response as JSON. Fails if it is malformed.
pub(crate) fn json_of(reply: &HttpsReply) -> Result<Value, AcmeError> {
    serde_json::from_slice(&reply.body)
        .map_err(|error| AcmeError::Protocol(format!("the response body is not valid JSON: {error}")))
}

fn nonce_of(reply: &HttpsReply) -> Option<String> {
    let nonce = std::str::from_utf8(reply.field("replay-nonce")?).ok()?;
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (!nonce.is_empty() && nonce.len() <= 512 && nonce.bytes().all(is_base64url)).then(|| nonce.to_owned())
}

/// Parses the problem document in the body of an error response with this status. All texts are empty if the body is
/// not JSON.
pub fn read_problem(body: &[u8], status: u16) -> AcmeProblem {
    to_problem(&serde_json::from_slice(body).unwrap_or(Value::Null), status, None)
}

/// Returns the response if its status is 2xx; otherwise its problem document as an error.
fn check_reply(reply: HttpsReply) -> Result<HttpsReply, AcmeError> {
    if (200..300).contains(&reply.status) {
        return Ok(reply);
    }
    let problem = read_problem(&reply.body, reply.status);
    Err(AcmeError::Problem(AcmeProblem { retry_after_s: retry_after(&reply), ..problem }))
}

/// Converts a problem document in JSON to one-line texts. The details of single names (RFC 8555 section 6.7.1) are
/// appended to `detail`. Missing texts are empty.
pub(crate) fn to_problem(value: &Value, status: u16, retry_after_s: Option<u64>) -> AcmeProblem {
    let kind = value["type"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default();
    let mut detail = value["detail"].as_str().unwrap_or_default().to_owned();
    for one in value["subproblems"].as_array().into_iter().flatten() {
        let name = one["identifier"]["value"].as_str().unwrap_or_default();
        let subproblem_detail = one["detail"].as_str().unwrap_or_default();
        let _ = write!(detail, "; {name}: {subproblem_detail}");
    }
    AcmeProblem { kind: one_line(kind), detail: one_line(&detail), status, retry_after_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_requires_three_urls_and_accepts_optional_fields() {
        let mut value = json!({
            "newNonce": "https://ca.test/n", "newAccount": "https://ca.test/a", "newOrder": "https://ca.test/o",
            "meta": { "termsOfService": "https://ca.test/t", "profiles": { "short": "six days" } },
        });
        let directory = AcmeDirectory::read(&value).expect("directory");
        assert_eq!((directory.terms.as_deref(), directory.renewal_info), (Some("https://ca.test/t"), None));
        assert_eq!(directory.profiles, ["short"]);
        assert!(!directory.wants_external_account);
        value["newOrder"] = Value::Null;
        let error = AcmeDirectory::read(&value).expect_err("incomplete").to_string();
        assert!(error.contains("newOrder"), "{error}");
        assert!(AcmeDirectory::read(&json!([])).is_err());
    }

    #[test]
    fn corrupted_problem_documents_are_reported_without_control_characters() {
        let whole = br#"{"type":"urn:ietf:params:acme:error:caa","detail":"a b","subproblems":[{"identifier":{"value":"x"}}]}"#;
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = whole[..random.usize(..=whole.len())].to_vec();
            for _ in 0..random.usize(..4) {
                let at = random.usize(..=bytes.len());
                bytes.insert(at, random.u8(..));
            }
            assert!(!read_problem(&bytes, 400).to_string().contains(char::is_control), "{seed}");
        }
    }

    #[test]
    fn problems_are_reported_in_one_line_of_bounded_length() {
        let value = json!({
            "type": "urn:ietf:params:acme:error:rejectedIdentifier", "detail": "no\r\nway",
            "subproblems": [{ "identifier": { "type": "dns", "value": "a.test" }, "detail": "not\tthis" }],
        });
        let text = to_problem(&value, 400, None).to_string();
        assert_eq!(text, "rejectedIdentifier (status 400): no  way; a.test: not this");
        let long = to_problem(&json!({ "detail": "x".repeat(5000) }), 500, Some(9));
        assert!(long.detail.chars().count() < 700);
        assert_eq!(to_problem(&Value::Null, 503, None).to_string(), "problem (status 503)");
    }
}
