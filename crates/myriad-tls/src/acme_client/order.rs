//! ACME order of a certificate: the steps from the order to the issued certificate (RFC 8555 section 7.4).
//!
//! ```text
//! newOrder --> pending --challenges--> ready --finalize--> processing --> valid --> certificate
//!                 '---------'--------------- invalid <-------'
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::x509::pem;
use myriad_base::calendar::parse_rfc3339;
use myriad_conf::model::{AcmeChallenge, AcmeIdentifier};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::acme_client::certificate_info::CertificateInfo;
use crate::acme_client::challenge_answer::{answer_challenge, is_token};
use crate::acme_client::challenges::{ChallengeGuard, PendingChallenges};
use crate::acme_client::coordination::{OrderLease, PublishError, SharedChallenge};
use crate::acme_client::csr;
use crate::acme_client::error::{AcmeError, one_line};
use crate::acme_client::https::HttpsReply;
use crate::acme_client::issuer::{CertificateOrder, Issuer, checked_location, identifier_type};
use crate::acme_client::jws::{self, encode};
use crate::acme_client::key::SigningKey;
use crate::acme_client::protocol::{AcmeClient, json_of, location, retry_after, text_member, to_problem};
use crate::acme_client::schedule::RenewalWindow;

/// Maximum time to wait for each step of a certificate order: the validation of one name, the order becoming ready, and
/// the certificate.
const PATIENCE: Duration = Duration::from_mins(3);
/// Initial and maximum pause between two polls of an order or authorization, unless the authority requests a longer
/// one.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// Limit of the pause between two polls that the authority requests by `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of alternate chains that are checked against the preferred chain.
const MOST_CHAINS: usize = 8;

/// Function that waits for a duration. Returns false if the order was cancelled meanwhile.
pub type WaitCallback<'a> = &'a dyn Fn(Duration) -> bool;

/// Inputs of a certificate order other than the ACME client.
pub struct OrderContext<'a> {
    /// Settings of the certificate authority.
    pub issuer: &'a Issuer,
    /// Pending challenges, to which those of the order are added so that the server answers them.
    pub challenges: &'a Arc<PendingChallenges>,
    /// Right to order the certificate for the nodes of a cluster, which answer the challenges, too; `None` if this process
    /// orders it for itself.
    pub lease: Option<&'a dyn OrderLease>,
    /// Time from which the order fails if the authority still validates the names; `None` if only the single steps have
    /// a limit.
    pub deadline: Option<Instant>,
    /// Current time in seconds since the Unix epoch.
    pub now_s: u64,
    /// Function that waits between polls and detects that the order was cancelled.
    pub wait: WaitCallback<'a>,
}

impl OrderContext<'_> {
    /// Fails if the order has a lease that was lost. Succeeds without a lease.
    fn check_lease(&self) -> Result<(), AcmeError> {
        if self.lease.is_some_and(OrderLease::is_lost) { Err(AcmeError::LeaseLost) } else { Ok(()) }
    }
}

/// Orders a certificate with a new key. Returns the chain and the private key in one PEM text. `replaces` identifies
/// the certificate that is renewed (RFC 9773 section 5); `None` for a first order, and if the authority does not
/// support it.
pub fn order_certificate(
    client: &mut AcmeClient,
    around: &OrderContext<'_>,
    order: &CertificateOrder,
    replaces: Option<&str>,
) -> Result<Zeroizing<String>, AcmeError> {
    let profile = profile(client, around.issuer)?;
    client.account(around.issuer)?;
    let placed = match place_order(client, order, profile, replaces) {
        Err(error) if error.is_problem("accountDoesNotExist") => {
            client.forget_account();
            client.account(around.issuer)?;
            place_order(client, order, profile, None)
        }
        // Retried without `replaces`: the authority may consider that certificate replaced already.
        Err(AcmeError::Problem(_)) if replaces.is_some() => place_order(client, order, profile, None),
        placed => placed,
    };
    let (url, mut state) = placed?;
    let pending = prove_control(client, around, &state, &order.identifiers)?;
    state = poll_until_settled(client, around, &url, state, &["pending"])?;
    drop(pending);
    around.check_lease()?;
    let key = SigningKey::generate(order.key)?;
    // From here on, the authority issues a certificate, which must not be lost.
    let around = &OrderContext { lease: None, deadline: None, ..*around };
    if state["status"] == "ready" {
        let first = order.identifiers.first().map(ToString::to_string).filter(|_| around.issuer.common_name);
        let request = csr::request(&key, &order.identifiers, first.as_deref())?;
        let finalize = text_member(&state, "finalize").ok_or_else(|| missing_member("order", "finalize"))?;
        state = json_of(&client.post(&finalize, &json!({ "csr": encode(&request) }))?)?;
        state = poll_until_settled(client, around, &url, state, &["ready", "processing"])?;
    }
    if state["status"] != "valid" {
        return Err(order_error(&state));
    }
    let certificate =
        text_member(&state, "certificate").ok_or_else(|| missing_member("order", "certificate"))?;
    let (chain, key) = (download_chain(client, around.issuer, &certificate)?, key.to_pem());
    Ok(Zeroizing::new([chain.as_str(), &key].concat()))
}

fn missing_member(object: &str, name: &str) -> AcmeError {
    AcmeError::Protocol(format!("the {object} has no valid \"{name}\""))
}

/// Returns the profile to request (draft-ietf-acme-profiles); `None` if none is configured. A profile that the
/// authority does not support is omitted, or an error if it is required.
fn profile<'a>(client: &AcmeClient, issuer: &'a Issuer) -> Result<Option<&'a str>, AcmeError> {
    let Some((name, required)) = &issuer.profile else { return Ok(None) };
    if client.directory.profiles.contains(name) {
        return Ok(Some(name));
    }
    if *required {
        let known = client.directory.profiles.join(", ");
        return Err(AcmeError::Refused(format!(
            "the certificate authority does not support the profile \"{name}\"; supported profiles: {known}"
        )));
    }
    Ok(None)
}

fn place_order(
    client: &mut AcmeClient,
    order: &CertificateOrder,
    profile: Option<&str>,
    replaces: Option<&str>,
) -> Result<(String, Value), AcmeError> {
    let identifiers: Vec<Value> = order
        .identifiers
        .iter()
        .map(|identifier| json!({ "type": identifier_type(identifier), "value": identifier.to_string() }))
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
    let url = location(&reply).ok_or_else(|| missing_member("response to the order", "Location"))?;
    Ok((url, json_of(&reply)?))
}

/// Answers one challenge for each authorization of the order that is pending, and waits for the validations. The
/// challenges are answered until the returned guards are dropped.
fn prove_control(
    client: &mut AcmeClient,
    around: &OrderContext<'_>,
    order: &Value,
    ordered: &[AcmeIdentifier],
) -> Result<Vec<ChallengeGuard>, AcmeError> {
    let mut pending = Vec::new();
    let mut shared = Vec::new();
    let mut open = Vec::new();
    for url in order["authorizations"].as_array().into_iter().flatten() {
        let url = url.as_str().ok_or_else(|| missing_member("order", "authorizations"))?;
        let state = json_of(&client.fetch(url, "")?)?;
        if state["status"] != "pending" {
            continue;
        }
        let identifier = identifier(&state, ordered)?;
        let (challenge, url_of_challenge) = prepare_challenge(client, around, &state, identifier)?;
        pending.push(answer_challenge(around.challenges, &challenge, around.now_s)?);
        shared.push(challenge);
        open.push((url.to_owned(), identifier, url_of_challenge));
    }
    if let Some(lease) = around.lease.filter(|_| !shared.is_empty()) {
        lease.publish(&shared).map_err(|error| match error {
            PublishError::LeaseLost => AcmeError::LeaseLost,
            PublishError::Failed(why) => AcmeError::Cluster(why),
        })?;
    }
    for (_, _, challenge) in &open {
        client.post(challenge, &json!({}))?;
    }
    for (url, identifier, _) in &open {
        let reply = poll(client, around, url, |state| state["status"] != "pending")?;
        let state = json_of(&reply)?;
        if state["status"] != "valid" {
            return Err(validation_error(&state, &identifier.to_string(), around.issuer.challenge));
        }
    }
    Ok(pending)
}

/// Returns the name in `ordered` to which an authorization belongs. Fails if there is none, so that the authority
/// cannot cause responses for other names.
fn identifier<'a>(
    authorization: &Value,
    ordered: &'a [AcmeIdentifier],
) -> Result<&'a AcmeIdentifier, AcmeError> {
    let (kind, value) = (&authorization["identifier"]["type"], &authorization["identifier"]["value"]);
    let value = value.as_str().ok_or_else(|| missing_member("authorization", "identifier"))?;
    let is_it = |identifier: &&AcmeIdentifier| {
        *kind == identifier_type(identifier)
            && match identifier {
                AcmeIdentifier::Dns(name) => value.eq_ignore_ascii_case(name),
                AcmeIdentifier::Ip(address) => value.parse() == Ok(*address),
            }
    };
    let not_ordered = || {
        AcmeError::Protocol(format!(
            "an authorization is required for \"{}\", which was not ordered",
            one_line(value)
        ))
    };
    ordered.iter().find(is_it).ok_or_else(not_ordered)
}

/// Returns the challenge of the configured type in an authorization, with its answer, and the URL of the challenge.
/// Fails if the authority does not offer this type, or the challenge is malformed.
fn prepare_challenge(
    client: &AcmeClient,
    around: &OrderContext<'_>,
    authorization: &Value,
    identifier: &AcmeIdentifier,
) -> Result<(SharedChallenge, String), AcmeError> {
    let kind = around.issuer.challenge;
    let mut offered = authorization["challenges"].as_array().into_iter().flatten();
    let Some(challenge) = offered.find(|challenge| challenge["type"] == kind.name()) else {
        let why = format!("the challenge {} is not offered for this name", kind.name());
        return Err(AcmeError::Validation { identifier: identifier.to_string(), why });
    };
    let token = text_member(challenge, "token")
        .filter(|token| is_token(token))
        .ok_or_else(|| missing_member("challenge", "token"))?;
    let url = text_member(challenge, "url").ok_or_else(|| missing_member("challenge", "url"))?;
    let answer = jws::key_authorization(client.key(), &token)?;
    Ok((SharedChallenge { kind, token, identifier: identifier.clone(), answer }, url))
}

fn validation_error(authorization: &Value, identifier: &str, kind: AcmeChallenge) -> AcmeError {
    let mut challenges = authorization["challenges"].as_array().into_iter().flatten();
    let failed = challenges.find(|challenge| !challenge["error"].is_null());
    let detail = failed.map(|challenge| to_problem(&challenge["error"], 0, None).detail);
    let detail = detail.filter(|said| !said.is_empty()).unwrap_or_else(|| {
        format!(
            "the authorization has the status {}",
            one_line(authorization["status"].as_str().unwrap_or("(none)"))
        )
    });
    let why = format!("{detail} ({}: {})", kind.name(), checked_location(kind));
    AcmeError::Validation { identifier: one_line(identifier), why }
}

/// Polls an order until its status is none of `unsettled`, and returns its last state. `state` is the state known
/// already. Fails if the status becomes `invalid`, or for the reasons of [`poll`].
fn poll_until_settled(
    client: &mut AcmeClient,
    around: &OrderContext<'_>,
    url: &str,
    state: Value,
    unsettled: &[&str],
) -> Result<Value, AcmeError> {
    let is_settled = |state: &Value| !unsettled.iter().any(|unsettled| state["status"] == *unsettled);
    let state = if is_settled(&state) { state } else { json_of(&poll(client, around, url, is_settled)?)? };
    if state["status"] == "invalid" { Err(order_error(&state)) } else { Ok(state) }
}

fn order_error(order: &Value) -> AcmeError {
    if order["error"].is_null() {
        let status = one_line(order["status"].as_str().unwrap_or("(none)"));
        return AcmeError::Protocol(format!("the order has the status {status}"));
    }
    AcmeError::Problem(to_problem(&order["error"], 0, None))
}

/// Polls an order or authorization until `is_done` returns true for it, at most for [`PATIENCE`] and until the deadline
/// of the order. Returns the last response. Fails also if the lease was lost or the order was cancelled.
fn poll(
    client: &mut AcmeClient,
    around: &OrderContext<'_>,
    url: &str,
    is_done: impl Fn(&Value) -> bool,
) -> Result<HttpsReply, AcmeError> {
    let began = Instant::now();
    let mut pause = PAUSE.0;
    loop {
        let reply = client.fetch(url, "")?;
        if is_done(&json_of(&reply)?) {
            return Ok(reply);
        }
        around.check_lease()?;
        if began.elapsed() >= PATIENCE || around.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            let why = "timed out waiting for the certificate authority".to_owned();
            return Err(AcmeError::Connection { url: url.to_owned(), why });
        }
        let asked = retry_after(&reply).map_or(Duration::ZERO, Duration::from_secs).min(LONGEST_PAUSE);
        if !(around.wait)(pause.max(asked)) {
            return Err(AcmeError::Stopped);
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// Downloads the certificate chain. If the preferred chain of the issuer is another one, downloads that chain instead,
/// if it is among the first [`MOST_CHAINS`] alternatives of the authority; otherwise the default chain is used.
fn download_chain(client: &mut AcmeClient, issuer: &Issuer, url: &str) -> Result<String, AcmeError> {
    const ACCEPT: &str = "application/pem-certificate-chain";
    let reply = client.fetch(url, ACCEPT)?;
    let first = certificates(&reply)?;
    let Some(preferred) = &issuer.preferred_chain else { return Ok(first) };
    if is_issued_by(&first, preferred) {
        return Ok(first);
    }
    let links: Vec<Vec<u8>> =
        reply.fields.get_all("link").iter().map(|link| link.as_bytes().to_vec()).collect();
    for url in links.iter().filter_map(|link| alternate_url(link)).take(MOST_CHAINS) {
        let other = certificates(&client.fetch(url, ACCEPT)?)?;
        if is_issued_by(&other, preferred) {
            return Ok(other);
        }
    }
    Ok(first)
}

/// Returns the certificates of a response in PEM, without any other text: keys must not be accepted from an authority.
fn certificates(reply: &HttpsReply) -> Result<String, AcmeError> {
    let certificates: Vec<_> = pem::certificates(&reply.body).flatten().collect();
    if certificates.is_empty() {
        return Err(AcmeError::Protocol("the certificate chain is empty".to_owned()));
    }
    Ok(certificates.iter().map(|certificate| pem::block("CERTIFICATE", certificate)).collect())
}

/// Returns true if the issuer of the topmost certificate of the chain has this name.
fn is_issued_by(chain: &str, name: &str) -> bool {
    let top =
        pem::certificates(chain.as_bytes()).flatten().last().and_then(|top| CertificateInfo::from_der(&top));
    top.is_some_and(|top| top.issuer == name)
}

/// Returns the URL of a `Link` field with `rel="alternate"` (RFC 8288); `None` for other links.
fn alternate_url(link: &[u8]) -> Option<&str> {
    let (url, parameters) = std::str::from_utf8(link).ok()?.trim().strip_prefix('<')?.split_once('>')?;
    let rel = |parameter: &str| {
        let parameter: String = parameter.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        parameter.eq_ignore_ascii_case("rel=alternate")
    };
    parameters.split(';').any(rel).then_some(url)
}

/// Queries renewal information: the suggested window, and the delay in seconds before the next query, if the authority
/// requests one. `None` if the authority does not provide renewal information, or the certificate has no identifier for
/// it. Fails if the response contains no valid window.
pub(crate) fn renewal_information(
    client: &AcmeClient,
    certificate: &CertificateInfo,
) -> Result<Option<(RenewalWindow, Option<u64>)>, AcmeError> {
    let (Some(base), Some(id)) = (&client.directory.renewal_info, &certificate.renewal_id) else {
        return Ok(None);
    };
    let reply = client.get(&format!("{}/{id}", base.trim_end_matches('/')))?;
    let value = json_of(&reply)?;
    let moment = |name: &str| value["suggestedWindow"][name].as_str().and_then(parse_rfc3339);
    let (Some(start_s), Some(end_s)) = (moment("start"), moment("end")) else {
        return Err(AcmeError::Protocol("the renewal information has no suggested window".to_owned()));
    };
    if end_s < start_s {
        return Err(AcmeError::Protocol("the suggested renewal window ends before it starts".to_owned()));
    }
    Ok(Some((RenewalWindow { start_s, end_s }, retry_after(&reply))))
}

#[cfg(test)]
mod tests;
