//! What is answered to a purge: each of the servers that plugins were written for has its own words.

use bytes::Bytes;
use myriad_http::Known;
use myriad_http::uri::{Escape, escape};
use myriad_net::ResponseBody;

use crate::content::Step;
use crate::exchange::Request;
use crate::output::Answer;
use crate::purge::Outcome;

/// Whose words.
pub(super) enum Form {
    /// The purge module's, for a location with a key, or a URL: 404 where nothing was there.
    Key(Vec<u8>),
    /// The purge module's, for a method: 412 where nothing was there.
    Module,
    /// Those of plugins for Varnish: 404 where nothing was there.
    Plugin,
    /// Those of NGINX Plus: 204, and 404 where nothing was there.
    Plus,
}

impl Form {
    /// The form for a request that purges by its method.
    pub(super) fn of_method(request: &Request) -> Form {
        if request.head.fields().has(Known::XPurgeMethod) { Form::Plugin } else { Form::Module }
    }
}

/// The answer to a purge that was made.
pub(super) fn made(form: &Form, kind: &str, outcome: Outcome) -> Step {
    let result = match outcome {
        Outcome::Done(0) if matches!(kind, "url" | "key") => return Step::Error(missing(form)),
        Outcome::Done(count) | Outcome::AtLeast(count) => format!("{kind}; count={count}"),
        Outcome::Accepted => format!("{kind}; accepted"),
    };
    let mut answer = match form {
        Form::Plus => Answer::new(204, ResponseBody::None),
        Form::Plugin | Form::Module => text(200, &format!("Purged: {result}\n")),
        Form::Key(key) => page(key),
    };
    answer.field(b"Cache-Purge-Result", result.as_bytes());
    Step::Answer(answer)
}

fn missing(form: &Form) -> u16 {
    match form {
        Form::Module => 412,
        Form::Key(_) | Form::Plugin | Form::Plus => 404,
    }
}

/// A purge that cannot be: 400 and why.
pub(super) fn invalid(why: &str) -> Step {
    Step::Answer(text(400, &format!("{why}\n")))
}

/// The answer to a purge that was not made.
pub(super) fn explained() -> Step {
    Step::Answer(Answer::new(200, ResponseBody::None))
}

fn text(status: u16, text: &str) -> Answer {
    let mut answer = Answer::new(status, ResponseBody::Full(Bytes::copy_from_slice(text.as_bytes())));
    answer.media_type = Some(b"text/plain"[..].into());
    answer
}

fn page(key: &[u8]) -> Answer {
    let mut page =
        b"<html>\n<head><title>Successful purge</title></head>\n<body>\n<h1>Successful purge</h1>\n".to_vec();
    page.extend_from_slice(b"<p>Key: ");
    escape(key, Escape::Html, &mut page);
    page.extend_from_slice(b"</p>\n</body>\n</html>\n");
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(b"text/html"[..].into());
    answer
}
