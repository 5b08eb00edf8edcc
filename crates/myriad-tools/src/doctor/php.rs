//! Checks of PHP: `OPcache`, children, sizes, version.

use std::cmp::Ordering;

use crate::doctor::facts::{Facts, Opcache, Php, Pool};
use crate::doctor::finding::{Finding, Report};
use crate::doctor::lifetimes::{Program, Support, support};

const TUNE: &str = "myriad tune --apply writes settings that fit this machine and site";
/// Remedy if PHP could not be examined.
const LOOK: &str = "name php-fpm with --php ADDRESS, the site with --root DIR, and run the doctor as root";

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    if facts.php_down.is_some() {
        return;
    }
    match &facts.php {
        Err(why) => Report::new("php", list).unseen(format!("PHP could not be asked: {why}"), LOOK),
        Ok(php) => {
            version(facts, php, Report::new("php-version", list));
            opcache(php, list);
            sizes(php, Report::new("upload-sizes", list));
        }
    }
    few_children(facts, Report::new("children-too-few", list));
    many_children(facts, Report::new("children-too-many", list));
    assumed_children(facts, Report::new("children-assumed", list));
}

fn version(facts: &Facts, php: &Php, report: Report<'_>) {
    let version = &php.version;
    match support(Program::Php, version, facts.now_s) {
        Support::Ended(day) => report.warn(
            format!("PHP {version}: its makers have mended no hole in it since {day}"),
            "install a newer PHP; a distribution may mend it longer, which its pages say",
        ),
        Support::Until(day) => report.fine(format!("PHP {version}, mended until {day}")),
        Support::Unknown => report.fine(format!("PHP {version}")),
    }
}

fn opcache(php: &Php, list: &mut Vec<Finding>) {
    let opcache = match &php.opcache {
        Ok(opcache) => opcache,
        Err(why) => return Report::new("opcache-off", list).unseen(why, "leave opcache.restrict_api empty"),
    };
    let Some(opcache) = opcache else {
        Report::new("opcache-off", list).bad(
            "OPcache is off: each page compiles some hundred files anew and takes four times as long",
            format!("opcache.enable=1 in php.ini, and install php-opcache where it is missing; {TUNE}"),
        );
        return;
    };
    Report::new("opcache-off", list).fine("OPcache is on");
    match fullness(opcache) {
        Some(what) => Report::new("opcache-full", list)
            .warn(format!("OPcache is full: {what}. Files beyond that are compiled for each page"), TUNE),
        None => Report::new("opcache-full", list).fine(format!(
            "OPcache has {} MB of {} MB free",
            opcache.free >> 20,
            (opcache.free + opcache.used) >> 20
        )),
    }
}

/// Returns the exhausted parts of `OPcache`.
fn fullness(opcache: &Opcache) -> Option<String> {
    let all = opcache.used + opcache.free;
    if opcache.restarts > 0 {
        return Some(format!("it began anew {} times for want of room", opcache.restarts));
    }
    if opcache.is_full || opcache.free < all / 20 {
        return Some(format!("{} MB of {} MB are free", opcache.free >> 20, all >> 20));
    }
    if opcache.keys * 20 >= opcache.most_keys * 19 {
        return Some(format!("{} of {} files are in its table", opcache.keys, opcache.most_keys));
    }
    // Strings that do not fit are stored in the memory of each child.
    (opcache.strings > 0 && opcache.strings_free < opcache.strings / 50)
        .then(|| format!("its {} MB for strings are used up", opcache.strings >> 20))
}

fn sizes(php: &Php, report: Report<'_>) {
    let mb = |bytes: u64| format!("{} MB", bytes >> 20);
    let said = format!(
        "upload_max_filesize {}, post_max_size {}, memory_limit {}",
        mb(php.upload),
        mb(php.post),
        php.memory_limit.map_or_else(|| "none".to_owned(), mb)
    );
    if php.upload > php.post || php.memory_limit.is_some_and(|limit| php.post > limit) {
        report.warn(
            format!("{said}: a large upload fails without a word that says why"),
            format!("each must be larger than the one before; {TUNE}"),
        );
    } else {
        report.fine(said);
    }
}

fn few_children(facts: &Facts, report: Report<'_>) {
    match &facts.pool {
        Err(why) => report.unseen(
            format!("php-fpm's status could not be read: {why}"),
            "pm.status_path = /fpm-status in the pool's file, as myriad tune --apply writes it",
        ),
        Ok(Pool { reached, queue, total, .. }) if *reached > 0 || *queue > 0 => report.warn(
            format!(
                "php-fpm has too few children: it wanted more than its {total} {reached} times, and {queue} requests wait now"
            ),
            format!("raise pm.max_children as far as the memory bears it; {TUNE}"),
        ),
        Ok(pool) => report.fine(format!("{} of {} children of php-fpm work", pool.active, pool.total)),
    }
}

fn many_children(facts: &Facts, report: Report<'_>) {
    let looked =
        || Ok::<_, &String>((facts.workers.as_ref()?, facts.memory.as_ref()?, facts.most_children.as_ref()?));
    let (workers, memory, most) = match looked() {
        Ok((workers, memory, most)) => (workers, *memory, *most),
        Err(why) => {
            return report.unseen(why, "run the doctor as root while php-fpm runs, with --php ADDRESS");
        }
    };
    let all = u64::from(most) * workers.largest;
    if all > memory / 4 * 3 {
        report.bad(
            format!(
                "php-fpm may have {most} children of {} MB: {} MB of the {} MB that there are, beside the database",
                workers.largest >> 20,
                all >> 20,
                memory >> 20
            ),
            format!("lower pm.max_children before the kernel ends somebody; {TUNE}"),
        );
    } else {
        report.fine(format!("{most} children of {} MB fit", workers.largest >> 20));
    }
}

/// Compares the maximum number of requests that Myriad sends at once with the number of children.
fn assumed_children(facts: &Facts, report: Report<'_>) {
    let (assumed, children) = match (&facts.assumed_children, &facts.most_children) {
        (Ok(Some(assumed)), Ok(children)) => (*assumed, *children),
        (Ok(None), _) => {
            return report.unseen(
                "Myriad's configuration does not limit the requests that php-fpm gets at once",
                "max_conns=N behind the server of php-fpm, N its pm.max_children, as the presets have it",
            );
        }
        (Err(why), _) | (_, Err(why)) => {
            return report.unseen(why, "run the doctor as root while Myriad and php-fpm run");
        }
    };
    let remedy = format!(
        "myriad wordpress reload reads pm.max_children of the php-fpm that runs; else start Myriad with --php-children {children}"
    );
    match assumed.cmp(&children) {
        Ordering::Greater => report.warn(
            format!(
                "php-fpm has {children} children, and Myriad sends it up to {assumed} requests at once: {} of them wait in php-fpm, where no \
                 request has priority and no stale page takes the place of a late one",
                assumed - children
            ),
            remedy,
        ),
        Ordering::Less => report.warn(
            format!(
                "php-fpm may have {children} children, and Myriad sends it {assumed} requests at once at most"
            ),
            remedy,
        ),
        Ordering::Equal => report
            .fine(format!("Myriad sends php-fpm as many requests at once as it has children: {children}")),
    }
}
