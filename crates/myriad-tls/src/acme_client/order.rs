//! Order, and the steps from it to a certificate (RFC 8555 section 7.4).
//!
//! ```text
//! newOrder --> pending --challenges--> ready --finalize--> processing --> valid --> certificate
//!                 '---------'--------------- invalid <-------'
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::x509::pem;
use myriad_base::calendar::parse_rfc3339;
use myriad_conf::model::{AcmeChallenge, AcmeIdentifier, AcmeKeyKind};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::acme_client::challenges::{ALPN, Challenges, Pending};
use crate::acme_client::csr;
use crate::acme_client::error::{Error, one_line};
use crate::acme_client::facts::Facts;
use crate::acme_client::https::Reply;
use crate::acme_client::issuer::{CertificateOrder, Issuer, kind_of, looks_at, server_name};
use crate::acme_client::jws::{self, encode};
use crate::acme_client::key::SigningKey;
use crate::acme_client::protocol::{Client, json_of, location, problem, retry_after, text};
use crate::acme_client::roots;
use crate::acme_client::schedule::Window;

/// Maximum time for the authority to validate names, and to issue.
const PATIENCE: Duration = Duration::from_mins(3);
/// Initial and maximum pause between polls.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// Maximum pause between polls that is accepted from the authority.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of alternate chains checked for the preferred chain.
const MOST_CHAINS: usize = 8;

/// Callback that waits; returns `false` if the order was cancelled.
pub type Wait<'a> = &'a dyn Fn(Duration) -> bool;

/// Context of an order.
pub struct Surroundings<'a> {
    /// Issuing authority.
    pub issuer: &'a Issuer,
    /// Challenge responses of the server.
    pub challenges: &'a Arc<Challenges>,
    /// Seconds since the epoch.
    pub now_s: u64,
    /// Wait function.
    pub wait: Wait<'a>,
}

/// Orders a certificate and returns its chain and its key in one PEM text. `replaces` identifies the certificate that
/// it renews (RFC 9773 section 5).
pub fn run(
    client: &mut Client,
    around: &Surroundings<'_>,
    order: &CertificateOrder,
    replaces: Option<&str>,
) -> Result<Zeroizing<String>, Error> {
    let profile = profile(client, around.issuer)?;
    client.account(around.issuer)?;
    let placed = match place(client, order, profile, replaces) {
        Err(error) if error.is_problem("accountDoesNotExist") => {
            client.forget_account();
            client.account(around.issuer)?;
            place(client, order, profile, None)
        }
        // The authority may treat that certificate as already replaced.
        Err(Error::Problem(_)) if replaces.is_some() => place(client, order, profile, None),
        placed => placed,
    };
    let (url, mut state) = placed?;
    let pending = prove(client, around, &state, &order.identifiers)?;
    state = settle(client, around, &url, state, &["pending"])?;
    drop(pending);
    let key = SigningKey::generate(order.key)?;
    if state["status"] == "ready" {
        let first = order.identifiers.first().map(ToString::to_string).filter(|_| around.issuer.common_name);
        let request = csr::request(&key, &order.identifiers, first.as_deref())?;
        let finalize = text(&state, "finalize").ok_or_else(|| missing("finalize"))?;
        state = json_of(&client.post(&finalize, &json!({ "csr": encode(&request) }))?)?;
        state = settle(client, around, &url, state, &["ready", "processing"])?;
    }
    if state["status"] != "valid" {
        return Err(failure(&state));
    }
    let certificate = text(&state, "certificate").ok_or_else(|| missing("certificate"))?;
    let (chain, key) = (chain(client, around.issuer, &certificate)?, key.to_pem());
    Ok(Zeroizing::new([chain.as_str(), &key].concat()))
}

fn missing(what: &str) -> Error {
    Error::Protocol(format!("the order has no \"{what}\""))
}

/// Returns the profile to request (draft-ietf-acme-profiles): an unsupported profile is omitted, unless it is required.
fn profile<'a>(client: &Client, issuer: &'a Issuer) -> Result<Option<&'a str>, Error> {
    let Some((name, required)) = &issuer.profile else { return Ok(None) };
    if client.directory.profiles.contains(name) {
        return Ok(Some(name));
    }
    if *required {
        let known = client.directory.profiles.join(", ");
        return Err(Error::Refused(format!(
            "the certificate authority does not support the profile \"{name}\"; supported profiles: {known}"
        )));
    }
    Ok(None)
}

fn place(
    client: &mut Client,
    order: &CertificateOrder,
    profile: Option<&str>,
    replaces: Option<&str>,
) -> Result<(String, Value), Error> {
    let identifiers: Vec<Value> = order
        .identifiers
        .iter()
        .map(|identifier| json!({ "type": kind_of(identifier), "value": identifier.to_string() }))
        .collect();
    let mut payload = json!({ "identifiers": identifiers });
    if let Some(profile) = profile {
        payload["profile"] = profile.into();
    }
    if let Some(replaces) = replaces {
        payload["replaces"] = replaces.into();
    }
    let url = client.directory.new_order.clone();
    let reply = client.post(&url, &payload)?;
    let url = location(&reply).ok_or_else(|| missing("Location"))?;
    Ok((url, json_of(&reply)?))
}

/// Responds to one challenge of each name that is not validated yet, and waits for the validation.
fn prove(
    client: &mut Client,
    around: &Surroundings<'_>,
    order: &Value,
    ordered: &[AcmeIdentifier],
) -> Result<Vec<Pending>, Error> {
    let mut pending = Vec::new();
    let mut open = Vec::new();
    for url in order["authorizations"].as_array().into_iter().flatten() {
        let url = url.as_str().ok_or_else(|| missing("authorizations"))?;
        let state = json_of(&client.fetch(url, "")?)?;
        if state["status"] != "pending" {
            continue;
        }
        let identifier = identifier(&state, ordered)?;
        let challenge = begin(client, around, &state, identifier, &mut pending)?;
        open.push((url.to_owned(), identifier, challenge));
    }
    for (_, _, challenge) in &open {
        client.post(challenge, &json!({}))?;
    }
    for (url, identifier, _) in &open {
        let reply = poll(client, around, url, |state| state["status"] != "pending")?;
        let state = json_of(&reply)?;
        if state["status"] != "valid" {
            return Err(not_valid(&state, &identifier.to_string(), around.issuer.challenge));
        }
    }
    Ok(pending)
}

/// Returns the identifier of an authorization. It must be part of the order, because otherwise an authority could cause
/// responses for other names.
fn identifier<'a>(authorization: &Value, ordered: &'a [AcmeIdentifier]) -> Result<&'a AcmeIdentifier, Error> {
    let (kind, value) = (&authorization["identifier"]["type"], &authorization["identifier"]["value"]);
    let value = value.as_str().ok_or_else(|| missing("identifier"))?;
    let is_it = |identifier: &&AcmeIdentifier| {
        *kind == kind_of(identifier)
            && match identifier {
                AcmeIdentifier::Dns(name) => value.eq_ignore_ascii_case(name),
                AcmeIdentifier::Ip(address) => value.parse() == Ok(*address),
            }
    };
    let unasked = || {
        Error::Protocol(format!(
            "it requires an authorization for \"{}\", which was not ordered",
            one_line(value)
        ))
    };
    ordered.iter().find(is_it).ok_or_else(unasked)
}

/// Prepares the response to a challenge of the configured type; returns the URL of the challenge.
fn begin(
    client: &Client,
    around: &Surroundings<'_>,
    authorization: &Value,
    identifier: &AcmeIdentifier,
    pending: &mut Vec<Pending>,
) -> Result<String, Error> {
    let kind = around.issuer.challenge;
    let mut offered = authorization["challenges"].as_array().into_iter().flatten();
    let Some(challenge) = offered.find(|challenge| challenge["type"] == kind.name()) else {
        let why = format!("it does not offer the challenge {} for this name", kind.name());
        return Err(Error::Validation { identifier: identifier.to_string(), why });
    };
    let token = text(challenge, "token").filter(|token| is_token(token)).ok_or_else(|| missing("token"))?;
    let url = text(challenge, "url").ok_or_else(|| missing("url"))?;
    let answer = jws::key_authorization(client.key(), &token)?;
    pending.push(match kind {
        AcmeChallenge::Http01 => around.challenges.answer_token(&token, &answer),
        AcmeChallenge::TlsAlpn01 => {
            let config = handshake(identifier, &answer, around.now_s)?;
            around.challenges.answer_handshake(server_name(identifier), config)
        }
    });
    Ok(url)
}

/// Returns whether a token is base64url (RFC 8555 section 8.3) and of limited length.
fn is_token(token: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=256).contains(&token.len()) && token.bytes().all(is_base64url)
}

/// Returns the TLS settings for a validation handshake (RFC 8737 section 3).
fn handshake(identifier: &AcmeIdentifier, answer: &str, now_s: u64) -> Result<Arc<ServerConfig>, Error> {
    let key = SigningKey::generate(AcmeKeyKind::P256)?;
    let certificate = csr::challenge_certificate(&key, identifier, answer, now_s)?;
    let failed = |_: rustls::Error| Error::Cryptography("readying a handshake");
    let provider = roots::provider();
    let signing = key.in_tls().map_err(failed)?;
    // The pair is not checked, because the check would fail on the critical extension.
    let certified = CertifiedKey::new(vec![CertificateDer::from(certificate)], signing);
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn not_valid(authorization: &Value, identifier: &str, kind: AcmeChallenge) -> Error {
    let mut challenges = authorization["challenges"].as_array().into_iter().flatten();
    let failed = challenges.find(|challenge| !challenge["error"].is_null());
    let said = failed.map(|challenge| problem(&challenge["error"], 0, None).detail);
    let said = said.filter(|said| !said.is_empty()).unwrap_or_else(|| {
        format!(
            "the authorization has the status {}",
            one_line(authorization["status"].as_str().unwrap_or("(none)"))
        )
    });
    let why = format!("{said} ({}: {})", kind.name(), looks_at(kind));
    Error::Validation { identifier: one_line(identifier), why }
}

/// Polls an order until it leaves these states.
fn settle(
    client: &mut Client,
    around: &Surroundings<'_>,
    url: &str,
    state: Value,
    unsettled: &[&str],
) -> Result<Value, Error> {
    let is_settled = |state: &Value| !unsettled.iter().any(|unsettled| state["status"] == *unsettled);
    let state = if is_settled(&state) { state } else { json_of(&poll(client, around, url, is_settled)?)? };
    if state["status"] == "invalid" { Err(failure(&state)) } else { Ok(state) }
}

fn failure(order: &Value) -> Error {
    if order["error"].is_null() {
        let status = one_line(order["status"].as_str().unwrap_or("(none)"));
        return Error::Protocol(format!("the order has the status {status}"));
    }
    Error::Problem(problem(&order["error"], 0, None))
}

/// Polls a resource until it is done.
fn poll(
    client: &mut Client,
    around: &Surroundings<'_>,
    url: &str,
    is_done: impl Fn(&Value) -> bool,
) -> Result<Reply, Error> {
    let began = Instant::now();
    let mut pause = PAUSE.0;
    loop {
        let reply = client.fetch(url, "")?;
        if is_done(&json_of(&reply)?) {
            return Ok(reply);
        }
        if began.elapsed() >= PATIENCE {
            let why = "timed out waiting for the validation result".to_owned();
            return Err(Error::Connection { url: url.to_owned(), why });
        }
        let asked = retry_after(&reply).map_or(Duration::ZERO, Duration::from_secs).min(LONGEST_PAUSE);
        if !(around.wait)(pause.max(asked)) {
            return Err(Error::Stopped);
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// Downloads the chain: the preferred chain if it is configured and offered.
fn chain(client: &mut Client, issuer: &Issuer, url: &str) -> Result<String, Error> {
    const ACCEPT: &str = "application/pem-certificate-chain";
    let reply = client.fetch(url, ACCEPT)?;
    let first = certificates(&reply)?;
    let Some(preferred) = &issuer.preferred_chain else { return Ok(first) };
    if ends_at(&first, preferred) {
        return Ok(first);
    }
    let links: Vec<Vec<u8>> =
        reply.fields.get_all("link").iter().map(|link| link.as_bytes().to_vec()).collect();
    for url in links.iter().filter_map(|link| alternate(link)).take(MOST_CHAINS) {
        let other = certificates(&client.fetch(url, ACCEPT)?)?;
        if ends_at(&other, preferred) {
            return Ok(other);
        }
    }
    Ok(first)
}

/// Returns only the certificates of a reply: keys or other text must not be accepted from an authority.
fn certificates(reply: &Reply) -> Result<String, Error> {
    let certificates: Vec<_> = pem::certificates(&reply.body).flatten().collect();
    if certificates.is_empty() {
        return Err(Error::Protocol("the certificate chain is empty".to_owned()));
    }
    Ok(certificates.iter().map(|certificate| pem::block("CERTIFICATE", certificate)).collect())
}

/// Returns whether the topmost certificate of a chain was issued by this name.
fn ends_at(chain: &str, name: &str) -> bool {
    let top = pem::certificates(chain.as_bytes()).flatten().last().and_then(|top| Facts::from_der(&top));
    top.is_some_and(|top| top.issuer == name)
}

/// Returns the URL of `<URL>;rel="alternate"` (RFC 8288).
fn alternate(link: &[u8]) -> Option<&str> {
    let (url, parameters) = std::str::from_utf8(link).ok()?.trim().strip_prefix('<')?.split_once('>')?;
    let rel = |parameter: &str| {
        let parameter: String = parameter.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        parameter.eq_ignore_ascii_case("rel=alternate")
    };
    parameters.split(';').any(rel).then_some(url)
}

/// Queries renewal information: the window suggested by the authority, and the delay before the next query in seconds.
/// Returns `None` if the authority does not provide it.
pub(crate) fn renewal_information(
    client: &Client,
    certificate: &Facts,
) -> Result<Option<(Window, Option<u64>)>, Error> {
    let (Some(base), Some(id)) = (&client.directory.renewal_info, &certificate.renewal_id) else {
        return Ok(None);
    };
    let reply = client.get(&format!("{}/{id}", base.trim_end_matches('/')))?;
    let value = json_of(&reply)?;
    let moment = |name: &str| value["suggestedWindow"][name].as_str().and_then(parse_rfc3339);
    let (Some(start_s), Some(end_s)) = (moment("start"), moment("end")) else {
        return Err(Error::Protocol("the renewal information has no suggested window".to_owned()));
    };
    if end_s < start_s {
        return Err(Error::Protocol("the suggested renewal window ends before it starts".to_owned()));
    }
    Ok(Some((Window { start_s, end_s }, retry_after(&reply))))
}

#[cfg(test)]
mod tests;
