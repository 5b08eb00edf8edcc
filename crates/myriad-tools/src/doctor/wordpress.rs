//! Checks of WordPress and its database.

use crate::doctor::availability::is_down;
use crate::doctor::facts::{StackFacts, WordPressFacts};
use crate::doctor::finding::{CheckReport, DoctorFinding};
use crate::doctor::plugins::page_caches;
use crate::doctor::support_dates::{Program, SupportStatus, support};

/// Total size of autoloaded options of WordPress, in bytes, above which a finding is reported.
const AUTOLOAD: u64 = 1 << 20;
/// Number of slow database queries per hour from which on a finding is reported.
const SLOW_PER_HOUR: u64 = 10;

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    let wordpress = match &facts.wordpress {
        Ok(wordpress) => wordpress,
        Err(_) if is_down(facts) => return,
        Err(why) => {
            let remedy = "run the doctor as root, with --root DIR for the site and --php ADDRESS for php-fpm";
            CheckReport::new("wordpress", list)
                .unseen(format!("WordPress could not be checked: {why}"), remedy);
            return;
        }
    };
    database(facts, wordpress, CheckReport::new("database-version", list));
    queries(wordpress, CheckReport::new("slow-queries", list));
    connections(wordpress, CheckReport::new("connections", list));
    object_cache(wordpress, CheckReport::new("object-cache", list));
    autoload(wordpress, CheckReport::new("autoload", list));
    page_cache(facts, wordpress, CheckReport::new("page-cache-plugin", list));
    errors(wordpress, CheckReport::new("shows-errors", list));
    known_visitors(wordpress, CheckReport::new("known-visitors", list));
}

fn database(facts: &StackFacts, wordpress: &WordPressFacts, report: CheckReport<'_>) {
    let version = &wordpress.database;
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    let (program, name) = if is_mariadb { (Program::MariaDb, "MariaDB") } else { (Program::MySql, "MySQL") };
    match support(program, version, facts.now_s) {
        SupportStatus::Ended(day) => report.warn(
            format!("{name} {version} has had no security updates since {day}"),
            "install a newer version; distributions may provide security updates for longer, see their documentation",
        ),
        SupportStatus::Until(day) => report.fine(format!("{name} {version} responds and receives security updates until {day}")),
        SupportStatus::Unknown => report.fine(format!("{name} {version} responds")),
    }
}

fn queries(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    let hours = (wordpress.uptime_s / 3600).max(1);
    let per_hour = wordpress.slow_queries / hours;
    if per_hour >= SLOW_PER_HOUR {
        report.warn(
            format!("{per_hour} queries per hour take longer than long_query_time of the database"),
            "set slow_query_log=1 to log them; usually one plugin or a missing index is the cause",
        );
    } else {
        report.fine(format!("{} slow queries in {hours} h", wordpress.slow_queries));
    }
}

fn connections(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    let (used, most) = (wordpress.used_connections, wordpress.most_connections);
    if most > 0 && used * 10 >= most * 9 {
        report.warn(
            format!("up to {used} of {most} database connections were in use: above this limit pages fail"),
            "set max_connections to at least the number of PHP children; myriad tune --apply writes both",
        );
    } else {
        report.fine(format!("at most {used} of {most} database connections were in use"));
    }
}

fn object_cache(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    if wordpress.object_cache {
        report.fine("an object cache is installed");
    } else {
        report.warn(
            format!("no object cache is installed: WordPress reads shared data from the database for each page ({} queries before a \
                 page starts)", wordpress.queries),
            "install Redis and php-redis, then run myriad wordpress --install-object-cache \
                 redis:/run/redis/redis-server.sock --root DIR",
        );
    }
}

fn autoload(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    let kb = wordpress.autoload >> 10;
    if wordpress.autoload > AUTOLOAD {
        report.warn(
            format!("each page loads {kb} KB of options, most of them left by removed plugins"),
            "run wp option list --autoload=on --format=total_bytes, and wp option set-autoload NAME off for unused options",
        );
    } else {
        report.fine(format!("each page loads {kb} KB of options"));
    }
}

fn page_cache(facts: &StackFacts, wordpress: &WordPressFacts, report: CheckReport<'_>) {
    let names = page_caches(&wordpress.plugins);
    match (&names[..], &facts.advanced_cache) {
        ([], Ok(false)) => report.fine("no plugin has a second page cache"),
        ([], Ok(true)) => report.warn(
            "wp-content/advanced-cache.php exists: it belongs to a removed or unknown page cache plugin",
            "if it is not needed, remove it and the WP_CACHE line in wp-config.php",
        ),
        ([], Err(why)) => report.unseen(why, "specify the folder of the site with --root DIR"),
        (names, _) => report.warn(
            format!(
                "{} also caches pages: each page is stored twice, and purged twice or too late",
                names.join(" and ")
            ),
            "turn its page cache off; its other features (styles, images) can remain on",
        ),
    }
}

fn known_visitors(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    if wordpress.differing.is_empty() {
        report.fine("no page is known to differ for readers and customers outside of its private fragments");
    } else {
        report.warn(
            format!("known visitors get pages from PHP because of {}", wordpress.differing.join("; ")),
            "change the code so that it prints the same for all visitors, or keep it to few pages; to compare again, purge all pages in wp-admin",
        );
    }
}

fn errors(wordpress: &WordPressFacts, report: CheckReport<'_>) {
    if wordpress.shows_errors {
        report.warn(
            "WordPress shows PHP errors to visitors, so cached pages can contain errors",
            "add define( 'WP_DEBUG_DISPLAY', false ); to wp-config.php",
        );
    } else {
        report.fine("PHP errors are not shown to visitors");
    }
}
