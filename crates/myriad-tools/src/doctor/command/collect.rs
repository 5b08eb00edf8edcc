//! Collection of all facts.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::doctor::{
    FpmPoolStatus, Observation, PageChange, StackFacts, StoredPageStats, UntrustedSenders, WordPressFacts,
};
use myriad_admin::protocol::monitoring::{PurgesRequest, SendersRequest};
use myriad_admin::protocol::{
    AdminReply, AdminRequest, PageRequest, PagesRequest, RequestCounts, StatsRequest, UpstreamsRequest,
};

use super::options::DoctorOptions;
use super::php::{self, PhpProbe};
use super::stack::{self, LocalStack};
use super::{machine, site, sources};
use myriad_cli::admin::RunningServer;
use myriad_cli::servers;
use myriad_cli::web::WebTarget;
use myriad_cli::wordpress;

/// Age up to which changes without a purge are reported, in seconds.
const CHANGES_S: u64 = 7 * 86_400;
/// Maximum number of pages that are reported as changed without a purge.
const MAX_CHANGES: usize = 3;

/// Collects all facts about the WordPress stack. Returns the URL of the home page that was requested, and the facts.
/// Returns an error if no server responds for the site, if the options do not select a site, or if the folder of
/// `--root` is not a complete, readable WordPress site.
pub(super) fn collect_facts(options: &DoctorOptions) -> Result<(WebTarget, StackFacts), String> {
    let stack = stack::find(options)?;
    let layout = stack
        .site
        .clone()
        .unwrap_or_else(|| Err("the folder of the site is unknown: specify it with --root DIR".into()));
    if let (Some(_), Err(why)) = (&options.root, &layout) {
        return Err(why.clone());
    }
    let php_address = stack
        .php
        .clone()
        .ok_or_else(|| "the php-fpm of the site is unknown: specify it with --php ADDRESS".to_owned());
    let php_down = php_address.as_ref().ok().and_then(|php| wordpress::php_complaint(php));
    let probe = php_address.clone().and_then(|php| PhpProbe::new(&php));
    let listens = stack.listens.clone().map(|address| loopback_for(&address));
    let authority = options.url.as_ref().map(|url| url.authority.clone());
    let authority = authority.or_else(|| stack.name.clone());
    let authority = authority.or_else(|| listens.clone()).unwrap_or_else(|| "localhost".to_owned());
    let wordpress: Observation<WordPressFacts> = match (&probe, &layout) {
        (Ok(probe), Ok(layout)) => probe.wordpress(&layout.core_folder(), &authority),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    let (target, at) = address(options, &stack, wordpress.as_ref().ok())?;
    let site =
        site::examine_site(&target, at.as_deref()).map_err(|error| format!("{error}{}", servers::hint()))?;
    let visits = || site.pages.iter().filter_map(|page| page.visits.as_ref().ok());
    let uncached = site.pages.iter().filter_map(|page| page.uncached.as_ref());
    let all = visits().flat_map(|(first, second)| [first, second]).chain(uncached);
    let mut cookies: Vec<String> = all.flat_map(|visit| visit.cookies.iter().cloned()).collect();
    cookies.sort();
    cookies.dedup();
    let searches_reasons =
        visits().any(|(_, second)| matches!(second.cache.as_deref(), Some("MISS" | "EXPIRED" | "BYPASS")));
    let denied = layout.as_ref().map(|layout| (layout, site::denied(layout))).map_err(Clone::clone);
    let (cookies, uncaching) = match &layout {
        Ok(layout) => {
            let active = wordpress.as_ref().ok().map(|wordpress| wordpress.active.as_slice());
            sources::find_sources(&layout.content_folder(), active, &cookies, searches_reasons)
        }
        Err(_) => (Vec::new(), Vec::new()),
    };
    let facts = StackFacts {
        now_s: now_s(),
        memory: machine::memory(),
        descriptors: machine::descriptors(stack.pid),
        backlog: machine::backlog(),
        swap: machine::swap(),
        killed: machine::killed(),
        php_down,
        php: probe.as_ref().map_err(Clone::clone).and_then(PhpProbe::php),
        pool: pool(options, &php_address),
        most_children: php_address.as_ref().map_err(Clone::clone).and_then(|php| php::most_children(php)),
        assumed_children: assumed_children(options, &php_address),
        workers: machine::workers(),
        wordpress,
        pages: site.pages,
        assets: site.assets,
        pictures: site.pictures,
        stored: stored(options),
        changes: changes(options, &target),
        cookies,
        uncaching,
        exposed: denied
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|(layout, denied)| site::exposed(&target, at.as_deref(), layout, denied)),
        htaccess_remarks: denied.map(|(_, denied)| denied.remarks().to_vec()),
        https_proxy_visit: site.https_proxy_visit,
        senders: senders(options),
        advanced_cache: layout.map(|layout| layout.has_drop_in("advanced-cache.php")),
    };
    Ok((target, facts))
}

/// Replaces the wildcard address `0.0.0.0` or `[::]` by the loopback address of its family; others remain unchanged.
fn loopback_for(address: &str) -> String {
    address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
}

/// Returns the URL of the site, and the address to connect to; `None` for loopback and the port of the URL. The URL is
/// that of the options, otherwise the one configured in WordPress (unless it is an https URL, and Myriad does not
/// listen for https or `--at` is given), otherwise the name of the selected site, otherwise the address on which Myriad
/// listens for http, otherwise `http://localhost/`.
fn address(
    options: &DoctorOptions,
    stack: &LocalStack,
    wordpress: Option<&WordPressFacts>,
) -> Result<(WebTarget, Option<String>), String> {
    if let Some(url) = &options.url {
        return Ok((url.clone(), options.at.clone()));
    }
    let home = wordpress.and_then(|wordpress| WebTarget::parse(&wordpress.home).ok());
    let listens = |tls| if tls { &stack.listens_tls } else { &stack.listens }.as_deref().map(loopback_for);
    // A site with an https URL is requested by http if Myriad does not listen for https (a proxy terminates TLS), or if
    // `--at` gives the address.
    let by_tls = options.at.is_none() && listens(true).is_some();
    let home = home.filter(|home| !home.tls || by_tls).map(|home| home.with_path("/"));
    let at = |tls| options.at.clone().or_else(|| listens(tls));
    Ok(match (home, &stack.name, listens(false)) {
        (Some(home), _, _) => (home.clone(), at(home.tls)),
        (None, Some(name), _) => (WebTarget::parse(&format!("http://{name}/"))?, at(false)),
        (None, None, Some(listens)) => (WebTarget::parse(&listens)?, at(false)),
        (None, None, None) => (WebTarget::parse("http://localhost/")?, options.at.clone()),
    })
}

fn pool(options: &DoctorOptions, php: &Observation<String>) -> Observation<FpmPoolStatus> {
    php::pool(php.as_ref().map_err(Clone::clone)?, options.status.as_deref())
}

/// Returns `max_conns` of the first upstream server of the running Myriad that has the address of php-fpm; `None` if it
/// is not limited. Returns an error if the address is unknown, if no running Myriad is found, or if none of its
/// upstream servers has this address.
fn assumed_children(options: &DoctorOptions, php: &Observation<String>) -> Observation<Option<u32>> {
    let php = php.as_ref().map_err(Clone::clone)?;
    let running = RunningServer::find(&options.words.server, options.words.socket.as_deref())?;
    let mut limits = Vec::new();
    running.send_request(&AdminRequest::Upstreams(UpstreamsRequest::default()), |reply| {
        if let AdminReply::Peer(peer) = reply
            && [&peer.server, &peer.address]
                .iter()
                .any(|name| name.strip_prefix("unix:").unwrap_or(name) == php)
        {
            limits.push(peer.max_conns);
        }
        Ok(true)
    })?;
    let limit = limits.first().ok_or_else(|| format!("Myriad has no upstream server {php}"))?;
    Ok(Some(*limit).filter(|limit| *limit > 0))
}

/// Returns the senders of `X-Forwarded-For` that the running Myriad does not trust. Requests of senders with the same
/// `--trusted-proxy` argument are added up.
fn senders(options: &DoctorOptions) -> Observation<UntrustedSenders> {
    let running = RunningServer::find(&options.words.server, options.words.socket.as_deref())?;
    let mut senders = UntrustedSenders::default();
    running.send_request(&AdminRequest::Senders(SendersRequest {}), |reply| {
        if let AdminReply::Senders(report) = reply {
            senders.others = report.others;
            for sender in report.senders {
                let option = wordpress::trusted_proxy_option(&sender.address);
                match senders.requests.iter_mut().find(|(known, _)| *known == option) {
                    Some((_, requests)) => *requests += sender.requests,
                    None => senders.requests.push((option, sender.requests)),
                }
            }
        }
        Ok(true)
    })?;
    Ok(senders)
}

/// Returns the pages of the site that changed without a purge during the last seven days, the newest change first, at
/// most [`MAX_CHANGES`], from the last 1000 events of the control socket.
fn changes(options: &DoctorOptions, site: &WebTarget) -> Observation<Vec<PageChange>> {
    let running = RunningServer::find(&options.words.server, options.words.socket.as_deref())?;
    // Names of pages contain no port.
    let with_port =
        site.authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()));
    let host = with_port.map_or(site.authority.as_str(), |(host, _)| host);
    let oldest_ms = now_s().saturating_sub(CHANGES_S) * 1000;
    let mut changes: Vec<PageChange> = Vec::new();
    let request = PurgesRequest { limit: Some(1000), ..PurgesRequest::default() };
    running.send_request(&AdminRequest::Purges(request), |reply| {
        let AdminReply::PurgeEvent(event) = reply else { return Ok(true) };
        let Some(change) = event.change.filter(|_| event.at_ms >= oldest_ms) else { return Ok(true) };
        let is_of_site = change.page.strip_prefix(host).is_some_and(|rest| rest.starts_with(['/', ':']));
        if is_of_site && changes.len() < MAX_CHANGES && changes.iter().all(|known| known.page != change.page)
        {
            let (page, before, after) = (change.page, change.before, change.after);
            changes.push(PageChange { page, at_s: event.at_ms / 1000, before, after, tags: Vec::new() });
        }
        Ok(true)
    })?;
    for change in &mut changes {
        let page = format!("{}://{}", if site.tls { "https" } else { "http" }, change.page);
        let request = PageRequest { page, ..PageRequest::default() };
        running.send_request(&AdminRequest::Page(request), |reply| {
            if let AdminReply::Page(page) = reply {
                change.tags = page.tags;
            }
            Ok(true)
        })?;
    }
    Ok(changes)
}

/// Returns the current time, in seconds since the Unix epoch.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// Returns statistics of all sites from the control socket: number and lifetime of at most 100,000 stored pages, and
/// the request counts of all cache zones.
fn stored(options: &DoctorOptions) -> Observation<StoredPageStats> {
    let running = RunningServer::find(&options.words.server, options.words.socket.as_deref())?;
    let (mut stored, mut counts) = (StoredPageStats::default(), RequestCounts::default());
    running.send_request(&AdminRequest::Stats(StatsRequest::default()), |reply| {
        if let AdminReply::Zone(zone) = reply {
            counts = counts.plus(&zone.requests);
        }
        Ok(true)
    })?;
    running.send_request(
        &AdminRequest::Pages(PagesRequest { limit: Some(100_000), ..PagesRequest::default() }),
        |reply| {
            if let AdminReply::Page(page) = reply {
                stored.pages += 1;
                stored.longest_s =
                    stored.longest_s.max(page.fresh_until_ms.saturating_sub(page.stored_ms) / 1000);
            }
            Ok(true)
        },
    )?;
    Ok(StoredPageStats { hits: counts.served(), requests: counts.total(), ..stored })
}
