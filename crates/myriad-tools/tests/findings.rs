//! Tests of the doctor's checks: a healthy stack has no findings, and each fault is found with a remedy.

use myriad_tools::doctor::{
    CheckedPage, CookieSource, DoctorFinding, FpmChildren, FpmPoolStatus, OpcacheState, PageAsset,
    PageChange, PageVisit, PhpFacts, Severity, StackFacts, StoredPageStats, SwapUsage, UntrustedSenders,
    WordPressFacts, findings,
};

/// Current time of the tests: 2026-11-24, in seconds since the epoch.
const NOW_S: u64 = 1_795_500_000;

fn visit() -> PageVisit {
    PageVisit {
        status: 200,
        first_byte_ms: 1,
        cache: Some("HIT".into()),
        encoding: "gzip".into(),
        media_type: "text/html; charset=UTF-8".into(),
        bytes: 40_000,
        ..PageVisit::default()
    }
}

fn page(kind: &'static str) -> CheckedPage {
    let miss = PageVisit { first_byte_ms: 60, cache: Some("MISS".into()), ..visit() };
    let url = format!("http://a.test/{}", if kind == "home" { "" } else { kind });
    CheckedPage { kind, url, visits: Ok((miss.clone(), visit())), uncached: (kind == "home").then_some(miss) }
}

fn sound() -> StackFacts {
    let asset = PageAsset {
        path: "/a.css".into(),
        status: 200,
        bytes: 9000,
        encoding: "gzip".into(),
        cache_lifetime_s: Some(31_536_000),
        has_validator: true,
        is_minified: true,
    };
    StackFacts {
        now_s: NOW_S,
        memory: Ok(4 << 30),
        descriptors: Ok(65_536),
        backlog: Ok(4096),
        swap: Ok(SwapUsage { total: 0, used: 0 }),
        killed: Ok(Vec::new()),
        php_down: None,
        php: Ok(PhpFacts {
            version: "8.4.1".into(),
            opcache: Ok(Some(OpcacheState {
                used: 60 << 20,
                free: 68 << 20,
                strings: 16 << 20,
                strings_free: 4 << 20,
                keys: 1000,
                most_keys: 7963,
                ..OpcacheState::default()
            })),
            upload: 60 << 20,
            post: 64 << 20,
            memory_limit: Some(256 << 20),
        }),
        pool: Ok(FpmPoolStatus { total: 4, active: 1, queue: 0, reached: 0 }),
        most_children: Ok(16),
        assumed_children: Ok(Some(16)),
        workers: Ok(FpmChildren { largest: 60 << 20, count: 4 }),
        wordpress: Ok(WordPressFacts {
            version: "6.8".into(),
            home: "http://a.test".into(),
            database: "10.11.19-MariaDB".into(),
            object_cache: true,
            plugins: vec!["myriad-cache".into()],
            nonce_life_s: 86_400,
            queries: 3,
            autoload: 100 << 10,
            uptime_s: 7200,
            used_connections: 5,
            most_connections: 60,
            ..WordPressFacts::default()
        }),
        pages: ["home", "post", "page", "feed", "sitemap"].map(page).into(),
        assets: Ok(vec![asset]),
        pictures: 3,
        stored: Ok(StoredPageStats { pages: 60, longest_s: 3600, hits: 900, requests: 1000 }),
        changes: Ok(Vec::new()),
        cookies: Vec::new(),
        uncaching: Vec::new(),
        https_proxy_visit: Ok(visit()),
        senders: Ok(UntrustedSenders::default()),
        advanced_cache: Ok(false),
        exposed: Ok(Vec::new()),
        htaccess_remarks: Ok(Vec::new()),
    }
}

/// Returns the findings, except those without a problem, of a healthy stack that `change` has modified.
fn wrong(change: impl FnOnce(&mut StackFacts)) -> Vec<DoctorFinding> {
    let mut facts = sound();
    change(&mut facts);
    findings(&facts).into_iter().filter(|finding| finding.severity != Severity::Fine).collect()
}

fn change_home(facts: &mut StackFacts, change: impl Fn(&mut PageVisit)) {
    if let Ok((first, second)) = &mut facts.pages[0].visits {
        change(first);
        change(second);
    }
}

fn php(facts: &mut StackFacts) -> &mut PhpFacts {
    facts.php.as_mut().expect("PHP")
}

fn opcache(facts: &mut StackFacts) -> &mut OpcacheState {
    php(facts).opcache.as_mut().expect("seen").as_mut().expect("OPcache")
}

fn wordpress(facts: &mut StackFacts) -> &mut WordPressFacts {
    facts.wordpress.as_mut().expect("WordPress")
}

fn asset(facts: &mut StackFacts) -> &mut PageAsset {
    &mut facts.assets.as_mut().expect("assets")[0]
}

#[test]
fn sound_stack_has_no_findings() {
    assert_eq!(wrong(|_| {}), []);
    let all = findings(&sound());
    assert!(all.len() > 25 && all.iter().all(|finding| !finding.what.is_empty()), "{all:#?}");
}

type FaultCase = (&'static str, Severity, &'static str, fn(&mut StackFacts));

/// Faults, each with the check that finds it, the severity, a part of the text, and the change of the facts.
const FAULTS: &[FaultCase] = &[
    ("descriptors", Severity::Warning, "1024 files", |facts| facts.descriptors = Ok(1024)),
    ("backlog", Severity::Warning, "128 connections", |facts| facts.backlog = Ok(128)),
    ("swap", Severity::Warning, "100 MB are swapped", |facts| {
        facts.swap = Ok(SwapUsage { total: 1 << 30, used: 100 << 20 });
    }),
    ("swap", Severity::Bad, "900 MB are swapped", |facts| {
        facts.swap = Ok(SwapUsage { total: 1 << 30, used: 900 << 20 });
    }),
    ("oom", Severity::Bad, "3 processes: php-fpm8.2 (2 times), mariadbd", |facts| {
        facts.killed = Ok(["php-fpm8.2", "mariadbd", "php-fpm8.2"].map(String::from).into());
    }),
    ("php-version", Severity::Warning, "since 2022-11-28", |facts| php(facts).version = "7.4.33".into()),
    ("opcache-off", Severity::Bad, "OPcache is off", |facts| php(facts).opcache = Ok(None)),
    ("opcache-full", Severity::Warning, "2 MB of 128 MB are free", |facts| {
        (opcache(facts).used, opcache(facts).free) = (126 << 20, 2 << 20);
    }),
    ("opcache-full", Severity::Warning, "7900 of 7963 files", |facts| opcache(facts).keys = 7900),
    ("opcache-full", Severity::Warning, "for strings are full", |facts| {
        opcache(facts).strings_free = 1000;
    }),
    ("opcache-full", Severity::Warning, "restarted 2 times", |facts| opcache(facts).restarts = 2),
    ("upload-sizes", Severity::Warning, "large uploads fail", |facts| php(facts).upload = 65 << 20),
    ("children-too-few", Severity::Warning, "7 times", |facts| {
        facts.pool.as_mut().expect("pool").reached = 7;
    }),
    ("children-too-many", Severity::Bad, "100 children of 60 MB", |facts| {
        (facts.most_children, facts.assumed_children) = (Ok(100), Ok(Some(100)));
    }),
    ("children-assumed", Severity::Warning, "28 of them wait in php-fpm", |facts| {
        (facts.most_children, facts.assumed_children) = (Ok(4), Ok(Some(32)));
    }),
    (
        "children-assumed",
        Severity::Warning,
        "can start 20 children, but Myriad sends it at most 5",
        |facts| {
            (facts.most_children, facts.assumed_children) = (Ok(20), Ok(Some(5)));
        },
    ),
    ("php-down", Severity::Bad, "nothing listens there", |facts| {
        facts.php_down = Some("php-fpm at /run/php.sock: nothing listens there".into());
        facts.php = Err("refused".into());
        facts.pool = Err("refused".into());
        facts.wordpress = Err("refused".into());
    }),
    ("trusted-proxy", Severity::Warning, "40 requests with X-Forwarded-For came from 192.0.2.7", |facts| {
        facts.senders = Ok(UntrustedSenders { requests: vec![("192.0.2.7".into(), 40)], others: 4 });
    }),
    ("database", Severity::Bad, "cannot connect to its database", |facts| {
        facts.wordpress = Err("Error establishing a database connection".into());
    }),
    ("database-version", Severity::Warning, "MySQL 5.7.44", |facts| {
        wordpress(facts).database = "5.7.44".into();
    }),
    ("slow-queries", Severity::Warning, "50 queries per hour", |facts| wordpress(facts).slow_queries = 100),
    ("connections", Severity::Warning, "58 of 60", |facts| wordpress(facts).used_connections = 58),
    ("object-cache", Severity::Warning, "no object cache", |facts| wordpress(facts).object_cache = false),
    ("autoload", Severity::Warning, "3072 KB", |facts| wordpress(facts).autoload = 3 << 20),
    ("page-cache-plugin", Severity::Warning, "W3 Total Cache", |facts| {
        wordpress(facts).plugins.push("w3-total-cache".into());
    }),
    ("page-cache-plugin", Severity::Warning, "advanced-cache.php", |facts| facts.advanced_cache = Ok(true)),
    ("files-denied", Severity::Bad, "/wp-content/uploads/sold/book.pdf", |facts| {
        facts.exposed = Ok(vec!["/wp-content/uploads/sold/book.pdf".into()]);
    }),
    ("htaccess-rules", Severity::Warning, "/srv/a/.htaccess:1: <If x>", |facts| {
        facts.htaccess_remarks =
            Ok(vec!["/srv/a/.htaccess:1: <If x>: its condition is not evaluated".into()]);
    }),
    ("known-visitors", Severity::Warning, "pages from PHP because of is_user_logged_in", |facts| {
        wordpress(facts).differing = vec!["is_user_logged_in in plugins/a/a.php:7 (post)".to_owned()];
    }),
    ("shows-errors", Severity::Warning, "shows PHP errors", |facts| wordpress(facts).shows_errors = true),
    (
        "page-not-cached",
        Severity::Bad,
        "the cookie visit_id for all visitors, set by plugins/counter",
        |facts| {
            facts.cookies = vec![CookieSource {
                cookie: "visit_id".into(),
                places: vec!["plugins/counter".into()],
                setters: Vec::new(),
            }];
            change_home(facts, |visit| {
                (visit.cache, visit.cookies) = (Some("MISS".into()), vec!["visit_id".into()]);
            });
        },
    ),
    (
        "page-not-cached",
        Severity::Bad,
        "Cache-Control: no-store, private; possibly set by plugins/members",
        |facts| {
            facts.uncaching = vec!["plugins/members".into()];
            change_home(facts, |visit| {
                (visit.cache, visit.cache_control) = (Some("MISS".into()), "no-store, private".into());
            });
        },
    ),
    ("page-not-cached", Severity::Bad, "its headers do not contain the reason", |facts| {
        change_home(facts, |visit| visit.cache = Some("BYPASS".into()));
    }),
    (
        "cookie-dropped",
        Severity::Warning,
        "home: it sets the cookie visit_id for all visitors, set by plugins/counter",
        |facts| {
            facts.cookies = vec![CookieSource {
                cookie: "visit_id".into(),
                places: vec!["plugins/counter".into()],
                setters: Vec::new(),
            }];
            facts.pages[0].uncached.as_mut().expect("uncached").cookies = vec!["visit_id".into()];
        },
    ),
    ("cookie-stored", Severity::Bad, "which all visitors receive", |facts| {
        change_home(facts, |visit| visit.cookies = vec!["a".into()]);
    }),
    ("redirect-loop", Severity::Bad, "redirects to itself", |facts| {
        change_home(facts, |visit| (visit.status, visit.location) = (301, Some("http://a.test/".into())));
    }),
    ("address", Severity::Warning, "https://www.a.test/", |facts| {
        change_home(facts, |visit| {
            (visit.status, visit.location) = (301, Some("https://www.a.test/".into()));
        });
    }),
    ("tls-proxy", Severity::Bad, "https://a.test/ redirects to itself", |facts| {
        facts.https_proxy_visit =
            Ok(PageVisit { status: 301, location: Some("https://a.test/".into()), ..visit() });
    }),
    ("status", Severity::Bad, "returns status 502", |facts| change_home(facts, |visit| visit.status = 502)),
    ("compression", Severity::Warning, "39 KB", |facts| {
        change_home(facts, |visit| visit.encoding = String::new());
    }),
    ("ttfb-hit", Severity::Warning, "200 ms", |facts| change_home(facts, |visit| visit.first_byte_ms = 200)),
    ("ttfb-miss", Severity::Warning, "PHP needs 2500 ms", |facts| {
        facts.pages[0].uncached.as_mut().expect("uncached").first_byte_ms = 2500;
    }),
    (
        "nonces",
        Severity::Warning,
        "are cached for up to 2880 min, but their nonces are valid for 720 min",
        |facts| {
            facts.stored.as_mut().expect("stored").longest_s = 172_800;
            change_home(facts, |visit| visit.has_nonce = true);
        },
    ),
    ("nonces", Severity::Warning, "are valid for only 5 min", |facts| {
        (wordpress(facts).nonce_life_s, facts.stored.as_mut().expect("stored").longest_s) = (600, 60);
        change_home(facts, |visit| visit.has_nonce = true);
    }),
    ("hit-rate", Severity::Warning, "300 of 1000", |facts| facts.stored.as_mut().expect("stored").hits = 300),
    ("files-missing", Severity::Warning, "1 files do not return status 200: /a.css", |facts| {
        asset(facts).status = 404;
    }),
    ("files-compression", Severity::Warning, "/a.css", |facts| asset(facts).encoding = String::new()),
    ("files-expires", Severity::Warning, "/a.css", |facts| asset(facts).cache_lifetime_s = None),
    ("files-etag", Severity::Warning, "/a.css", |facts| asset(facts).has_validator = false),
    ("files-minified", Severity::Warning, "/a.css", |facts| asset(facts).is_minified = false),
    ("requests", Severity::Warning, "44 requests: 40 style sheets", |facts| {
        let asset = asset(facts).clone();
        facts.assets = Ok(vec![asset; 40]);
    }),
];

#[test]
fn each_fault_is_found_alone_and_has_a_remedy() {
    for (check, severity, part, change) in FAULTS {
        let found = wrong(*change);
        let [finding] = &found[..] else { panic!("{check}: {found:#?}") };
        assert_eq!((finding.check, finding.severity), (*check, *severity), "{finding:?}");
        assert!(finding.what.contains(part), "{part}: {finding:?}");
        assert!(!finding.remedy.is_empty(), "{finding:?}");
    }
}

#[test]
fn what_could_not_be_looked_at_is_never_fine() {
    let not = || "not looked at".to_owned();
    let found = wrong(|facts| {
        facts.descriptors = Err(not());
        facts.backlog = Err(not());
        facts.swap = Err(not());
        facts.killed = Err(not());
        facts.php = Err(not());
        facts.pool = Err(not());
        facts.most_children = Err(not());
        facts.assumed_children = Err(not());
        facts.senders = Err(not());
        facts.workers = Err(not());
        facts.wordpress = Err(not());
        facts.assets = Err(not());
        facts.stored = Err(not());
        facts.exposed = Err(not());
        facts.htaccess_remarks = Err(not());
        facts.https_proxy_visit = Err(not());
        facts.pages[1].visits = Err(not());
        facts.pages[0].uncached = None;
    });
    assert!(found.iter().all(|finding| finding.severity == Severity::Unseen), "{found:#?}");
    for check in [
        "descriptors",
        "backlog",
        "swap",
        "oom",
        "php",
        "children-too-few",
        "children-too-many",
        "children-assumed",
        "trusted-proxy",
        "wordpress",
        "page",
        "files",
        "files-denied",
        "htaccess-rules",
        "hit-rate",
    ] {
        assert!(found.iter().any(|finding| finding.check == check), "{check}");
    }
}

#[test]
fn clients_that_claim_addresses_are_no_proxy() {
    let requests = (0..20).map(|client| (format!("198.51.100.{client}"), 3)).collect();
    let senders = UntrustedSenders { requests, others: 9 };
    assert_eq!(wrong(|facts| facts.senders = Ok(senders)), []);
    let few = UntrustedSenders { requests: vec![("192.0.2.7".into(), 2)], others: 0 };
    assert_eq!(wrong(|facts| facts.senders = Ok(few)), []);
}

#[test]
fn what_everything_depends_on_comes_before_what_follows_from_it() {
    let down = |change: fn(&mut StackFacts)| {
        wrong(|facts| {
            php(facts).opcache = Ok(None);
            change_home(facts, |visit| visit.status = 503);
            if let Ok((first, second)) = &mut facts.pages[3].visits {
                (first.status, second.status) = (503, 503);
            }
            change(facts);
        })
    };
    let found = down(|facts| {
        facts.php_down = Some("php-fpm at /run/php.sock: nothing listens there".into());
        facts.php = Err("refused".into());
        facts.wordpress = Err("refused".into());
    });
    assert_eq!((found[0].check, found[0].severity), ("php-down", Severity::Bad), "{found:#?}");
    let status = found.iter().find(|finding| finding.check == "status").expect("a page with 503");
    assert_eq!(status.remedy, "this is a consequence of the first finding");
    assert!(!found.iter().any(|finding| ["php", "wordpress"].contains(&finding.check)), "{found:#?}");
    let found = down(|facts| facts.wordpress = Err("Error establishing a database connection".into()));
    assert_eq!((found[0].check, found[0].severity), ("database", Severity::Bad), "{found:#?}");
}

#[test]
fn unannounced_changes_are_reported_with_their_causes_or_the_tables_of_the_page() {
    let change = PageChange {
        page: "a.test/now/".into(),
        at_s: NOW_S - 600,
        before: "sunny".into(),
        after: "rainy".into(),
        tags: vec!["wp1-p7".into(), "wp1-db.weather".into()],
    };
    let found = wrong(|facts| facts.changes = Ok(vec![change.clone()]));
    assert_eq!((found[0].check, found[0].severity), ("unannounced-changes", Severity::Warning));
    let text = "a.test/now/ changed without a purge 10 min ago: \"sunny\" is now \"rainy\"; it reads the tables of plugins weather.";
    assert_eq!(found[0].what, text);
    let found = wrong(|facts| {
        facts.changes = Ok(vec![change]);
        wordpress(facts).changes = vec!["by the plugin".into()];
    });
    assert_eq!(found[0].what, "by the plugin");
}

#[test]
fn worst_comes_first() {
    let found = wrong(|facts| {
        facts.backlog = Ok(128);
        facts.killed = Err("not looked at".into());
        php(facts).opcache = Ok(None);
    });
    let order: Vec<_> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(order, [Severity::Bad, Severity::Warning, Severity::Unseen]);
}
