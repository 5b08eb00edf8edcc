//! Reports of inputs that change a page although they are not in its key.

use myriad_log::LogLevel;
use myriad_net::clock::now_ms;
use myriad_policy::RequestInput;
use myriad_store::page::LeakedValue;

use super::probe::Prober;
use crate::leak_guard::findings::{self, shortened};
use myriad_exchange::exchange::Request;

pub(super) use crate::leak_guard::findings::page_name;

/// Input of a request that changes a page although it is not in the cache key, to be reported.
pub(super) struct Dependence<'a> {
    /// Cookie, header field or client address that changes the page.
    pub input: &'a RequestInput,
    /// Difference in the page; `None` if the page repeats an invented value of the input.
    pub difference: Option<String>,
    /// Validity of the page, in milliseconds.
    pub valid_ms: u64,
    /// Address of the visitor whose response differs, empty if it is unknown; `None` if only requests of the server
    /// itself were sent. After two visitors, the page is quarantined.
    pub visitor: Option<String>,
}

/// Records and logs an input that changes a page. The page is quarantined if the response to a second visitor shows it
/// too, or if the page repeats the input and its clients are connected directly: a proxy in front may set the field.
pub(super) fn report(prober: &Prober, found: &Dependence<'_>) {
    let request = &prober.exchange().request;
    let cache = prober.cached().cache;
    let (name, page) = (describe(found.input), page_name(request));
    let (what, difference) = match &found.difference {
        Some(difference) => (format!("content that depends on the {name}"), difference.as_str()),
        None => (format!("value of the request's {name} in the body"), ""),
    };
    let visitor = found.visitor.as_deref().unwrap_or_default();
    let leak = leaked_input(request, &what, visitor);
    cache.zone.leaks.add_sampled(&leak, &page, difference, false, now_ms());
    let is_quarantined = match &found.visitor {
        Some(_) => findings::confirm(request, cache, &leak, found.valid_ms),
        None if request.received.real.is_some() => false,
        None => {
            findings::confirm_alone(request, cache, &leak, found.valid_ms);
            true
        }
    };
    let effect = if is_quarantined {
        "the page is not shared for the time of its validity"
    } else {
        "the page is suspected"
    };
    let detail = found.difference.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    request.log(
        LogLevel::Error,
        format_args!(
            "leak guard: page \"{page}\" has {what}{detail}, which is not in the cache key; {effect}; {}",
            remedy(found.input)
        ),
    );
}

/// Records and logs an input that changes a page, as requests of the server itself show. The page remains shared.
pub(super) fn note_unkeyed(prober: &Prober, input: &RequestInput, difference: &str) {
    let request = &prober.exchange().request;
    let what = format!("content that depends on the {}", describe(input));
    let page = page_name(request);
    let leaks = &prober.cached().cache.zone.leaks;
    leaks.add_sampled(&leaked_input(request, &what, ""), &page, difference, true, now_ms());
    let detail = if difference.is_empty() { String::new() } else { format!(" ({difference})") };
    request.log(
        LogLevel::Warn,
        format_args!(
            "leak guard: page \"{page}\" has {what}{detail}, which is not in the cache key; the page remains shared; {}",
            remedy(input)
        ),
    );
}

/// Returns an input of a visitor as a value in the page. Two visitors have different values.
fn leaked_input<'a>(request: &'a Request, what: &'a str, visitor: &'a str) -> LeakedValue<'a> {
    LeakedValue {
        page: findings::page_of(request),
        value: visitor.as_bytes(),
        kind: "input",
        what,
        client: request.client(),
    }
}

fn describe(input: &RequestInput) -> String {
    let name = shortened(input.name());
    match input {
        RequestInput::Cookie(_) => format!("cookie \"{name}\""),
        RequestInput::Field(..) => format!("field \"{name}\""),
        RequestInput::Address => "client's address".to_owned(),
    }
}

/// Returns advice for the owner of the site: a text that describes the change by which the page no longer depends on
/// the input.
fn remedy(input: &RequestInput) -> String {
    let name = shortened(input.name());
    match input {
        RequestInput::Cookie(_) => format!(
            "add the cookie to \"personal_cookies\" if it identifies visitors, or to the key: \"cache_key_cookie {name};\""
        ),
        RequestInput::Field(name, _) if name.eq_ignore_ascii_case(b"user-agent") => {
            "send \"Vary: User-Agent\" and set \"cache_device_class on;\"".to_owned()
        }
        RequestInput::Field(..) => format!(
            "send \"Vary: {name}\", add the field to the key: \"cache_key_field {name};\", or do not forward it"
        ),
        RequestInput::Address => {
            "send \"Cache-Control: private\", or do not show content by address".to_owned()
        }
    }
}
