//! Which origins are asked: the group that a place names, or that a variable names.

use std::sync::Arc;

use bytes::Bytes;
use myriad_upstream::{Address, Affinity, Group, GroupConfig, Registry};

use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::runtime::{OriginGroup, OriginPlace, Target};

/// Most addresses made of variables that a worker remembers; a client may have its say in what they hold.
const ADDRESSES: usize = 1024;

/// Idle connections that a worker keeps to an HTTP origin without an `upstream` block.
pub(crate) const HTTP_IDLE: usize = 32;

/// The group that the place's target names; the error is the status to answer.
pub(crate) fn of_place(exchange: &mut Exchange, origin: &OriginPlace) -> Result<Arc<OriginGroup>, u16> {
    let template = match &origin.target {
        Target::Group(group) => return Ok(Arc::clone(group)),
        Target::Variable(template) => template,
    };
    if origin.http.is_some() {
        return of_url(exchange);
    }
    let mut name = Vec::new();
    let Exchange { request, frame } = exchange;
    let named = template.eval(request, frame, &mut name).is_ok();
    let name = String::from_utf8_lossy(&name);
    if let Some(group) = named.then(|| named_group(exchange, &name)).flatten() {
        Ok(group)
    } else {
        exchange.request.log(Level::Error, format_args!("no upstream group or address \"{name}\""));
        Err(502)
    }
}

/// The `upstream` block that the URL names, else its address.
fn of_url(exchange: &Exchange) -> Result<Arc<OriginGroup>, u16> {
    let Some(url) = exchange.request.origin.as_ref().and_then(|facts| facts.url.as_ref()) else {
        return Err(500);
    };
    let upstream = url.group_name().and_then(|name| exchange.request.site.runtime.upstream(&name));
    if let Some(group) = upstream.or_else(|| named_group(exchange, &url.address())) {
        return Ok(group);
    }
    let address = url.address();
    exchange.request.log(Level::Error, format_args!("no resolver defined to resolve {address}"));
    Err(502)
}

/// An `upstream` block, else an address; host names are not looked up while a request waits.
fn named_group(exchange: &Exchange, name: &str) -> Option<Arc<OriginGroup>> {
    let site = &exchange.request.site;
    if let Some(group) = site.runtime.group(name) {
        return Some(group);
    }
    if let Some(group) = site.addressed.borrow().get(name) {
        return Some(Arc::clone(group));
    }
    let mut config = GroupConfig::single(Address::parse(name, None).ok()?);
    config.keepalive.http = HTTP_IDLE;
    let group = Arc::new(OriginGroup { group: Group::new(config, &Registry::default()), key: None });
    let mut known = site.addressed.borrow_mut();
    if known.len() < ADDRESSES {
        known.insert(name.to_owned(), Arc::clone(&group));
    }
    Some(group)
}

/// What `hash` and `ip_hash` choose a peer by.
pub(crate) fn affinity(exchange: &mut Exchange, group: &OriginGroup) -> Affinity {
    let Some(key) = &group.key else {
        return exchange.request.client().map_or(Affinity::None, Affinity::Client);
    };
    let mut text = Vec::new();
    let Exchange { request, frame } = exchange;
    match key.eval(request, frame, &mut text) {
        Ok(()) => Affinity::Key(Bytes::from(text)),
        // Any peer will do for a key that cannot be told.
        Err(_) => Affinity::None,
    }
}
