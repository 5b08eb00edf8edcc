//! Responses of the API, in JSON.

use crate::protocol::AdminReply;
use crate::protocol::monitoring::InspectReport;
use bytes::Bytes;
use myriad_exchange::ranking::REASONS;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::Request;

/// Returns replies as an object whose member `name` is the list: `{"pages":[…],"next":"…"}`. An error gives status 400;
/// after other replies 500, with these replies.
pub(crate) fn list_answer(name: &str, replies: Vec<AdminReply>) -> PhaseStep {
    let (mut items, mut next) = (Vec::new(), None);
    for reply in replies {
        match reply {
            AdminReply::End(end) => next = end.next,
            // The results before the error are included: a purge that was executed is not undone.
            AdminReply::Error(why) => return list_error(&why, name, &items),
            item => items.push(item.json()),
        }
    }
    let next = next.map(|next| format!(",\"next\":{}", AdminReply::Error(next).json())).unwrap_or_default();
    json_answer(200, format!("{{\"{name}\":[{}]{next}}}\n", items.join(",")))
}

/// Returns the response for the first reply: its JSON, or status 400 if it is an error. Further replies (the end) are
/// ignored; without any reply the status is 500.
pub(crate) fn single_answer(replies: Vec<AdminReply>) -> PhaseStep {
    match replies.into_iter().next() {
        Some(AdminReply::Error(why)) => ApiRejection::new(400, &why).answer(),
        Some(reply) => json_answer(200, reply.json() + "\n"),
        None => PhaseStep::Error(500),
    }
}

/// Returns the response with the report of an inspection (explanation of a request).
pub(crate) fn inspection_answer(report: &InspectReport) -> PhaseStep {
    json_answer(200, serde_json::to_string(report).unwrap_or_default() + "\n")
}

/// Returns an object with the meaning of each reason why a response was not a cache hit, by keyword.
pub(crate) fn reasons_answer() -> PhaseStep {
    let each = REASONS.iter().map(|(word, text)| {
        let [word, text] = [word, text].map(|text| AdminReply::Error((*text).to_owned()).json());
        format!("{word}:{text}")
    });
    json_answer(200, format!("{{\"reasons\":{{{}}}}}\n", each.collect::<Vec<_>>().join(",")))
}

fn list_error(why: &str, name: &str, items: &[String]) -> PhaseStep {
    if items.is_empty() {
        return ApiRejection::new(400, why).answer();
    }
    let why = AdminReply::Error(why.to_owned()).json();
    json_answer(500, format!("{{\"error\":{why},\"{name}\":[{}]}}\n", items.join(",")))
}

/// Rejection of an API request: status and error text.
pub(crate) struct ApiRejection {
    status: u16,
    why: String,
    /// Value of the header `Allow`; `None` unless the method was rejected.
    allowed: Option<&'static str>,
}

impl ApiRejection {
    /// Creates a rejection with a status and a reason.
    pub(crate) fn new(status: u16, why: &str) -> Self {
        Self { status, why: why.to_owned(), allowed: None }
    }

    /// Creates a rejection of the method with status 405; `allowed` lists the permitted methods.
    pub(crate) fn method(allowed: &'static str) -> Self {
        Self { allowed: Some(allowed), ..Self::new(405, &format!("use {allowed}")) }
    }

    /// Returns the status and the error text.
    pub(crate) fn reason(&self) -> (u16, &str) {
        (self.status, &self.why)
    }

    /// Returns the response for the client.
    pub(crate) fn answer(self) -> PhaseStep {
        let why = AdminReply::Error(self.why).json();
        let mut step = json_answer(self.status, format!("{{\"error\":{why}}}\n"));
        if let (PhaseStep::Answer(answer), Some(allowed)) = (&mut step, self.allowed) {
            answer.field(b"Allow", allowed.as_bytes());
        }
        step
    }
}

/// Logs and returns the rejection of a request whose host is neither a name nor an address of this server.
pub(crate) fn unknown_host(request: &Request, directive: &str) -> ApiRejection {
    request.log(
        LogLevel::Error,
        format_args!(
            "{directive} forbidden: the host is not a name of the server; use a name of \"server_name\" or a loopback address"
        ),
    );
    ApiRejection::new(403, "the host is neither a loopback address nor a name of the server")
}

/// Returns a response with a status and a JSON text as body, which may be empty.
pub(super) fn json_answer(status: u16, text: String) -> PhaseStep {
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(b"application/json"[..].into());
    // The response is valid only at this moment, and must not be used by scripts of other sites.
    answer.field(b"Cache-Control", b"no-store");
    answer.field(b"X-Content-Type-Options", b"nosniff");
    PhaseStep::Answer(answer)
}
