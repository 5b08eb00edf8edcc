//! Checks of PHP: version, OPcache, upload sizes, number of children.

use std::cmp::Ordering;

use crate::doctor::facts::{FpmPoolStatus, OpcacheState, PhpFacts, StackFacts};
use crate::doctor::finding::{CheckReport, DoctorFinding};
use crate::doctor::support_dates::{Program, SupportStatus, support};

const TUNE: &str = "myriad tune --apply writes suitable settings for this machine and site";
/// Remedy in findings that PHP could not be examined.
const LOOK: &str = "run the doctor as root, with --php ADDRESS for php-fpm and --root DIR for the site";

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    if facts.php_down.is_some() {
        return;
    }
    match &facts.php {
        Err(why) => CheckReport::new("php", list).unseen(format!("PHP could not be checked: {why}"), LOOK),
        Ok(php) => {
            version(facts, php, CheckReport::new("php-version", list));
            opcache(php, list);
            sizes(php, CheckReport::new("upload-sizes", list));
        }
    }
    few_children(facts, CheckReport::new("children-too-few", list));
    many_children(facts, CheckReport::new("children-too-many", list));
    assumed_children(facts, CheckReport::new("children-assumed", list));
}

fn version(facts: &StackFacts, php: &PhpFacts, report: CheckReport<'_>) {
    let version = &php.version;
    match support(Program::Php, version, facts.now_s) {
        SupportStatus::Ended(day) => report.warn(
            format!("PHP {version} has had no security updates since {day}"),
            "install a newer PHP; distributions may provide security updates for longer, see their documentation",
        ),
        SupportStatus::Until(day) => report.fine(format!("PHP {version} receives security updates until {day}")),
        SupportStatus::Unknown => report.fine(format!("PHP {version}")),
    }
}

fn opcache(php: &PhpFacts, list: &mut Vec<DoctorFinding>) {
    let opcache = match &php.opcache {
        Ok(opcache) => opcache,
        Err(why) => {
            return CheckReport::new("opcache-off", list).unseen(why, "leave opcache.restrict_api empty");
        }
    };
    let Some(opcache) = opcache else {
        CheckReport::new("opcache-off", list).bad(
            "OPcache is off: PHP compiles several hundred files for each page, which takes four times as long",
            format!("set opcache.enable=1 in php.ini, and install php-opcache if it is missing; {TUNE}"),
        );
        return;
    };
    CheckReport::new("opcache-off", list).fine("OPcache is on");
    match fullness(opcache) {
        Some(what) => CheckReport::new("opcache-full", list)
            .warn(format!("OPcache is full: {what}. Files that do not fit are compiled for each page"), TUNE),
        None => CheckReport::new("opcache-full", list).fine(format!(
            "OPcache has {} MB of {} MB free",
            opcache.free >> 20,
            (opcache.free + opcache.used) >> 20
        )),
    }
}

/// Returns the first reason why OPcache is full: it has restarted because it was full, or less than 5 % of its memory,
/// 5 % of its table of files, or 2 % of its memory for strings are free. `None` if it is not full.
fn fullness(opcache: &OpcacheState) -> Option<String> {
    let all = opcache.used + opcache.free;
    if opcache.restarts > 0 {
        return Some(format!("it restarted {} times because it was full", opcache.restarts));
    }
    if opcache.is_full || opcache.free < all / 20 {
        return Some(format!("{} MB of {} MB are free", opcache.free >> 20, all >> 20));
    }
    if opcache.keys * 20 >= opcache.most_keys * 19 {
        return Some(format!("its file table contains {} of {} files", opcache.keys, opcache.most_keys));
    }
    // Strings that do not fit are stored in the private memory of each child.
    (opcache.strings > 0 && opcache.strings_free < opcache.strings / 50)
        .then(|| format!("its {} MB for strings are full", opcache.strings >> 20))
}

fn sizes(php: &PhpFacts, report: CheckReport<'_>) {
    let mb = |bytes: u64| format!("{} MB", bytes >> 20);
    let sizes_text = format!(
        "upload_max_filesize {}, post_max_size {}, memory_limit {}",
        mb(php.upload),
        mb(php.post),
        php.memory_limit.map_or_else(|| "none".to_owned(), mb)
    );
    if php.upload > php.post || php.memory_limit.is_some_and(|limit| php.post > limit) {
        report.warn(
            format!("{sizes_text}: large uploads fail without an error message"),
            format!("each value must be larger than the previous one; {TUNE}"),
        );
    } else {
        report.fine(sizes_text);
    }
}

fn few_children(facts: &StackFacts, report: CheckReport<'_>) {
    match &facts.pool {
        Err(why) => report.unseen(
            format!("the status page of php-fpm could not be read: {why}"),
            "set pm.status_path = /fpm-status in the pool configuration, as myriad tune --apply does",
        ),
        Ok(FpmPoolStatus { reached, queue, total, .. }) if *reached > 0 || *queue > 0 => report.warn(
            format!(
                "php-fpm has too few children: its {total} children were not enough {reached} times, and {queue} requests are waiting"
            ),
            format!("raise pm.max_children as far as memory allows; {TUNE}"),
        ),
        Ok(pool) => report.fine(format!("{} of {} php-fpm children are active", pool.active, pool.total)),
    }
}

fn many_children(facts: &StackFacts, report: CheckReport<'_>) {
    let looked =
        || Ok::<_, &String>((facts.workers.as_ref()?, facts.memory.as_ref()?, facts.most_children.as_ref()?));
    let (workers, memory, most) = match looked() {
        Ok((workers, memory, most)) => (workers, *memory, *most),
        Err(why) => {
            return report.unseen(why, "run the doctor as root while php-fpm is running, with --php ADDRESS");
        }
    };
    let all = u64::from(most) * workers.largest;
    if all > memory / 4 * 3 {
        report.bad(
            format!(
                "php-fpm can start {most} children of {} MB: in total {} MB of {} MB of memory, in addition to the database",
                workers.largest >> 20,
                all >> 20,
                memory >> 20
            ),
            format!("lower pm.max_children before the OOM killer kills a process; {TUNE}"),
        );
    } else {
        report.fine(format!("{most} php-fpm children of {} MB fit into memory", workers.largest >> 20));
    }
}

/// Compares the maximum number of concurrent requests that Myriad sends to php-fpm with `pm.max_children`; reports a
/// warning if they differ.
fn assumed_children(facts: &StackFacts, report: CheckReport<'_>) {
    let (assumed, children) = match (&facts.assumed_children, &facts.most_children) {
        (Ok(Some(assumed)), Ok(children)) => (*assumed, *children),
        (Ok(None), _) => {
            return report.unseen(
                "the configuration of Myriad does not limit the number of concurrent requests to php-fpm",
                "add max_conns=N to the server of php-fpm, where N is its pm.max_children, as in the presets",
            );
        }
        (Err(why), _) | (_, Err(why)) => {
            return report.unseen(why, "run the doctor as root while Myriad and php-fpm are running");
        }
    };
    let remedy = format!(
        "run myriad wordpress reload, which reads pm.max_children of the running php-fpm, or start Myriad with \
             --php-children {children}"
    );
    match assumed.cmp(&children) {
        Ordering::Greater => report.warn(
            format!(
                "php-fpm has {children} children, but Myriad sends it up to {assumed} concurrent requests: {} of them wait in \
                     php-fpm, where priorities are ignored and stale pages cannot replace late responses",
                assumed - children
            ),
            remedy,
        ),
        Ordering::Less => report.warn(
            format!(
                "php-fpm can start {children} children, but Myriad sends it at most {assumed} concurrent requests"
            ),
            remedy,
        ),
        Ordering::Equal => report
            .fine(format!("the limit of concurrent requests matches pm.max_children of php-fpm: {children}")),
    }
}
