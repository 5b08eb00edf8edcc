//! Responses to purges, in the formats that plugins of other caches expect.

use bytes::Bytes;
use myriad_http::Known;
use myriad_http::uri::{EscapeKind, escape};
use myriad_net::ResponseBody;

use super::settings::PurgeStyle;
use crate::purge::PurgeResult;
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::Request;
use myriad_store::page::PurgeReceipts;

/// Format of the response to a purge: that of the cache server which the client, such as a WordPress plugin, expects.
/// The status for "no page was found" applies only to the purge of a URL or a key outside of a cluster.
#[derive(Clone, Copy)]
pub(crate) enum PurgeAnswerFormat {
    /// Response of nginx's purge module in a location that purges; status 404 if no page was found.
    Location,
    /// Response of nginx's purge module to a purge method; status 412 if no page was found.
    Method,
    /// Response of Varnish; status 404 if no page was found.
    Plugin,
    /// Response of NGINX Plus: status 204, or 404 if no page was found.
    Plus,
}

impl PurgeAnswerFormat {
    /// Returns the format for a purge by method: that of Varnish if the request has `X-Purge-Method`, otherwise that of
    /// nginx's purge module.
    pub(crate) fn of_method(request: &Request) -> PurgeAnswerFormat {
        if request.received.head.fields().has(Known::XPurgeMethod) {
            PurgeAnswerFormat::Plugin
        } else {
            PurgeAnswerFormat::Method
        }
    }
}

/// Returns the response to an executed purge. `kind` is the kind of the purge, such as `url`; `key` is the text that
/// the response shows, such as the cache key. `receipts` are the confirmations of the other nodes of the cluster, which
/// are sent in the field `Cache-Purge-Cluster`; `None` outside of a cluster. Outside of a cluster, a purge of a URL or
/// key that found no page gets an error status; in a cluster, another node may have had the page.
pub(crate) fn purge_answer(
    form: PurgeAnswerFormat,
    style: PurgeStyle,
    (kind, key): (&str, &[u8]),
    outcome: PurgeResult,
    receipts: Option<&PurgeReceipts>,
) -> PhaseStep {
    let result = match outcome {
        PurgeResult::Done(0) if receipts.is_none() && matches!(kind, "url" | "key") => {
            return PhaseStep::Error(not_found_status(form));
        }
        PurgeResult::Done(count) => format!("{kind}; count={count}"),
        // More pages may be found in files of a previous process, which are still being scanned; the purge covers them
        // too.
        PurgeResult::AtLeast(count) => format!("{kind}; count={count}; recovering"),
        PurgeResult::Accepted => format!("{kind}; accepted"),
    };
    let mut answer = match form {
        PurgeAnswerFormat::Plus => ContentResponse::new(204, ResponseBody::None),
        PurgeAnswerFormat::Plugin => text(200, &format!("Purged: {result}\n")),
        PurgeAnswerFormat::Method | PurgeAnswerFormat::Location => page(style, key),
    };
    answer.field(b"Cache-Purge-Result", result.as_bytes());
    if let Some(receipts) = receipts {
        answer.field(b"Cache-Purge-Cluster", receipts.to_string().as_bytes());
    }
    PhaseStep::Answer(answer)
}

fn not_found_status(form: PurgeAnswerFormat) -> u16 {
    match form {
        PurgeAnswerFormat::Method => 412,
        PurgeAnswerFormat::Location | PurgeAnswerFormat::Plugin | PurgeAnswerFormat::Plus => 404,
    }
}

/// Returns status 400 with the reason why a purge is invalid.
pub(crate) fn invalid_purge(why: &str) -> PhaseStep {
    PhaseStep::Answer(text(400, &format!("{why}\n")))
}

/// Returns the response to a purge request that is explained to a user and not executed: status 200 without a body.
pub(crate) fn explained_purge() -> PhaseStep {
    PhaseStep::Answer(ContentResponse::new(200, ResponseBody::None))
}

fn text(status: u16, text: &str) -> ContentResponse {
    let mut answer =
        ContentResponse::new(status, ResponseBody::Full(Bytes::copy_from_slice(text.as_bytes())));
    answer.media_type = Some(b"text/plain"[..].into());
    answer
}

/// Returns a response whose body describes the purge, in the format of `cache_purge_response_type`.
fn page(style: PurgeStyle, key: &[u8]) -> ContentResponse {
    let mut page = Vec::new();
    let media_type: &[u8] = match style {
        PurgeStyle::Html => {
            page.extend_from_slice(b"<html>\n<head><title>Successful purge</title></head>\n<body>\n");
            page.extend_from_slice(b"<h1>Successful purge</h1>\n<p>Key: ");
            escape(key, EscapeKind::Html, &mut page);
            page.extend_from_slice(b"</p>\n</body>\n</html>\n");
            b"text/html"
        }
        PurgeStyle::Json => {
            page.extend_from_slice(b"{\"Key\":\"");
            let key = String::from_utf8_lossy(key);
            key.chars().for_each(|char| match char {
                '"' | '\\' => page.extend_from_slice(format!("\\{char}").as_bytes()),
                char if char < ' ' => page.extend_from_slice(format!("\\u{:04x}", char as u32).as_bytes()),
                char => page.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            });
            page.extend_from_slice(b"\"}\n");
            b"application/json"
        }
        PurgeStyle::Xml => {
            page.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<status><Key>");
            escape(
                String::from_utf8_lossy(key).replace(char::is_control, "?").as_bytes(),
                EscapeKind::Html,
                &mut page,
            );
            page.extend_from_slice(b"</Key></status>\n");
            b"text/xml"
        }
        PurgeStyle::Text => {
            page.extend_from_slice(b"Key: ");
            page.extend_from_slice(key);
            page.push(b'\n');
            b"text/plain"
        }
    };
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(media_type.into());
    answer
}
