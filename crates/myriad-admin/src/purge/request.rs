//! Purges by a location (`*_cache_purge ZONE KEY`), and by purge requests to a cached place or its server.

use std::sync::Arc;

use myriad_http::{Known, Method, ResponseHead};
use myriad_log::Level;
use myriad_policy::{Command, What, litespeed, wanted};
use myriad_script::{EvalError, Frame};

use super::access;
use super::access::Reach;
use super::answer;
use super::answer::Form;
use super::place::{PurgeBy, PurgePlace};
use super::style::style_of;
use crate::purge::{self, Outcome, Refused};
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Exchange, Handler, MethodHandler, Request};
use myriad_exchange::keys::page_key;
use myriad_exchange::runtime::{CachePlace, PurgeRules, PurgeWhen};
use myriad_store::page::key;
use myriad_store::page::{PageZone, PurgedBy};

/// Purge that is permitted and not yet executed.
pub struct Order {
    zones: Vec<Arc<PageZone>>,
    commands: Vec<Command>,
    keys: Vec<Vec<u8>>,
    form: Form,
    /// Description in the response; if empty, that of the commands.
    shown: Vec<u8>,
}

/// Returns whether a request is a purge request.
pub fn asks(request: &Request, frame: &mut Frame, rules: &PurgeRules) -> Result<bool, EvalError> {
    match &rules.when {
        PurgeWhen::Methods(methods) => Ok(is_one(request, methods)),
        PurgeWhen::Conditions(conditions) => conditions.any_true(request, frame),
    }
}

/// Returns whether the method of the request is in the list.
fn is_one(request: &Request, methods: &[Box<[u8]>]) -> bool {
    methods.iter().any(|method| request.received.head.method_bytes() == &**method)
}

/// Returns whether the method purges at some place of the request's server.
fn is_purge(request: &Request) -> bool {
    request
        .site
        .runtime
        .server(request.route.server)
        .purges
        .iter()
        .any(|purge| is_one(request, &purge.methods))
}

/// Requested purge; the error explains why it is invalid.
pub type Wanted = Result<Command, &'static str>;

fn wanted_by(request: &Request) -> Wanted {
    wanted(request.sent_uri().unwrap_or(b"/"), &request.route.host, request.received.head.fields())
}

/// Returns the requested purge if it is more than a single URL. It is then not routed to a location: rules against
/// paths that start with a dot would reject `PURGE /.*`.
pub fn of_many(request: &Request) -> Option<Wanted> {
    let is_url = |wanted: &Wanted| matches!(wanted, Ok(Command { what: What::Url { .. }, .. }));
    is_purge(request).then(|| wanted_by(request)).filter(|wanted| !is_url(wanted))
}

/// Handler of URL purges whose place has no cache, e.g. for a file: another place may have fetched the page.
pub struct ServerPurges;

impl MethodHandler for ServerPurges {
    fn takes(&self, request: &Request) -> bool {
        is_purge(request)
    }

    fn begin(&self, exchange: &mut Exchange) -> Step {
        let wanted = wanted_by(&exchange.request);
        in_server(exchange, wanted)
    }
}

/// Purges all zones of the server that the request has access to.
pub fn in_server(exchange: &mut Exchange, wanted: Wanted) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let request = &exchange.request;
    let purges = site.runtime.server(request.route.server).purges.iter();
    let mut zones: Vec<Arc<PageZone>> = Vec::new();
    let mut forbidden = None;
    for purge in purges.filter(|purge| is_one(request, &purge.methods)) {
        match access::may(request, purge.from.as_deref(), Reach::Any) {
            Err(why) => forbidden = Some(why),
            Ok(()) if zones.iter().any(|zone| Arc::ptr_eq(zone, &purge.zone)) => {}
            Ok(()) => zones.push(Arc::clone(&purge.zone)),
        }
    }
    if zones.is_empty() {
        return forbidden.map_or(Step::Error(403), |why| access::refuse(request, why));
    }
    let form = Form::of_method(request);
    match wanted {
        Ok(command) => order(
            exchange,
            Order { zones, commands: vec![command], keys: Vec::new(), form, shown: Vec::new() },
        ),
        Err(why) => answer::invalid(why),
    }
}

/// Answers a purge request to a cached place.
pub fn page(exchange: &mut Exchange, cache: &CachePlace, rules: &PurgeRules) -> Result<Step, EvalError> {
    if let Err(why) = access::may(&exchange.request, rules.from.as_deref(), Reach::Any) {
        return Ok(access::refuse(&exchange.request, why));
    }
    let form = match rules.when {
        PurgeWhen::Conditions(_) => Form::Plus,
        PurgeWhen::Methods(_) => Form::of_method(&exchange.request),
    };
    let zones = vec![Arc::clone(&cache.zone)];
    if rules.everything {
        let commands = vec![Command::hard(What::All)];
        let shown = Vec::new();
        return Ok(order(exchange, Order { zones, commands, keys: Vec::new(), form, shown }));
    }
    let request = &exchange.request;
    let target = request.sent_uri().unwrap_or(b"/").to_vec();
    let command = match wanted(&target, &request.route.host, request.received.head.fields()) {
        Ok(command) => command,
        Err(why) => return Ok(answer::invalid(why)),
    };
    // The page for a GET of this URL is purged too, even if it was fetched for another URL with the same key.
    exchange.request.route.as_get = true;
    let (mut keys, mut commands) = (Vec::new(), Vec::new());
    match &command.what {
        What::Url { .. } => keys.push(page_key::of(exchange, cache)?),
        What::Wildcard(_) => commands.extend(beginning(&page_key::of(exchange, cache)?, command.soft)),
        _ => {}
    }
    commands.push(command);
    let shown = keys.first().cloned().unwrap_or_default();
    Ok(order(exchange, Order { zones, commands, keys, form, shown }))
}

/// Returns the purge by key prefix for a key with a trailing `*`.
fn beginning(key: &[u8], soft: bool) -> Option<Command> {
    let prefix = key.strip_suffix(b"*").filter(|prefix| !prefix.is_empty())?;
    Some(Command { what: What::KeyPrefix(prefix.into()), soft })
}

impl Handler for PurgePlace {
    fn begin(&self, exchange: &mut Exchange) -> Step {
        begin(exchange, self)
    }
}

/// Purges the key or URL of a location, and reports whether a page was found. All variants and encodings are purged,
/// and pages being fetched at this moment are not stored.
fn begin(exchange: &mut Exchange, rules: &PurgePlace) -> Step {
    let request = &exchange.request;
    // `allow` and `deny` have been evaluated before.
    let ruled = request.place().entry.gate.as_ref().is_some_and(|gate| gate.rules_addresses());
    let reach = if matches!(rules.by, PurgeBy::Url(_)) { Reach::OwnUrl } else { Reach::Any };
    let may = if ruled { access::is_own(request, false) } else { access::may(request, None, reach) };
    if request.received.sink.is_none()
        && let Err(why) = may
    {
        return access::refuse(request, why);
    }
    match named(exchange, rules) {
        Ok(step) => step,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            Step::Error(500)
        }
    }
}

fn named(exchange: &mut Exchange, rules: &PurgePlace) -> Result<Step, EvalError> {
    let Exchange { request, frame } = exchange;
    // HEAD and GET have the same page.
    request.route.as_get |= request.received.head.method() == Method::Head;
    let mut text = Vec::new();
    let (PurgeBy::Key(template) | PurgeBy::Url(template)) = &rules.by;
    template.eval(request, frame, &mut text)?;
    let command = match &rules.by {
        // A GET is limited to a single URL, since it may be a link that an attacker makes the application follow.
        PurgeBy::Url(_) if matches!(request.received.head.method(), Method::Get | Method::Head) => {
            Command::hard(What::Url {
                host: request.route.host.as_slice().into(),
                target: text.as_slice().into(),
            })
        }
        PurgeBy::Url(_) => match wanted(&text, &request.route.host, request.received.head.fields()) {
            Ok(command) => command,
            Err(why) => return Ok(answer::invalid(why)),
        },
        PurgeBy::Key(_) if text.ends_with(b"*") && text.len() > What::LONGEST_PATTERN => {
            return Ok(answer::invalid("the key with a trailing * is longer than 4096 bytes"));
        }
        PurgeBy::Key(_) => {
            let key = key::named(text.clone());
            beginning(&key, false).unwrap_or_else(|| Command::hard(What::Keys(both_keys(request, key))))
        }
    };
    let zones = vec![Arc::clone(&rules.zone)];
    Ok(order(
        exchange,
        Order { zones, commands: vec![command], keys: Vec::new(), form: Form::Location, shown: text },
    ))
}

/// Returns the keys of a page that is purged by its key: requests with an explicit port have separate pages.
fn both_keys(request: &Request, key: Vec<u8>) -> Vec<Box<[u8]>> {
    let mut apart = key.clone();
    page_key::tell_hosts_apart(request, &mut apart);
    let mut keys = vec![key.into_boxed_slice()];
    if apart.len() > keys[0].len() {
        keys.push(apart.into());
    }
    keys
}

/// Executes a purge, or only explains it, which changes nothing.
fn order(exchange: &mut Exchange, ordered: Order) -> Step {
    let Some(sink) = &exchange.request.received.sink else {
        return Step::wait(async move |exchange| wait(exchange, ordered).await);
    };
    let zones: Vec<_> = ordered.zones.iter().map(|zone| zone.zone.name()).collect();
    let what = ordered.commands.iter().map(|command| command.what.to_string());
    let keys = ordered.keys.iter().map(|key| String::from_utf8_lossy(key).into_owned());
    let text = what.chain(keys).collect::<Vec<_>>().join(", ");
    sink.note("purge", format!("zone {}", zones.join(", ")), text, None);
    answer::explained()
}

/// Executes the purge in all its zones and returns the response.
async fn wait(exchange: &mut Exchange, ordered: Order) -> Step {
    let mut outcome = Outcome::Done(0);
    let Order { zones, commands, keys, form, mut shown } = ordered;
    let mut kind = "key";
    for command in &commands {
        kind = command.what.kind();
        match purge::run(&zones, command, &keys, PurgedBy::Request).await {
            Ok(more) => outcome = outcome.and(more),
            Err(error) => return refused(exchange, &error),
        }
    }
    if shown.is_empty() {
        shown = commands.iter().map(|command| command.what.to_string()).collect::<Vec<_>>().join(", ").into();
    }
    answer::made(form, style_of(&exchange.request), (kind, &shown), outcome)
}

/// Executes the purges that an origin's response requests (`X-LiteSpeed-Purge`), if its place accepts purge requests.
/// They are effective before the response is sent.
pub async fn by_origin(exchange: &Exchange, cache: Option<&CachePlace>, head: &ResponseHead) {
    let request = &exchange.request;
    let Some(cache) = cache.filter(|cache| cache.purge.is_some()) else { return };
    let mut commands = Vec::new();
    for value in head.fields.known_all(Known::XLiteSpeedPurge) {
        litespeed(value, &request.route.host, &mut commands);
    }
    if !commands.is_empty()
        && let Err(error) = purge::run_all(&cache.zone, &commands).await
    {
        request.log(Level::Error, format_args!("purge requested by the upstream failed: {error}"));
    }
}

fn refused(exchange: &Exchange, error: &Refused) -> Step {
    if let Refused::Pattern(why) = error {
        return answer::invalid(why);
    }
    exchange.request.log(Level::Error, format_args!("purge failed: {error}"));
    Step::Error(if matches!(error, Refused::TooMany) { 503 } else { 500 })
}
