//! Explanation of a request (`--explain`): reports the request that the origin would get, the decisions of the cache,
//! and the step before which the explanation stops because the step would have an effect.

use std::cell::RefCell;
use std::rc::Rc;

use myriad_policy::{BypassReason, CacheStatus, StatusMatch, personal_cookie};
use myriad_script::Template;

use crate::esi;
use crate::journey_step::{CacheContext, JourneyStep, PassReason, RefreshReason};
use crate::share;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{DecisionSink, Exchange, ExplainedDecision, Request};
use myriad_exchange::runtime::{CachePlace, OriginLabel, OriginPlace, OriginTarget};

/// Reports the handler of the location, the target of the origin (empty for an upstream group), and the scripts that
/// the origin would execute. Does nothing for a request that is not explained.
pub(crate) fn content(exchange: &mut Exchange, origin: &OriginPlace) {
    let Some(sink) = exchange.request.received.sink.clone() else { return };
    let handler = label(&exchange.request).map_or("", |label| label.handler.as_str()).to_owned();
    let target = match &origin.target {
        OriginTarget::Group(_) => String::new(),
        OriginTarget::Variable(template) => value(exchange, template),
    };
    sink.note("content", handler, target, None);
    for script in origin.protocol.scripts() {
        let script = value(exchange, script);
        let is_there = if std::path::Path::new(&script).exists() { "" } else { "this file does not exist" };
        sink.note("script", script, is_there, None);
    }
}

/// Reports in the explanation that the request may read the cache, and its cache key.
#[inline]
pub(crate) fn read(request: &Request, cache: &CachePlace) {
    if let Some(sink) = &request.received.sink {
        zone(&**sink, cache);
        key(&**sink, request);
        sink.note("cache", "read", "yes", None);
    }
}

/// Reports in the explanation that the request may not read the cache, and the reason. The cache key is only reported
/// if the response may be stored.
pub(crate) fn bypassed(exchange: &mut Exchange, cache: &CachePlace, reason: BypassReason) {
    let Some(sink) = exchange.request.received.sink.clone() else { return };
    zone(&*sink, cache);
    if reason.may_store() {
        key(&*sink, &exchange.request);
    }
    let why = why(exchange, cache, reason);
    sink.note("cache", "read", format!("no: {why}"), None);
}

/// Explains the request of a known visitor (`esi_known_cookies`), for which the cache is read as for an anonymous
/// visitor.
pub(crate) fn known(exchange: &mut Exchange, cached: CacheContext<'_>) -> PhaseStep {
    let Some(sink) = exchange.request.received.sink.clone() else { return stopped(exchange) };
    let lines = Rc::new(CacheLines::default());
    let shared: Rc<dyn DecisionSink> = Rc::clone(&lines) as _;
    let is_served = esi::explain(exchange, &cached.cache.rules.shared_fetch, &shared);
    let lines = lines.0.take();
    let has_read = lines.iter().any(|line| line.text == "read" && line.outcome == "yes");
    let read = match is_served {
        Some(true) => "yes: the page for anonymous visitors, with the fragments of this visitor",
        None if has_read => {
            "yes, if the origin has marked the page for known visitors (see esi_known_cookies); otherwise the request is \
                 sent to the origin"
        }
        None | Some(false) => {
            exchange.request.cache.report.status = Some(CacheStatus::Bypass);
            zone(&*sink, cached.cache);
            let why = why(exchange, cached.cache, BypassReason::PersonalCookie);
            let read = format!(
                "no: {why}, and no page is cached that known visitors get without a comparison by the origin"
            );
            sink.note("cache", "read", read, None);
            return stop(exchange, cached, &JourneyStep::Pass(PassReason::NotCut));
        }
    };
    for line in lines {
        let outcome = if line.text == "read" { read.to_owned() } else { line.outcome };
        sink.note(line.topic, line.text, outcome, line.span);
    }
    stopped(exchange)
}

/// Lines about the cache, collected from the anonymous request within the explanation of a known visitor's request.
#[derive(Default)]
struct CacheLines(RefCell<Vec<ExplainedDecision>>);

impl DecisionSink for CacheLines {
    fn take(&self, line: ExplainedDecision) {
        if line.topic == "cache" {
            self.0.borrow_mut().push(line);
        }
    }
}

fn zone(sink: &dyn DecisionSink, cache: &CachePlace) {
    sink.note("cache", format!("zone {}", cache.zone.zone.name()), "", None);
}

fn key(sink: &dyn DecisionSink, request: &Request) {
    let key = String::from_utf8_lossy(&request.cache.key).replace('\0', "\\0");
    sink.note("cache", "key", key, None);
}

/// Reports that the location has no cache, and returns the step that stops the explanation.
pub(crate) fn uncached(exchange: &Exchange) -> PhaseStep {
    if let Some(sink) = &exchange.request.received.sink {
        sink.note("cache", "not configured: every request is sent to the origin", "", None);
    }
    stopped(exchange)
}

/// Reports the effect of the next step, which is not executed, and stops the explanation. If the request is the
/// anonymous request for a known visitor, and its page is on disk and not for known visitors, returns an error with the
/// status [`esi::USELESS_FETCH`] instead.
pub(crate) fn stop(exchange: &mut Exchange, cached: CacheContext<'_>, next: &JourneyStep) -> PhaseStep {
    let Some(sink) = exchange.request.received.sink.clone() else { return stopped(exchange) };
    if let JourneyStep::Open(page, _) = next
        && exchange.request.cache.lookup.stored_only
        && !esi::is_for_known(page)
    {
        return PhaseStep::Error(esi::USELESS_FETCH);
    }
    let note_cache = |text: &str, outcome: String| sink.note("cache", text, outcome, None);
    let cache = cached.cache;
    let refused = match next {
        JourneyStep::Claim(_) | JourneyStep::Lead(_) => no_cache_condition(exchange, cache),
        JourneyStep::Pass(PassReason::Seldom) => None,
        JourneyStep::Pass(reason) => Some(not_stored(exchange, cache, *reason)),
        JourneyStep::PassBody(_) => Some("the body is too long to be part of the key".to_owned()),
        other => {
            note_cache("page", effect(other).to_owned());
            return stopped(exchange);
        }
    };
    if let Some(why) = refused {
        note_cache("store", format!("no: {why}"));
    } else {
        let unless =
            "it sets a cookie, is private, or is excluded by X-Accel-Expires, Cache-Control or Expires";
        note_cache("store", stores(&exchange.request, cache));
        note_cache("unless", unless.to_owned());
    }
    if !cached.origin.ahead.on {
        note_cache("buffering off", "the response is streamed".to_owned());
    }
    stopped(exchange)
}

/// Reports the filters and content codings of the response, as the last part of the explanation. Returns a step that is
/// never executed.
fn stopped(exchange: &Exchange) -> PhaseStep {
    // The content codings are reported for HTML, the most common media type.
    myriad_output::explain(exchange, Some(b"text/html"));
    PhaseStep::wait(async |_: &mut Exchange| PhaseStep::Error(500))
}

/// Describes the effect of a step that waits for the request body, the disk or another request, or refreshes a page;
/// empty for other steps.
fn effect(next: &JourneyStep) -> &'static str {
    match next {
        JourneyStep::Gather => "looked up when the body has been received, because the key may contain it",
        JourneyStep::Load(_) | JourneyStep::Read(_) => "looked up when its file has been read",
        JourneyStep::Open(..) => "served from its file",
        JourneyStep::Refresh(_, RefreshReason::Early) => "served, and refreshed before it expires",
        JourneyStep::Refresh(_, RefreshReason::Stale) => "served stale, and refreshed in the background",
        JourneyStep::Follow(_) => "waits for the fetch in flight",
        _ => "",
    }
}

/// Returns the condition by which `*_no_cache` prevents that the response is stored; `None` if it does not.
fn no_cache_condition(exchange: &mut Exchange, cache: &CachePlace) -> Option<String> {
    // A condition that cannot be evaluated prevents storing.
    let is_excluded = share::is_storing_prevented(exchange, cache).unwrap_or(true);
    is_excluded.then(|| format!("*_no_cache: {}", true_condition(exchange, |label| &label.no_cache)))
}

/// Returns the reason why the response to a request that is passed to the origin is not stored.
fn not_stored(exchange: &mut Exchange, cache: &CachePlace, reason: PassReason) -> String {
    let text = match reason {
        PassReason::Bypass(reason) => return why(exchange, cache, reason),
        PassReason::Unstored => match no_cache_condition(exchange, cache) {
            Some(why) => return why,
            None => "the request may change data, and contains headers that a shared fetch does not send",
        },
        PassReason::HiddenFields => "Connection names headers, which are not forwarded to the origin",
        PassReason::FarRange => "the range begins beyond *_cache_max_range_offset",
        PassReason::Piece => "the page under the key is a slice of a response (slice)",
        PassReason::LockTimeout => "waiting for the page timed out (*_cache_lock_timeout)",
        PassReason::NotCut => "the visitor is known, and the page has no fragments for this visitor",
        PassReason::NotShared | PassReason::Seldom => "the response is private to this visitor",
    };
    text.to_owned()
}

fn label(request: &Request) -> Option<&OriginLabel> {
    request.runtime().positions.places.get(request.route.place as usize)?.origin.as_deref()
}

/// Returns a text with the first condition of a directive that is true (its value is neither empty nor `0`), and with
/// its value; an empty text if no condition is true.
fn true_condition(exchange: &mut Exchange, texts: fn(&OriginLabel) -> &Vec<(String, Template)>) -> String {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let label = site.runtime.positions.places.get(exchange.request.route.place as usize);
    let label = label.and_then(|label| label.origin.as_deref());
    for (text, template) in label.map(texts).into_iter().flatten() {
        let now = value(exchange, template);
        if !now.is_empty() && now != "0" {
            return format!("{text} is \"{now}\"");
        }
    }
    String::new()
}

fn value(exchange: &mut Exchange, template: &Template) -> String {
    let Exchange { request, frame } = exchange;
    let mut out = Vec::new();
    match template.eval(request, frame, &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(error) => format!("({error})"),
    }
}

/// Returns a readable reason why the cache is bypassed, with the cookie or the condition that causes it.
fn why(exchange: &mut Exchange, cache: &CachePlace, reason: BypassReason) -> String {
    if reason == BypassReason::Condition {
        return format!("*_cache_bypass: {}", true_condition(exchange, |label| &label.bypass));
    }
    let fields = exchange.request.received.head.fields();
    match reason {
        BypassReason::PersonalCookie => {
            let name = personal_cookie(fields, &cache.rules);
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            format!("the cookie {name} is personal (see personal_cookies)")
        }
        BypassReason::Condition => String::new(),
        BypassReason::Method => format!(
            "the method {} is not among *_cache_methods",
            String::from_utf8_lossy(exchange.request.received.head.method_bytes())
        ),
        BypassReason::Authorization => {
            "the request has an Authorization header, and the key does not contain it".to_owned()
        }
        BypassReason::Body => "the request has a body".to_owned(),
        BypassReason::Upgrade => "the request upgrades to another protocol".to_owned(),
    }
}

/// Returns a text with the statuses that the location stores for the request, and their lifetimes. A request that uses
/// the cache by `*_cache_share` gets no lifetime from the configuration.
fn stores(request: &Request, cache: &CachePlace) -> String {
    let rules = &cache.rules;
    let valid = if request.cache.shared_by_condition { &[][..] } else { &rules.valid[..] };
    let has_template = |at: usize| cache.valid_texts.as_ref().is_some_and(|texts| texts[at].is_some());
    let each = valid.iter().enumerate().map(|(at, valid)| {
        let status = match valid.status {
            StatusMatch::Any => "any below 500 (except errors of the request, such as 400)".to_owned(),
            StatusMatch::Code(code) => code.to_string(),
        };
        let time = if has_template(at) { "the time in a variable".to_owned() } else { duration(valid.ms) };
        format!("{status} for {time}")
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let each = if each.is_empty() { "responses that specify a lifetime".to_owned() } else { each };
    let uses = if rules.min_uses > 1 {
        format!(", from request number {} on", rules.min_uses)
    } else {
        String::new()
    };
    format!("yes: {each}{uses}")
}

fn duration(ms: u64) -> String {
    match ms {
        0 => "no time".to_owned(),
        ms if ms % 86_400_000 == 0 => format!("{}d", ms / 86_400_000),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rendered_in_largest_exact_unit() {
        for (ms, text) in [
            (0, "no time"),
            (1, "1ms"),
            (1000, "1s"),
            (90_000, "90s"),
            (3_600_000, "1h"),
            (172_800_000, "2d"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }
}
