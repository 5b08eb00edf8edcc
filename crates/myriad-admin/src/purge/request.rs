//! Purges by HTTP requests: to a location that only purges (`*_cache_purge ZONE KEY`), or with a purge method to a
//! cached location or its server.

use std::sync::Arc;

use myriad_http::{Known, Method, ResponseHead};
use myriad_log::LogLevel;
use myriad_policy::{PurgeCommand, PurgeTarget, litespeed, parse_purge};
use myriad_script::{EvalError, Frame};

use super::access;
use super::access::PurgeReach;
use super::answer;
use super::answer::PurgeAnswerFormat;
use super::place::{PurgeBy, PurgePlace};
use super::style::style_of;
use crate::purge::{self, PurgeFailure};
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, Handler, MethodHandler, Request};
use myriad_exchange::keys::page_key;
use myriad_exchange::runtime::{CachePlace, PurgeRules, PurgeWhen};
use myriad_store::page::key;
use myriad_store::page::{PageZone, PurgeSource};

/// Purge that an HTTP request describes, before its execution.
pub struct RequestedPurge {
    zones: Vec<Arc<PageZone>>,
    commands: Vec<PurgeCommand>,
    /// Cache keys whose pages are purged in addition to those of `commands`.
    keys: Vec<Vec<u8>>,
    form: PurgeAnswerFormat,
    /// Text that the response shows as the key of the purge; if empty, the description of `commands`.
    shown: Vec<u8>,
}

/// Returns whether `rules` make a request a purge request: by its method, or by a true condition. Returns an error if a
/// condition cannot be evaluated.
pub fn is_purge_request(request: &Request, frame: &mut Frame, rules: &PurgeRules) -> Result<bool, EvalError> {
    match &rules.when {
        PurgeWhen::Methods(methods) => Ok(has_listed_method(request, methods)),
        PurgeWhen::Conditions(conditions) => conditions.any_true(request, frame),
    }
}

fn has_listed_method(request: &Request, methods: &[Box<[u8]>]) -> bool {
    methods.iter().any(|method| request.received.head.method_bytes() == &**method)
}

/// Returns whether the request's method is one by which any location of its server purges.
fn is_purge(request: &Request) -> bool {
    request
        .site
        .runtime
        .server(request.route.server)
        .purges
        .iter()
        .any(|purge| has_listed_method(request, &purge.methods))
}

/// Purge that a request describes, or the reason why it is invalid.
pub type PurgeRequestResult = Result<PurgeCommand, &'static str>;

fn requested_purge(request: &Request) -> PurgeRequestResult {
    parse_purge(request.sent_uri().unwrap_or(b"/"), &request.route.host, request.received.head.fields())
}

/// Returns the purge that a request with a purge method describes, or why it is invalid; `None` for other methods, and
/// for the purge of a single URL. A purge of several URLs is not routed to a location, because location rules against
/// paths that start with a dot would reject `PURGE /.*`.
pub fn multiple_purge(request: &Request) -> Option<PurgeRequestResult> {
    let is_url = |wanted: &PurgeRequestResult| {
        matches!(wanted, Ok(PurgeCommand { what: PurgeTarget::Url { .. }, .. }))
    };
    is_purge(request).then(|| requested_purge(request)).filter(|wanted| !is_url(wanted))
}

/// Handler of purge methods in locations without a cache, such as those of files: another location may have cached the
/// URL.
pub struct ServerPurges;

impl MethodHandler for ServerPurges {
    fn takes(&self, request: &Request) -> bool {
        is_purge(request)
    }

    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        let wanted = requested_purge(&exchange.request);
        purge_server_zones(exchange, wanted)
    }
}

/// Executes a purge in all cache zones of the server that the request's method purges and in which the client may
/// purge. Returns 403 if there are none, and 400 for an invalid purge.
pub fn purge_server_zones(exchange: &mut Exchange, wanted: PurgeRequestResult) -> PhaseStep {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let request = &exchange.request;
    let purges = site.runtime.server(request.route.server).purges.iter();
    let mut zones: Vec<Arc<PageZone>> = Vec::new();
    let mut forbidden = None;
    for purge in purges.filter(|purge| has_listed_method(request, &purge.methods)) {
        match access::check_purge_access(request, purge.from.as_deref(), PurgeReach::Any) {
            Err(why) => forbidden = Some(why),
            Ok(()) if zones.iter().any(|zone| Arc::ptr_eq(zone, &purge.zone)) => {}
            Ok(()) => zones.push(Arc::clone(&purge.zone)),
        }
    }
    if zones.is_empty() {
        return forbidden.map_or(PhaseStep::Error(403), |why| access::deny_purge(request, why));
    }
    let form = PurgeAnswerFormat::of_method(request);
    match wanted {
        Ok(command) => execute_or_explain(
            exchange,
            RequestedPurge { zones, commands: vec![command], keys: Vec::new(), form, shown: Vec::new() },
        ),
        Err(why) => answer::invalid_purge(why),
    }
}

/// Executes a purge request to a location with a cache. Returns status 403 if the client may not purge, 400 for an
/// invalid purge, and an error if the cache key cannot be evaluated.
pub fn purge_page(
    exchange: &mut Exchange,
    cache: &CachePlace,
    rules: &PurgeRules,
) -> Result<PhaseStep, EvalError> {
    if let Err(why) = access::check_purge_access(&exchange.request, rules.from.as_deref(), PurgeReach::Any) {
        return Ok(access::deny_purge(&exchange.request, why));
    }
    let form = match rules.when {
        PurgeWhen::Conditions(_) => PurgeAnswerFormat::Plus,
        PurgeWhen::Methods(_) => PurgeAnswerFormat::of_method(&exchange.request),
    };
    let zones = vec![Arc::clone(&cache.zone)];
    if rules.everything {
        let commands = vec![PurgeCommand::hard(PurgeTarget::All)];
        let shown = Vec::new();
        return Ok(execute_or_explain(
            exchange,
            RequestedPurge { zones, commands, keys: Vec::new(), form, shown },
        ));
    }
    let request = &exchange.request;
    let target = request.sent_uri().unwrap_or(b"/").to_vec();
    let command = match parse_purge(&target, &request.route.host, request.received.head.fields()) {
        Ok(command) => command,
        Err(why) => return Ok(answer::invalid_purge(why)),
    };
    // The key is evaluated as for a GET, so that the page stored under it is purged even if it was fetched for another
    // URL.
    exchange.request.route.as_get = true;
    let (mut keys, mut commands) = (Vec::new(), Vec::new());
    match &command.what {
        PurgeTarget::Url { .. } => keys.push(page_key::of(exchange, cache)?),
        PurgeTarget::Wildcard(_) => {
            commands.extend(prefix_purge(&page_key::of(exchange, cache)?, command.soft));
        }
        _ => {}
    }
    commands.push(command);
    let shown = keys.first().cloned().unwrap_or_default();
    Ok(execute_or_explain(exchange, RequestedPurge { zones, commands, keys, form, shown }))
}

/// Returns a purge by prefix for a key with a trailing `*`; `None` for other keys, and for `*` alone.
fn prefix_purge(key: &[u8], soft: bool) -> Option<PurgeCommand> {
    let prefix = key.strip_suffix(b"*").filter(|prefix| !prefix.is_empty())?;
    Some(PurgeCommand { what: PurgeTarget::KeyPrefix(prefix.into()), soft })
}

impl Handler for PurgePlace {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        begin(exchange, self)
    }
}

/// Executes the purge of a location with `*_cache_purge ZONE ...`, and responds whether a page was found. All variants
/// and encodings are purged, and pages that are being fetched at this moment are not stored. Returns status 403 if the
/// client may not purge, 400 if the purge is invalid, and 500 if the key or URL cannot be evaluated.
fn begin(exchange: &mut Exchange, rules: &PurgePlace) -> PhaseStep {
    let request = &exchange.request;
    // `allow` and `deny` of the location have already been evaluated.
    let ruled = request.place().entry.gate.as_ref().is_some_and(|gate| gate.rules_addresses());
    let reach = if matches!(rules.by, PurgeBy::Url(_)) { PurgeReach::OwnUrl } else { PurgeReach::Any };
    let may = if ruled {
        access::check_not_foreign_page(request, false)
    } else {
        access::check_purge_access(request, None, reach)
    };
    if request.received.sink.is_none()
        && let Err(why) = may
    {
        return access::deny_purge(request, why);
    }
    match purge_location(exchange, rules) {
        Ok(step) => step,
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            PhaseStep::Error(500)
        }
    }
}

fn purge_location(exchange: &mut Exchange, rules: &PurgePlace) -> Result<PhaseStep, EvalError> {
    let Exchange { request, frame } = exchange;
    // HEAD and GET share a page.
    request.route.as_get |= request.received.head.method() == Method::Head;
    let mut text = Vec::new();
    let (PurgeBy::Key(template) | PurgeBy::Url(template)) = &rules.by;
    template.eval(request, frame, &mut text)?;
    let command = match &rules.by {
        // A GET purges only a single URL, because it may be a link of an attacker that the application follows.
        PurgeBy::Url(_) if matches!(request.received.head.method(), Method::Get | Method::Head) => {
            PurgeCommand::hard(PurgeTarget::Url {
                host: request.route.host.as_slice().into(),
                target: text.as_slice().into(),
            })
        }
        PurgeBy::Url(_) => match parse_purge(&text, &request.route.host, request.received.head.fields()) {
            Ok(command) => command,
            Err(why) => return Ok(answer::invalid_purge(why)),
        },
        PurgeBy::Key(_) if text.ends_with(b"*") && text.len() > PurgeTarget::LONGEST_PATTERN => {
            return Ok(answer::invalid_purge("the key with a trailing * is longer than 4096 bytes"));
        }
        PurgeBy::Key(_) => {
            let key = key::named(text.clone());
            prefix_purge(&key, false)
                .unwrap_or_else(|| PurgeCommand::hard(PurgeTarget::Keys(both_keys(request, key))))
        }
    };
    let zones = vec![Arc::clone(&rules.zone)];
    Ok(execute_or_explain(
        exchange,
        RequestedPurge {
            zones,
            commands: vec![command],
            keys: Vec::new(),
            form: PurgeAnswerFormat::Location,
            shown: text,
        },
    ))
}

/// Returns the cache keys under which pages for `key` may be stored: `key`, and, if the field `Host` differs from
/// `$host` (for example by a port), `key` with that field appended.
fn both_keys(request: &Request, key: Vec<u8>) -> Vec<Box<[u8]>> {
    let mut key_with_port = key.clone();
    page_key::append_host(request, &mut key_with_port);
    let mut keys = vec![key.into_boxed_slice()];
    if key_with_port.len() > keys[0].len() {
        keys.push(key_with_port.into());
    }
    keys
}

/// Executes a purge. If the request is only explained to a user, reports the purge to the explanation and does not
/// execute it.
fn execute_or_explain(exchange: &mut Exchange, ordered: RequestedPurge) -> PhaseStep {
    let Some(sink) = &exchange.request.received.sink else {
        return PhaseStep::wait(async move |exchange| execute_purge(exchange, ordered).await);
    };
    let zones: Vec<_> = ordered.zones.iter().map(|zone| zone.zone.name()).collect();
    let what = ordered.commands.iter().map(|command| command.what.to_string());
    let keys = ordered.keys.iter().map(|key| String::from_utf8_lossy(key).into_owned());
    let text = what.chain(keys).collect::<Vec<_>>().join(", ");
    sink.note("purge", format!("zone {}", zones.join(", ")), text, None);
    answer::explained_purge()
}

/// Executes the purge in all its cache zones, waits for the receipts of their clusters, and returns the response.
async fn execute_purge(exchange: &mut Exchange, ordered: RequestedPurge) -> PhaseStep {
    let RequestedPurge { zones, commands, keys, form, mut shown } = ordered;
    let begun = purge::begin(&zones, &commands, &keys, PurgeSource::Request);
    let finished = match begun {
        Ok(begun) => purge::finish(begun).await,
        Err(error) => Err(error),
    };
    let mut completed = match finished {
        Ok(completed) => completed,
        Err(error) => return purge_error_step(exchange, &error),
    };
    let kind = commands.last().map_or("key", |command| command.what.kind());
    if shown.is_empty() {
        shown = commands.iter().map(|command| command.what.to_string()).collect::<Vec<_>>().join(", ").into();
    }
    let receipts = completed.receipts().await;
    let style = style_of(&exchange.request);
    answer::purge_answer(form, style, (kind, &shown), completed.outcome, receipts.as_ref())
}

/// Executes the purges that the response of an origin requests (`X-LiteSpeed-Purge`), if its location permits purge
/// requests (`*_cache_purge`). They take effect before the response is sent; a failure is only logged.
pub async fn purge_for_origin(exchange: &Exchange, cache: Option<&CachePlace>, head: &ResponseHead) {
    let request = &exchange.request;
    let Some(cache) = cache.filter(|cache| cache.purge.is_some()) else { return };
    let mut commands = Vec::new();
    for value in head.fields.known_all(Known::XLiteSpeedPurge) {
        litespeed(value, &request.route.host, &mut commands);
    }
    let result = match purge::begin_all(&cache.zone, &commands) {
        Ok(begun) => purge::finish(begun).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = result {
        request.log(LogLevel::Error, format_args!("purge requested by the upstream failed: {error}"));
    }
}

fn purge_error_step(exchange: &Exchange, error: &PurgeFailure) -> PhaseStep {
    if let PurgeFailure::Pattern(why) = error {
        return answer::invalid_purge(why);
    }
    exchange.request.log(LogLevel::Error, format_args!("purge failed: {error}"));
    let is_temporary = matches!(error, PurgeFailure::TooMany | PurgeFailure::Unpublished);
    PhaseStep::Error(if is_temporary { 503 } else { 500 })
}
