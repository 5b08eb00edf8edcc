//! Collection of all facts.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::doctor::{Facts, Pool, Seen, Senders, Stored, WordPress};
use myriad_admin::protocol::sight::SendersRequest;
use myriad_admin::protocol::{PagesRequest, Reply, Request, RequestCounts, StatsRequest, UpstreamsRequest};

use super::options::Options;
use super::php::{self, Probe};
use super::stack::{self, Stack};
use super::{machine, site, sources};
use myriad_cli::admin::Running;
use myriad_cli::servers;
use myriad_cli::web::Target;
use myriad_cli::wordpress;

/// Collects all facts; returns them with the requested address. Fails if no server responds for the site.
pub(super) fn look(options: &Options) -> Result<(Target, Facts), String> {
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
    let probe = php_address.clone().and_then(|php| Probe::new(&php));
    let listens = stack.listens.clone().map(|address| here(&address));
    let authority = options.url.as_ref().map(|url| url.authority.clone());
    let authority = authority.or_else(|| stack.name.clone());
    let authority = authority.or_else(|| listens.clone()).unwrap_or_else(|| "localhost".to_owned());
    let wordpress: Seen<WordPress> = match (&probe, &layout) {
        (Ok(probe), Ok(layout)) => probe.wordpress(&layout.core_folder(), &authority),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    let (target, at) = address(options, &stack, wordpress.as_ref().ok())?;
    let site = site::look(&target, at.as_deref()).map_err(|error| format!("{error}{}", servers::hint()))?;
    let visits = || site.pages.iter().filter_map(|page| page.visits.as_ref().ok());
    let uncached = site.pages.iter().filter_map(|page| page.uncached.as_ref());
    let all = visits().flat_map(|(first, second)| [first, second]).chain(uncached);
    let mut cookies: Vec<String> = all.flat_map(|visit| visit.cookies.iter().cloned()).collect();
    cookies.sort();
    cookies.dedup();
    let asks_why =
        visits().any(|(_, second)| matches!(second.cache.as_deref(), Some("MISS" | "EXPIRED" | "BYPASS")));
    let denied = layout.as_ref().map(|layout| (layout, site::denied(layout))).map_err(Clone::clone);
    let (cookies, uncaching) = match &layout {
        Ok(layout) => {
            let active = wordpress.as_ref().ok().map(|wordpress| wordpress.active.as_slice());
            sources::look(&layout.content_folder(), active, &cookies, asks_why)
        }
        Err(_) => (Vec::new(), Vec::new()),
    };
    let facts = Facts {
        now_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        memory: machine::memory(),
        descriptors: machine::descriptors(stack.pid),
        backlog: machine::backlog(),
        swap: machine::swap(),
        killed: machine::killed(),
        php_down,
        php: probe.as_ref().map_err(Clone::clone).and_then(Probe::php),
        pool: pool(options, &php_address),
        most_children: php_address.as_ref().map_err(Clone::clone).and_then(|php| php::most_children(php)),
        assumed_children: assumed_children(options, &php_address),
        workers: machine::workers(),
        wordpress,
        pages: site.pages,
        assets: site.assets,
        pictures: site.pictures,
        stored: stored(options),
        cookies,
        uncaching,
        exposed: denied
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|(layout, denied)| site::exposed(&target, at.as_deref(), layout, denied)),
        htaccess_remarks: denied.map(|(_, denied)| denied.remarks().to_vec()),
        behind_tls: site.behind_tls,
        senders: senders(options),
        advanced_cache: layout.map(|layout| layout.has_drop_in("advanced-cache.php")),
    };
    Ok((target, facts))
}

/// Returns the loopback address for a wildcard address.
fn here(address: &str) -> String {
    address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
}

/// Returns the address of the site and the address to connect to: from the options, else the address configured in
/// WordPress, else a listening address of Myriad.
fn address(
    options: &Options,
    stack: &Stack,
    wordpress: Option<&WordPress>,
) -> Result<(Target, Option<String>), String> {
    if let Some(url) = &options.url {
        return Ok((url.clone(), options.at.clone()));
    }
    let home = wordpress.and_then(|wordpress| Target::parse(&wordpress.home).ok());
    let listens = |tls| if tls { &stack.listens_tls } else { &stack.listens }.as_deref().map(here);
    // An https address is requested by http if Myriad does not listen for https, because a proxy terminates TLS, and if
    // the port is given.
    let by_tls = options.at.is_none() && listens(true).is_some();
    let home = home.filter(|home| !home.tls || by_tls).map(|home| home.with_path("/"));
    let at = |tls| options.at.clone().or_else(|| listens(tls));
    Ok(match (home, &stack.name, listens(false)) {
        (Some(home), _, _) => (home.clone(), at(home.tls)),
        (None, Some(name), _) => (Target::parse(&format!("http://{name}/"))?, at(false)),
        (None, None, Some(listens)) => (Target::parse(&listens)?, at(false)),
        (None, None, None) => (Target::parse("http://localhost/")?, options.at.clone()),
    })
}

fn pool(options: &Options, php: &Seen<String>) -> Seen<Pool> {
    php::pool(php.as_ref().map_err(Clone::clone)?, options.status.as_deref())
}

/// Returns the maximum number of concurrent requests that the running Myriad sends to php-fpm.
fn assumed_children(options: &Options, php: &Seen<String>) -> Seen<Option<u32>> {
    let php = php.as_ref().map_err(Clone::clone)?;
    let running = Running::find(&options.words.server, options.words.socket.as_deref())?;
    let mut limits = Vec::new();
    running.ask(&Request::Upstreams(UpstreamsRequest::default()), |reply| {
        if let Reply::Peer(peer) = reply
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

/// Returns untrusted senders with `X-Forwarded-For`.
fn senders(options: &Options) -> Seen<Senders> {
    let running = Running::find(&options.words.server, options.words.socket.as_deref())?;
    let mut senders = Senders::default();
    running.ask(&Request::Senders(SendersRequest {}), |reply| {
        if let Reply::Senders(report) = reply {
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

/// Returns the stored pages, queried from the control socket.
fn stored(options: &Options) -> Seen<Stored> {
    let running = Running::find(&options.words.server, options.words.socket.as_deref())?;
    let (mut stored, mut counts) = (Stored::default(), RequestCounts::default());
    running.ask(&Request::Stats(StatsRequest::default()), |reply| {
        if let Reply::Zone(zone) = reply {
            counts = counts.plus(&zone.requests);
        }
        Ok(true)
    })?;
    running.ask(
        &Request::Pages(PagesRequest { limit: Some(100_000), ..PagesRequest::default() }),
        |reply| {
            if let Reply::Page(page) = reply {
                stored.pages += 1;
                stored.longest_s =
                    stored.longest_s.max(page.fresh_until_ms.saturating_sub(page.stored_ms) / 1000);
            }
            Ok(true)
        },
    )?;
    Ok(Stored { hits: counts.served(), requests: counts.asked(), ..stored })
}
