//! What the server of a request thinks of its client's certificate.

use myriad_net::tls::Judgement;

use super::Request;

/// The certificate by the rules of the request's own server, none where none was shown. A connection remembers what was
/// thought of it last: requests of one connection mostly ask one server.
pub(crate) fn judge(request: &Request) -> Option<Judgement> {
    let facts = request.connection.tls()?;
    if facts.certificates.is_empty() {
        return None;
    }
    let Some(rules) = &request.server().clients else {
        // It was shown to another server, which it had to convince before.
        let before = facts.judged.get().map(|(_, judgement)| judgement);
        return Some(before.unwrap_or(Err((20, "unable to get local issuer certificate"))));
    };
    if let Some((id, judgement)) = facts.judged.get()
        && id == rules.id
    {
        return Some(judgement);
    }
    let judgement = rules.judge(&facts.certificates).map_err(|error| (error.code(), error.as_str()));
    facts.judged.set(Some((rules.id, judgement)));
    Some(judgement)
}
