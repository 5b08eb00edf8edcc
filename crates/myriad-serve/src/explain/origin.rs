//! What an origin would be asked, and what the cache in front of it would do.

use std::rc::Rc;

use myriad_http::{Known, Method};
use myriad_net::ResponseBody;
use myriad_policy::{BypassReason, RequestFacts, StatusMatch, bypass};
use myriad_script::Template;

use super::{Trace, compression};
use crate::content::{Step, page_key};
use crate::exchange::Exchange;
use crate::output::Answer;
use crate::runtime::{CachePlace, OriginPlace, Target};

/// Says what the origin of the place would be asked, and stops there.
pub(crate) fn origin(exchange: &mut Exchange, origin: &OriginPlace) -> Step {
    let Some(trace) = exchange.request.trace.clone() else { return Step::Error(500) };
    trace.leave_to_an_origin();
    let site = Rc::clone(&exchange.request.site);
    let label = site.runtime.atlas.places.get(exchange.request.place as usize);
    let handler = label.map_or("", |label| label.handler.as_str());
    let target = match &origin.target {
        Target::Group(_) => String::new(),
        Target::Variable(template) => value(exchange, template),
    };
    trace.note("content", handler, target, None);
    for param in origin.params.iter().filter(|param| *param.name == *b"SCRIPT_FILENAME") {
        let script = value(exchange, &param.value);
        let is_there = if std::path::Path::new(&script).exists() { "" } else { "there is no such file here" };
        trace.note("script", script, is_there.to_owned(), None);
    }
    match origin.cache.fixed() {
        Some(cache) => explain_cache(exchange, origin, cache, &trace),
        None => trace.note("cache", "none here: every request reaches the origin", String::new(), None),
    }
    compression::explain(exchange, &trace, Some(b"text/html"));
    Step::Answer(Answer::new(200, ResponseBody::None))
}

fn value(exchange: &mut Exchange, template: &Template) -> String {
    let Exchange { request, frame } = exchange;
    let mut out = Vec::new();
    match template.eval(request, frame, &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(error) => format!("({error})"),
    }
}

fn explain_cache(exchange: &mut Exchange, origin: &OriginPlace, cache: &CachePlace, trace: &Rc<Trace>) {
    let site = Rc::clone(&exchange.request.site);
    let say = |text: String, outcome: String| trace.note("cache", text, outcome, None);
    say(format!("zone {}", cache.zone.zone.name()), String::new());
    exchange.request.as_get |= exchange.request.head.method() == Method::Head && cache.convert_head;
    match page_key::of(exchange, cache) {
        Ok(key) => say("key".to_owned(), String::from_utf8_lossy(&key).replace('\0', "\\0")),
        Err(error) => say("key".to_owned(), format!("({error})")),
    }
    let label = site.runtime.atlas.places.get(exchange.request.place as usize);
    let conditions = |texts: fn(&crate::runtime::Label) -> &Vec<(String, Template)>| {
        label.map(texts).into_iter().flatten()
    };
    let mut holds = None;
    for (text, template) in conditions(|label| &label.bypass) {
        let now = value(exchange, template);
        if holds.is_none() && !now.is_empty() && now != "0" {
            holds = Some(format!("{text} is \"{now}\""));
        }
    }
    let request = &exchange.request;
    let facts = RequestFacts {
        method: request.head.method(),
        fields: request.head.fields(),
        has_body: !request.body.is_empty(),
        cache_bypass: holds.is_some(),
    };
    let reason = bypass(&facts, &cache.rules);
    say(
        "read".to_owned(),
        reason.map_or_else(
            || "yes".to_owned(),
            |reason| format!("no: {}", why(exchange, cache, reason, holds.as_deref())),
        ),
    );
    let no_cache = {
        let mut found = None;
        for (text, template) in conditions(|label| &label.no_cache) {
            let now = value(exchange, template);
            if found.is_none() && !now.is_empty() && now != "0" {
                found = Some(format!("*_no_cache: {text} is \"{now}\""));
            }
        }
        found
    };
    let refused = match reason.filter(|reason| !reason.may_store()) {
        Some(reason) => Some(why(exchange, cache, reason, holds.as_deref())),
        None => no_cache,
    };
    let may_be_stored = refused.is_none();
    say("store".to_owned(), refused.map_or_else(|| stores(cache), |why| format!("no: {why}")));
    if may_be_stored {
        let unless =
            "it sets a cookie, is private, or X-Accel-Expires, Cache-Control or Expires say otherwise";
        say("unless".to_owned(), unless.to_owned());
    }
    if !origin.buffering {
        say("buffering off".to_owned(), "the answer is streamed".to_owned());
    }
}

/// A reason for people: which cookie, which condition.
fn why(exchange: &Exchange, cache: &CachePlace, reason: BypassReason, condition: Option<&str>) -> String {
    let fields = exchange.request.head.fields();
    match reason {
        BypassReason::PersonalCookie => {
            let personal = &cache.rules.personal;
            let name =
                fields.known_all(Known::Cookie).find_map(|value| personal.matches_cookie_header(value));
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            format!("the cookie {name} is personal (see personal_cookies)")
        }
        BypassReason::Condition => format!("*_cache_bypass: {}", condition.unwrap_or_default()),
        BypassReason::Method => format!(
            "the method {} is not among *_cache_methods",
            String::from_utf8_lossy(exchange.request.head.method_bytes())
        ),
        BypassReason::Authorization => {
            "the request has Authorization, and the key does not hold it".to_owned()
        }
        BypassReason::Body => "the request has a body".to_owned(),
        BypassReason::Upgrade => "the request wants another protocol".to_owned(),
    }
}

/// For how long which answers are stored.
fn stores(cache: &CachePlace) -> String {
    let rules = &cache.rules;
    let told = |at: usize| cache.valid_texts.as_ref().is_some_and(|texts| texts[at].is_some());
    let each = rules.valid.iter().enumerate().map(|(at, valid)| {
        let status = match valid.status {
            StatusMatch::Any => "any below 500".to_owned(),
            StatusMatch::Code(code) => code.to_string(),
        };
        let time = if told(at) { "as long as a variable says".to_owned() } else { duration(valid.ms) };
        format!("{status} for {time}")
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let each = if each.is_empty() { "what the answer itself gives a time".to_owned() } else { each };
    let uses =
        if rules.min_uses > 1 { format!(", from request {} on", rules.min_uses) } else { String::new() };
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
