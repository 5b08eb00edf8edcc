//! Checks of pages as received by a visitor.

use crate::doctor::availability::is_down;
use crate::doctor::facts::{CheckedPage, CookieSource, PageChange, PageVisit, StackFacts};
use crate::doctor::finding::{CheckReport, DoctorFinding};

/// Time to the first byte in milliseconds above which the doctor reports a stored page, requested on the same machine,
/// as slow.
const SLOW_HIT_MS: u64 = 50;
const SLOW_MISS_MS: u64 = 1000;
/// Length of a page, in bytes, from which the doctor reports missing compression; it has little effect on shorter
/// pages.
const SMALL: u64 = 1024;

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    for page in &facts.pages {
        match &page.visits {
            Err(why) => CheckReport::new("page", list)
                .unseen(format!("{} ({}) could not be checked: {why}", page.kind, page.url), ""),
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
    check_https_proxy(facts, list);
    nonces(facts, list);
    hit_rate(facts, CheckReport::new("hit-rate", list));
    changes(facts, CheckReport::new("unannounced-changes", list));
}

/// Reports pages that changed without a purge: by the descriptions of the plugin, if it has any (they include causes);
/// otherwise by the texts before and after, and the plugin tables that each page reads (from its tags).
fn changes(facts: &StackFacts, report: CheckReport<'_>) {
    let described =
        facts.wordpress.as_ref().map(|wordpress| wordpress.changes.as_slice()).unwrap_or_default();
    let changes = match &facts.changes {
        _ if !described.is_empty() => described.join(" "),
        Ok(changes) if changes.is_empty() => return report.fine("no page changed without a purge"),
        Ok(changes) => {
            changes.iter().map(|change| change_text(change, facts.now_s)).collect::<Vec<_>>().join(" ")
        }
        Err(why) => return report.unseen(why, "run the doctor as root, with -p PREFIX or --socket PATH"),
    };
    report.warn(
        changes,
        "visitors see such changes when the validity of the page is over; shorten it with the filter myriad_cache_validity, or purge the \
             page after the change (docs/purge.md)",
    );
}

fn change_text(change: &PageChange, now_s: u64) -> String {
    let PageChange { page, at_s, before, after, tags } = change;
    let minutes = now_s.saturating_sub(*at_s) / 60;
    let tables: Vec<&str> = tags.iter().filter_map(|tag| Some(tag.split_once("-db.")?.1)).collect();
    let read = if tables.is_empty() {
        String::new()
    } else {
        format!("; it reads the tables of plugins {}", tables.join(", "))
    };
    format!("{page} changed without a purge {minutes} min ago: \"{before}\" is now \"{after}\"{read}.")
}

/// Reports a redirect of a page. Returns `true` if the response is a redirect, so that the page cannot be checked
/// further.
fn redirects(page: &CheckedPage, visit: &PageVisit, list: &mut Vec<DoctorFinding>) -> bool {
    let Some(location) =
        visit.location.as_ref().filter(|_| (300..400).contains(&visit.status) && visit.status != 304)
    else {
        return false;
    };
    let url = &page.url;
    if location == url {
        CheckReport::new("redirect-loop", list).bad(
            format!("{url} redirects to itself: browsers report a redirect loop"),
            "WordPress does not see the address that browsers request: a proxy in front terminates https without \
                 reporting it, or changes Host; configure the proxy to send X-Forwarded-Proto: https and the original \
                 Host, and add --trusted-proxy ADDRESS unless the proxy is on this machine or in a private network",
        );
    } else if page.kind == "home" {
        CheckReport::new("address", list).warn(
            format!("{url} redirects to {location}: the results for the other pages are not meaningful"),
            format!("check that address: myriad doctor {location}"),
        );
    } else {
        CheckReport::new("redirect", list).fine(format!("{} redirects to {location}", page.kind));
    }
    true
}

/// Reports an unexpected status of a page. Returns `true` if the status is as expected: 404 for the page of the kind
/// `404`, otherwise 200.
fn answers(facts: &StackFacts, page: &CheckedPage, visit: &PageVisit, list: &mut Vec<DoctorFinding>) -> bool {
    let expected = if page.kind == "404" { 404 } else { 200 };
    if visit.status == expected {
        return true;
    }
    let report = CheckReport::new("status", list);
    if visit.status >= 500 {
        report.bad(
            format!("{} ({}) returns status {}", page.kind, page.url, visit.status),
            if is_down(facts) {
                "this is a consequence of the first finding"
            } else {
                "see the error logs of Myriad and php-fpm"
            },
        );
    } else {
        report.warn(
            format!("{} ({}) returns status {}", page.kind, page.url, visit.status),
            "check the address",
        );
    }
    false
}

fn caching(facts: &StackFacts, page: &CheckedPage, visit: &PageVisit, list: &mut Vec<DoctorFinding>) {
    let (kind, state) = (page.kind, visit.cache.as_deref().unwrap_or(""));
    let report = CheckReport::new("page-not-cached", list);
    match state {
        "HIT" | "STALE" | "UPDATING" | "REVALIDATED" => {
            report.fine(format!("{kind} is served from the cache"));
            if !visit.cookies.is_empty() {
                CheckReport::new("cookie-stored", list).bad(
                    format!("{kind}: served from the cache with a cookie ({}), which all visitors receive", visit.cookies.join(", ")),
                    "a stored page must not contain a cookie of one visitor: check *_cache_valid and *_ignore_headers in the configuration",
                );
            }
        }
        "" => report.unseen(
            format!("{kind}: no X-Cache header, so it is unknown whether the page is served from the cache"),
            "check that Myriad with the WordPress preset serves this address; with another configuration, add cache_debug on;",
        ),
        // 404 pages are seldom requested twice, and WordPress 6.8 marks them `private`.
        _ if kind == "404" => report.fine("404 pages are generated by PHP on each request, which is normal"),
        _ => {
            let (why, remedy) = reason(facts, visit);
            let what = format!("{kind}: generated by PHP for each visitor ({state}): {why}");
            if kind == "home" || kind == "post" { report.bad(what, remedy) } else { report.warn(what, remedy) }
        }
    }
}

/// Returns the probable reason why a page is not stored, and a remedy: a cookie that it sets, otherwise its headers.
fn reason(facts: &StackFacts, visit: &PageVisit) -> (String, String) {
    if let Some(cookie) = visit.cookies.first() {
        let (origin, remedy) = origin(facts, cookie);
        return (format!("it sets the cookie {cookie} for all visitors{origin}"), remedy);
    }
    let directives = visit.cache_control.to_ascii_lowercase();
    let word = ["no-store", "private", "no-cache", "max-age=0", "s-maxage=0"]
        .into_iter()
        .find(|word| directives.contains(word));
    if let Some(word) = word {
        let source = if facts.uncaching.is_empty() {
            String::new()
        } else {
            format!("; possibly set by {}", facts.uncaching.join(", "))
        };
        return (
            format!("it sends Cache-Control: {}{source}", visit.cache_control),
            format!(
                "find the plugin that sets {word} (DONOTCACHEPAGE, nocache_headers, session_start), and disable this for visitors"
            ),
        );
    }
    if visit.vary.contains('*') {
        return (
            "it sends Vary: *".to_owned(),
            "find the plugin that sends this header, which makes a page uncacheable".to_owned(),
        );
    }
    let status = visit.cache_status.as_ref().map(|status| format!(" ({status})")).unwrap_or_default();
    (
        format!("its headers do not contain the reason{status}"),
        "run myriad -t --explain URL, or myriad wordpress ... -t --explain URL, to see how the request is processed".to_owned(),
    )
}

/// Returns the plugin or theme that probably sets a cookie, as a text that follows the cookie's name, and a remedy.
fn origin(facts: &StackFacts, cookie: &str) -> (String, String) {
    let source = facts.cookies.iter().find(|source| source.cookie == cookie);
    let Some(CookieSource { places, setters, .. }) = source else {
        return (
            "; the files of the site were not searched".to_owned(),
            "use --root DIR, so that the doctor can search the site for the plugin that contains this name"
                .to_owned(),
        );
    };
    match places.as_slice() {
        [] if !setters.is_empty() => (
            format!(
                "; no plugin or theme contains this name, but {} set cookies",
                setters.join(", ")
            ),
            "deactivate these one by one until the cookie disappears: one of them composes the name at run time".to_owned(),
        ),
        [] => (
            "; no plugin or theme contains this name".to_owned(),
            "find its origin: deactivate plugins one by one, or search for setcookie in wp-content".to_owned(),
        ),
        places => (
            format!(", set by {}", places.join(" or ")),
            format!(
                "set the cookie with JavaScript, or only on pages that need it, or deactivate {}",
                if places.len() == 1 { "it" } else { "them" }
            ),
        ),
    }
}

/// Reports a cookie that PHP sets but the stored page lacks: visitors served from the cache never receive it.
fn dropped(
    facts: &StackFacts,
    page: &CheckedPage,
    first: &PageVisit,
    second: &PageVisit,
    list: &mut Vec<DoctorFinding>,
) {
    let made = page.uncached.as_ref().unwrap_or(first);
    if let (Some(cookie), Some("HIT"), true) =
        (made.cookies.first(), second.cache.as_deref(), second.cookies.is_empty())
    {
        let (origin, remedy) = origin(facts, cookie);
        CheckReport::new("cookie-dropped", list).warn(
            format!(
                "{}: it sets the cookie {cookie} for all visitors{origin}; cached pages are sent without this cookie",
                page.kind
            ),
            remedy,
        );
    }
}

fn compression(page: &CheckedPage, visit: &PageVisit, list: &mut Vec<DoctorFinding>) {
    let is_text = ["text/", "xml", "json", "javascript"].iter().any(|word| visit.media_type.contains(word));
    if visit.bytes < SMALL || !is_text {
        return;
    }
    if visit.encoding.is_empty() || visit.encoding == "identity" {
        CheckReport::new("compression", list).warn(
            format!(
                "{} is sent without compression: {} KB instead of about a fifth",
                page.kind,
                visit.bytes >> 10
            ),
            format!(
                "set gzip on; and add {} to gzip_types, as in the WordPress preset",
                visit.media_type.split(';').next().unwrap_or_default()
            ),
        );
    } else {
        CheckReport::new("compression", list)
            .fine(format!("{} is compressed with {}", page.kind, visit.encoding));
    }
}

fn times(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    let Some(home) = facts.pages.iter().find(|page| page.kind == "home") else { return };
    if let Ok((_, hit)) = &home.visits
        && hit.cache.as_deref() == Some("HIT")
    {
        let ms = hit.first_byte_ms;
        if ms > SLOW_HIT_MS {
            CheckReport::new("ttfb-hit", list).warn(
                format!("the time to first byte of a cached page is {ms} ms, measured on the machine itself"),
                "check with top and vmstat 1 whether the machine is overloaded or swapping",
            );
        } else {
            CheckReport::new("ttfb-hit", list)
                .fine(format!("the time to first byte of a cached page is {ms} ms"));
        }
    }
    let Some(miss) = &home.uncached else {
        CheckReport::new("ttfb-miss", list).unseen("no page was generated by PHP during the check", "");
        return;
    };
    let ms = miss.first_byte_ms;
    if ms > SLOW_MISS_MS {
        CheckReport::new("ttfb-miss", list).warn(
            format!(
                "PHP needs {ms} ms for the home page: visitors who bypass the cache, and the first visitor, wait that long"
            ),
            "use an object cache and OPcache; the plugin Query Monitor shows which plugin is slow",
        );
    } else {
        CheckReport::new("ttfb-miss", list).fine(format!("PHP needs {ms} ms for the home page"));
    }
}

/// Checks that WordPress recognises https if a proxy in front of Myriad terminates TLS.
fn check_https_proxy(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    let Some(home) = facts.pages.iter().find(|page| page.kind == "home") else { return };
    let report = CheckReport::new("tls-proxy", list);
    match &facts.https_proxy_visit {
        Err(why) => report.unseen(why, ""),
        Ok(visit) => {
            let secure = home.url.replacen("http://", "https://", 1);
            if (300..400).contains(&visit.status) && visit.location.as_deref() == Some(&secure) {
                report.bad(
                    format!("with a proxy that terminates https, {secure} redirects to itself: browsers report a redirect loop"),
                    "find the plugin or the line of wp-config.php that redirects although HTTPS is on: the presets set HTTPS if the \
                         request has X-Forwarded-Proto: https; in a custom configuration, add forwarded_scheme_from 127.0.0.1;",
                );
            } else {
                report.fine("no redirect loop with a proxy that terminates https");
            }
        }
    }
}

fn nonces(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    let has_nonce =
        facts.pages.iter().filter_map(|page| page.visits.as_ref().ok()).any(|(_, visit)| visit.has_nonce);
    let report = CheckReport::new("nonces", list);
    if !has_nonce {
        return report.fine("the checked pages contain no nonce");
    }
    let (wordpress, stored) = match (&facts.wordpress, &facts.stored) {
        (Ok(wordpress), Ok(stored)) => (wordpress, stored),
        (Err(why), _) | (_, Err(why)) => {
            return report.unseen(
                format!("pages contain nonces, but the lifetime of pages or nonces is unknown: {why}"),
                "",
            );
        }
    };
    // Every nonce is valid for at least half of its maximum lifetime.
    let good_s = wordpress.nonce_life_s / 2;
    if stored.longest_s > good_s {
        report.warn(
            format!("pages with nonces are cached for up to {} min, but their nonces are valid for {} min: then forms and scripts in \
                 these pages fail", stored.longest_s / 60, good_s / 60),
            "install the plugin (myriad wordpress --install-plugin), which limits the lifetime of such pages, or lower \
                 fastcgi_cache_valid",
        );
    } else if good_s < 3600 {
        report.warn(
            format!(
                "nonces are valid for only {} min: pages that contain one cannot be cached longer",
                good_s / 60
            ),
            "a plugin shortens nonce_life; configure it to do so only for its own actions",
        );
    } else {
        report.fine(format!(
            "nonces in pages are valid for {} h, pages are cached for at most {} min",
            good_s / 3600,
            stored.longest_s / 60
        ));
    }
}

fn hit_rate(facts: &StackFacts, report: CheckReport<'_>) {
    match &facts.stored {
        Err(why) => report.unseen(why, "run the doctor as root, with -p PREFIX or --socket PATH"),
        Ok(stored) if stored.requests >= 1000 && stored.hits * 2 < stored.requests => report.warn(
            format!("{} of {} requests for pages were served from the cache", stored.hits, stored.requests),
            "for the other requests, see myriad cache stats, and $upstream_cache_status in the access log",
        ),
        Ok(stored) => report.fine(format!(
            "{} pages are stored; {} of {} requests were served from the cache",
            stored.pages, stored.hits, stored.requests
        )),
    }
}
