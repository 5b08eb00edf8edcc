//! Checks of pages, as visitors get them.

use crate::down::is_down;
use crate::facts::{CookieSource, Facts, Page, Visit};
use crate::finding::{Finding, Report};

/// Time to the first byte that is slow, milliseconds: of a stored page on the machine itself, and of one that PHP makes.
const SLOW_HIT_MS: u64 = 50;
const SLOW_MISS_MS: u64 = 1000;
/// Bytes below which compressing brings little.
const SMALL: u64 = 1024;

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    for page in &facts.pages {
        match &page.visits {
            Err(why) => Report::new("page", list)
                .unseen(format!("{} ({}) gave no answer: {why}", page.kind, page.url), ""),
            Ok((first, second)) => {
                if !redirects(page, second, list) && answers(facts, page, second, list) {
                    caching(facts, page, second, list);
                    dropped(facts, page, first, second, list);
                    compression(page, second, list);
                }
            }
        }
    }
    times(facts, list);
    behind_tls(facts, list);
    nonces(facts, list);
    hit_rate(facts, Report::new("hit-rate", list));
}

/// Redirects to itself, or of the home page to another address; `true` if there is nothing else to look at.
fn redirects(page: &Page, visit: &Visit, list: &mut Vec<Finding>) -> bool {
    let Some(location) =
        visit.location.as_ref().filter(|_| (300..400).contains(&visit.status) && visit.status != 304)
    else {
        return false;
    };
    let url = &page.url;
    if location == url {
        Report::new("redirect-loop", list).bad(
            format!("{url} leads to itself: browsers give up"),
            "the address in Settings > General is another one, or a proxy in front speaks https and does not report it: let the proxy \
             send X-Forwarded-Proto: https, and name it with --trusted-proxy ADDRESS unless it is on this machine or in a private network",
        );
    } else if page.kind == "home" {
        Report::new("address", list).warn(
            format!("{url} leads to {location}: the other pages of this report say little"),
            format!("ask the doctor for that address: myriad doctor {location}"),
        );
    } else {
        Report::new("redirect", list).fine(format!("{} leads to {location}", page.kind));
    }
    true
}

/// Whether the page is one at all.
fn answers(facts: &Facts, page: &Page, visit: &Visit, list: &mut Vec<Finding>) -> bool {
    let expected = if page.kind == "404" { 404 } else { 200 };
    if visit.status == expected {
        return true;
    }
    let report = Report::new("status", list);
    if visit.status >= 500 {
        report.bad(
            format!("{} ({}) is answered with {}", page.kind, page.url, visit.status),
            if is_down(facts) {
                "this follows from the first finding"
            } else {
                "the error logs of Myriad and of php-fpm contain the reason"
            },
        );
    } else {
        report.warn(
            format!("{} ({}) is answered with {}", page.kind, page.url, visit.status),
            "is the address right?",
        );
    }
    false
}

fn caching(facts: &Facts, page: &Page, visit: &Visit, list: &mut Vec<Finding>) {
    let (kind, state) = (page.kind, visit.cache.as_deref().unwrap_or(""));
    let report = Report::new("page-not-cached", list);
    match state {
        "HIT" | "STALE" | "UPDATING" | "REVALIDATED" => {
            report.fine(format!("{kind} comes from the cache"));
            if !visit.cookies.is_empty() {
                Report::new("cookie-stored", list).bad(
                    format!("{kind} comes from the cache with a cookie ({}): every visitor gets it", visit.cookies.join(", ")),
                    "a cookie of one visitor must not stand in a stored page: see *_cache_valid, *_ignore_headers in your configuration",
                );
            }
        }
        "" => report.unseen(
            format!("{kind} has no X-Cache: whether it comes from the cache is not known"),
            "does Myriad with the WordPress preset answer at this address? Else write cache_debug on; into its configuration",
        ),
        // A page for what is not there is seldom asked for twice, and WordPress 6.8 says `private` to it.
        _ if kind == "404" => report.fine("404 is made by PHP each time, as it says itself"),
        _ => {
            let (why, remedy) = reason(facts, visit);
            let what = format!("{kind}: made by PHP for each visitor ({state}), since {why}");
            if kind == "home" || kind == "post" { report.bad(what, remedy) } else { report.warn(what, remedy) }
        }
    }
}

/// Why a page is not stored, and what to do: a cookie first, then what it says itself.
fn reason(facts: &Facts, visit: &Visit) -> (String, String) {
    if let Some(cookie) = visit.cookies.first() {
        let (origin, remedy) = origin(facts, cookie);
        return (format!("it sets the cookie {cookie} for everybody{origin}"), remedy);
    }
    let says = visit.cache_control.to_ascii_lowercase();
    let word = ["no-store", "private", "no-cache", "max-age=0", "s-maxage=0"]
        .into_iter()
        .find(|word| says.contains(word));
    if let Some(word) = word {
        let who = if facts.uncaching.is_empty() {
            String::new()
        } else {
            format!("; {} may say so", facts.uncaching.join(", "))
        };
        return (
            format!("it says Cache-Control: {}{who}", visit.cache_control),
            format!(
                "find the plugin that says {word} (DONOTCACHEPAGE, nocache_headers, session_start) and turn that off for visitors"
            ),
        );
    }
    if visit.vary.contains('*') {
        return (
            "it says Vary: *".to_owned(),
            "find the plugin that says so: such a page is never the same twice".to_owned(),
        );
    }
    let status = visit.cache_status.as_ref().map(|status| format!(" ({status})")).unwrap_or_default();
    (
        format!("no field of it says why{status}"),
        "myriad -t --explain URL, or myriad wordpress ... -t --explain URL, says what would become of the request".to_owned(),
    )
}

/// Where a cookie comes from, to follow its name, and what to do.
fn origin(facts: &Facts, cookie: &str) -> (String, String) {
    let source = facts.cookies.iter().find(|source| source.cookie == cookie);
    let Some(CookieSource { places, setters, .. }) = source else {
        return (
            "; the files of the site were not looked at".to_owned(),
            "--root DIR names the site, and the doctor looks which plugin has that name in its files"
                .to_owned(),
        );
    };
    match places.as_slice() {
        [] if !setters.is_empty() => (
            format!(
                "; no plugin or theme has that name in its files, but {} set cookies",
                setters.join(", ")
            ),
            "turn these off one by one, until the cookie is gone: its name is put together there".to_owned(),
        ),
        [] => (
            "; no plugin or theme has that name in its files".to_owned(),
            "find who sets it: turn plugins off one by one, or look for setcookie in wp-content".to_owned(),
        ),
        places => (
            format!(", which comes from {}", places.join(" or ")),
            format!(
                "have it set the cookie by script, or on the pages alone that need it, or turn {} off",
                if places.len() == 1 { "it" } else { "them" }
            ),
        ),
    }
}

/// A cookie that PHP sets and the stored page has not: visitors of the cache never get it.
fn dropped(facts: &Facts, page: &Page, first: &Visit, second: &Visit, list: &mut Vec<Finding>) {
    let made = page.uncached.as_ref().unwrap_or(first);
    if let (Some(cookie), Some("HIT"), true) =
        (made.cookies.first(), second.cache.as_deref(), second.cookies.is_empty())
    {
        let (origin, remedy) = origin(facts, cookie);
        Report::new("cookie-dropped", list).warn(
            format!(
                "{}: it sets the cookie {cookie} for everybody{origin}; the cache leaves it out",
                page.kind
            ),
            remedy,
        );
    }
}

fn compression(page: &Page, visit: &Visit, list: &mut Vec<Finding>) {
    let is_text = ["text/", "xml", "json", "javascript"].iter().any(|word| visit.media_type.contains(word));
    if visit.bytes < SMALL || !is_text {
        return;
    }
    if visit.encoding.is_empty() || visit.encoding == "identity" {
        Report::new("compression", list).warn(
            format!(
                "{} is sent without compression: {} KB in place of a fifth of that",
                page.kind,
                visit.bytes >> 10
            ),
            format!(
                "gzip on; and {} in gzip_types, as the WordPress preset has it",
                visit.media_type.split(';').next().unwrap_or_default()
            ),
        );
    } else {
        Report::new("compression", list).fine(format!("{} is sent as {}", page.kind, visit.encoding));
    }
}

fn times(facts: &Facts, list: &mut Vec<Finding>) {
    let Some(home) = facts.pages.iter().find(|page| page.kind == "home") else { return };
    if let Ok((_, hit)) = &home.visits
        && hit.cache.as_deref() == Some("HIT")
    {
        let ms = hit.first_byte_ms;
        if ms > SLOW_HIT_MS {
            Report::new("ttfb-hit", list).warn(
                format!("a stored page takes {ms} ms to its first byte, on the machine itself"),
                "is the machine busy, or its memory swapped? top and vmstat 1 show it",
            );
        } else {
            Report::new("ttfb-hit", list).fine(format!("a stored page takes {ms} ms to its first byte"));
        }
    }
    let Some(miss) = &home.uncached else {
        Report::new("ttfb-miss", list).unseen("no page was made by PHP while the doctor looked", "");
        return;
    };
    let ms = miss.first_byte_ms;
    if ms > SLOW_MISS_MS {
        Report::new("ttfb-miss", list).warn(
            format!(
                "PHP needs {ms} ms for the home page: known visitors, and whoever comes first, wait for it"
            ),
            "an object cache and OPcache help; the plugin Query Monitor shows which plugin takes the time",
        );
    } else {
        Report::new("ttfb-miss", list).fine(format!("PHP needs {ms} ms for the home page"));
    }
}

/// A proxy that speaks https before a `WordPress` that does not know of it.
fn behind_tls(facts: &Facts, list: &mut Vec<Finding>) {
    let Some(home) = facts.pages.iter().find(|page| page.kind == "home") else { return };
    let report = Report::new("tls-proxy", list);
    match &facts.behind_tls {
        Err(why) => report.unseen(why, ""),
        Ok(visit) => {
            let secure = home.url.replacen("http://", "https://", 1);
            if (300..400).contains(&visit.status) && visit.location.as_deref() == Some(&secure) {
                report.bad(
                    format!("behind a proxy that speaks https {secure} leads to itself: browsers give up"),
                    "find the plugin or the line of wp-config.php that redirects although HTTPS is on: the presets set it for \
                     X-Forwarded-Proto: https; in a configuration of your own: forwarded_scheme_from 127.0.0.1;",
                );
            } else {
                report.fine("behind a proxy that speaks https there is no loop");
            }
        }
    }
}

fn nonces(facts: &Facts, list: &mut Vec<Finding>) {
    let has_nonce =
        facts.pages.iter().filter_map(|page| page.visits.as_ref().ok()).any(|(_, visit)| visit.has_nonce);
    let report = Report::new("nonces", list);
    if !has_nonce {
        return report.fine("no nonce stands in the pages that were looked at");
    }
    let (wordpress, stored) = match (&facts.wordpress, &facts.stored) {
        (Ok(wordpress), Ok(stored)) => (wordpress, stored),
        (Err(why), _) | (_, Err(why)) => {
            return report
                .unseen(format!("nonces stand in pages, and how long these hold is not known: {why}"), "");
        }
    };
    // A nonce is good for half of its life at least.
    let good_s = wordpress.nonce_life_s / 2;
    if stored.longest_s > good_s {
        report.warn(
            format!("pages with nonces hold for up to {} min, their nonces for {} min: forms and scripts in them then fail", stored.longest_s / 60, good_s / 60),
            "install the plugin (myriad wordpress --install-plugin), which ends such pages in time, or lower fastcgi_cache_valid",
        );
    } else if good_s < 3600 {
        report.warn(
            format!("nonces live for {} min only: pages that have one cannot be kept longer", good_s / 60),
            "a plugin shortens nonce_life; let it do so for its own actions alone",
        );
    } else {
        report.fine(format!(
            "nonces in pages are good for {} h, pages hold for {} min at most",
            good_s / 3600,
            stored.longest_s / 60
        ));
    }
}

fn hit_rate(facts: &Facts, report: Report<'_>) {
    match &facts.stored {
        Err(why) => report.unseen(why, "run the doctor as root, with -p PREFIX or --socket PATH"),
        Ok(stored) if stored.requests >= 1000 && stored.hits * 2 < stored.requests => report.warn(
            format!("{} of {} requests for pages were answered from the cache", stored.hits, stored.requests),
            "myriad cache stats and $upstream_cache_status in the access log show which are not",
        ),
        Ok(stored) => report.fine(format!(
            "{} pages are stored; {} of {} requests came from there",
            stored.pages, stored.hits, stored.requests
        )),
    }
}
