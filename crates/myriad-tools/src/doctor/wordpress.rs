//! Checks of `WordPress` and its database.

use crate::doctor::down::is_down;
use crate::doctor::facts::{Facts, WordPress};
use crate::doctor::finding::{Finding, Report};
use crate::doctor::lifetimes::{Program, Support, support};
use crate::doctor::plugins::page_caches;

/// Size of the options that each page loads, in bytes, above which pages become slower.
const AUTOLOAD: u64 = 1 << 20;
/// Number of slow queries per hour above which a finding is reported.
const SLOW_PER_HOUR: u64 = 10;

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    let wordpress = match &facts.wordpress {
        Ok(wordpress) => wordpress,
        Err(_) if is_down(facts) => return,
        Err(why) => {
            let remedy =
                "name the site with --root DIR and php-fpm with --php ADDRESS, and run the doctor as root";
            Report::new("wordpress", list).unseen(format!("WordPress could not be asked: {why}"), remedy);
            return;
        }
    };
    database(facts, wordpress, Report::new("database-version", list));
    queries(wordpress, Report::new("slow-queries", list));
    connections(wordpress, Report::new("connections", list));
    object_cache(wordpress, Report::new("object-cache", list));
    autoload(wordpress, Report::new("autoload", list));
    page_cache(facts, wordpress, Report::new("page-cache-plugin", list));
    errors(wordpress, Report::new("shows-errors", list));
}

fn database(facts: &Facts, wordpress: &WordPress, report: Report<'_>) {
    let version = &wordpress.database;
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    let (program, name) = if is_mariadb { (Program::MariaDb, "MariaDB") } else { (Program::MySql, "MySQL") };
    match support(program, version, facts.now_s) {
        Support::Ended(day) => report.warn(
            format!("{name} {version}: its makers have mended no hole in it since {day}"),
            "install a newer one; a distribution may mend it longer, which its pages say",
        ),
        Support::Until(day) => report.fine(format!("{name} {version}, mended until {day}; it answers")),
        Support::Unknown => report.fine(format!("{name} {version}; it answers")),
    }
}

fn queries(wordpress: &WordPress, report: Report<'_>) {
    let hours = (wordpress.uptime_s / 3600).max(1);
    let per_hour = wordpress.slow_queries / hours;
    if per_hour >= SLOW_PER_HOUR {
        report.warn(
            format!("{per_hour} queries an hour are slow, beyond the database's long_query_time"),
            "slow_query_log=1 shows them; most come of one plugin, or of a table without an index",
        );
    } else {
        report.fine(format!("{} slow queries in {hours} h", wordpress.slow_queries));
    }
}

fn connections(wordpress: &WordPress, report: Report<'_>) {
    let (used, most) = (wordpress.used_connections, wordpress.most_connections);
    if most > 0 && used * 10 >= most * 9 {
        report.warn(
            format!("up to {used} of {most} connections to the database were used: beyond that pages fail"),
            "max_connections at least as high as there are children of PHP; myriad tune --apply writes both",
        );
    } else {
        report.fine(format!("at most {used} of {most} connections to the database were used"));
    }
}

fn object_cache(wordpress: &WordPress, report: Report<'_>) {
    if wordpress.object_cache {
        report.fine("there is an object cache");
    } else {
        report.warn(
            format!("there is no object cache: what pages share is asked of the database each time ({} queries before a page begins)", wordpress.queries),
            "install Redis and php-redis, then: myriad wordpress --install-object-cache redis:/run/redis/redis-server.sock --root DIR",
        );
    }
}

fn autoload(wordpress: &WordPress, report: Report<'_>) {
    let kb = wordpress.autoload >> 10;
    if wordpress.autoload > AUTOLOAD {
        report.warn(
            format!("each page loads {kb} KB of options, most of which plugins have left behind"),
            "wp option list --autoload=on --format=total_bytes, and wp option set-autoload NAME off for what nobody needs",
        );
    } else {
        report.fine(format!("each page loads {kb} KB of options"));
    }
}

fn page_cache(facts: &Facts, wordpress: &WordPress, report: Report<'_>) {
    let names = page_caches(&wordpress.plugins);
    match (&names[..], &facts.advanced_cache) {
        ([], Ok(false)) => report.fine("no plugin keeps pages a second time"),
        ([], Ok(true)) => report.warn(
            "wp-content/advanced-cache.php is there: a plugin that keeps pages has left it, or is no longer known",
            "if nothing of yours needs it, remove it, and the line of WP_CACHE in wp-config.php",
        ),
        ([], Err(why)) => report.unseen(why, "name the site with --root DIR"),
        (names, _) => report.warn(
            format!("{} keeps pages, too: each is stored twice, and purged twice or too late", names.join(" and ")),
            "turn its page cache off; what else it does (styles, pictures) may stay",
        ),
    }
}

fn errors(wordpress: &WordPress, report: Report<'_>) {
    if wordpress.shows_errors {
        report.warn(
            "WordPress shows errors of PHP to visitors, and they would stand in stored pages",
            "define( 'WP_DEBUG_DISPLAY', false ); in wp-config.php",
        );
    } else {
        report.fine("errors of PHP are not shown to visitors");
    }
}
