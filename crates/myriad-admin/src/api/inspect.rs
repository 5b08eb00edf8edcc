//! `inspect`: explains how a request is routed through the running configuration, and lists the pages stored for it.

use std::sync::Arc;

use crate::protocol::monitoring::{InspectReport, InspectedLine};
use crate::protocol::{AdminReply, AdminRequest as Asked, PageRequest};
use myriad_conf::{SourceFile, directive_at, position_text};
use myriad_exchange::exchange::{Exchange, ExplainedDecision, ExplainedRequest, PhaseStep};

use super::admission::RequestPermit;
use super::answer::{self, ApiRejection};
use super::arguments::Arguments;
use super::call::ApiCall;
use super::scope::ApiScope;
use crate::admin::Administrator;

/// Methods of an inspected request. The request is not executed, so methods that change data are permitted too.
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PUT", "DELETE"];
/// Query arguments that set headers of the inspected request: argument and header.
const FIELDS: [(&str, &str); 4] = [
    ("cookie", "Cookie"),
    ("accept_encoding", "Accept-Encoding"),
    ("accept_language", "Accept-Language"),
    ("user_agent", "User-Agent"),
];

/// Parses the query arguments of an inspection. Returns an error text for the client if `url` is missing, or an
/// argument is unknown or invalid.
pub(super) fn parse_call(arguments: &[u8]) -> Result<ApiCall, String> {
    let names: Vec<&str> = ["url", "method"].into_iter().chain(FIELDS.map(|(name, _)| name)).collect();
    let mut arguments = Arguments::parse(arguments, &names)?;
    let url = arguments.take("url").ok_or("\"url\" is missing; specify a URL or a path")?;
    let mut question = ExplainedRequest::of_url(&url)?;
    if let Some(method) = arguments.take("method") {
        if !METHODS.contains(&method.as_str()) {
            return Err(format!("\"method\" must be one of {}", METHODS.join(", ")));
        }
        question.method = method;
    }
    for (argument, field) in FIELDS {
        if let Some(value) = arguments.take(argument) {
            question.fields.push((field.to_owned(), value));
        }
    }
    let host = question.host.iter().map(String::as_str);
    let texts =
        host.chain([&*question.target]).chain(question.fields.iter().map(|(_, value)| value.as_str()));
    // Control characters are rejected, as in a received request.
    if texts.into_iter().any(|text| text.bytes().any(|byte| byte < b' ' || byte == 0x7f)) {
        return Err("URLs and headers must not contain control characters".to_owned());
    }
    Ok(ApiCall::Inspect(question, url))
}

/// Performs an inspection (explains the routing of a request) on a separate thread. Values of query arguments of stored
/// pages are hidden unless the client is `proven` (authenticated by a secret, a password or `auth_request`). The status
/// is 403 if the API is restricted to one zone, 503 for too many concurrent requests, 400 if the request cannot be
/// explained, and 500 after a panic.
pub(super) async fn inspect(
    exchange: &mut Exchange,
    question: ExplainedRequest,
    url: String,
    scope: &ApiScope,
    proven: bool,
) -> PhaseStep {
    if let Some(zone) = &scope.zone {
        return ApiRejection::new(403, &format!("this API is restricted to the zone \"{zone}\"")).answer();
    }
    let Some(turn) = RequestPermit::try_acquire() else {
        return ApiRejection::new(503, "too many concurrent requests; try again later").answer();
    };
    let site = &exchange.request.site;
    let (runtime, engine) = (Arc::clone(&site.runtime), site.engine);
    let sources = Arc::clone(&site.worker.observation.shared.sources.lock());
    let inspected = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let lines = engine.explain(&runtime, &question)?;
        let mut report = report(&lines, &sources);
        let request =
            Asked::Page(PageRequest { page: stored_url(&url, &question, &report), zone: None, body: false });
        Administrator::new(&runtime).answer(&request, &mut |reply| {
            if let AdminReply::Page(page) = reply {
                report.stored.push(*page);
            }
            true
        });
        if !proven {
            report.hide_values();
        }
        Ok::<_, String>(InspectReport { url, method: question.method, ..report })
    });
    match inspected.await {
        Ok(Ok(report)) => answer::inspection_answer(&report),
        Ok(Err(why)) => ApiRejection::new(400, &why).answer(),
        Err(_) => PhaseStep::Error(500),
    }
}

/// Returns the URL whose stored pages are listed: the inspected URL. If that is only a path, returns an `http` URL of
/// the path and the name of the server that was selected for it.
fn stored_url(url: &str, question: &ExplainedRequest, report: &InspectReport) -> String {
    match (&question.host, &report.server) {
        (None, Some(server)) => format!("http://{server}{}", question.target),
        _ => url.to_owned(),
    }
}

fn report(lines: &[ExplainedDecision], sources: &[SourceFile]) -> InspectReport {
    let mut report = InspectReport::default();
    for line in lines {
        let text = match line.span {
            Some(span) if line.text.is_empty() => directive_at(sources, span),
            _ => line.text.clone(),
        };
        let outcome = || Some(line.outcome.clone());
        match (line.topic, line.text.as_str()) {
            ("server", name) => report.server = Some(name.to_owned()),
            ("location", "none") => {}
            ("location", name) => report.location = Some(name.to_owned()),
            ("cache", "key") => report.key = outcome(),
            ("cache", "read") => report.read = outcome(),
            ("cache", "store") => report.store = outcome(),
            ("cache", zone) => {
                report.zone = zone.strip_prefix("zone ").map(str::to_owned).or(report.zone.take());
            }
            _ => {}
        }
        let at = line.span.and_then(|span| position_text(sources, span));
        report.lines.push(InspectedLine {
            topic: line.topic.to_owned(),
            text,
            outcome: line.outcome.clone(),
            at,
        });
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_about_is_checked() {
        let why = |arguments: &[u8]| parse_call(arguments).err().unwrap_or_default();
        assert!(why(b"").contains("\"url\" is missing"));
        assert!(why(b"url=a").contains("neither a URL nor a path"));
        assert!(why(b"url=/&method=TRACE").contains("one of GET"));
        assert!(why(b"url=/%0d%0aX:y").contains("control character"));
        assert!(why(b"url=/&cookie=a%0ab").contains("control character"));
        let Ok(ApiCall::Inspect(question, url)) = parse_call(b"url=https://a.test/b?c&cookie=d=e") else {
            panic!("a question");
        };
        assert_eq!(
            (url.as_str(), question.target.as_str(), question.secure),
            ("https://a.test/b?c", "/b?c", true)
        );
        assert_eq!(question.fields, [("Cookie".to_owned(), "d=e".to_owned())]);
    }
}
