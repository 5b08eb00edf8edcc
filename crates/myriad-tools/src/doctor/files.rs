//! Checks of style sheets and scripts.

use crate::doctor::facts::{Asset, Facts, Seen};
use crate::doctor::finding::{Finding, Report};

/// Number of files of a page above which a finding is reported, even if they are loaded concurrently (HTTP/2).
const MANY: usize = 30;
/// Minimum recommended lifetime of a file in browser caches, in seconds: an hour.
const KEPT_S: u64 = 3600;
/// Length in bytes below which compression has little effect.
const SMALL: u64 = 1024;
/// Number of file names in a finding.
const SHOWN: usize = 4;

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    denied(&facts.exposed, Report::new("files-denied", list));
    htaccess(&facts.htaccess_remarks, list);
    let assets = match &facts.assets {
        Ok(assets) => assets,
        Err(why) => {
            return Report::new("files", list)
                .unseen(format!("style sheets and scripts could not be checked: {why}"), "");
        }
    };
    requests(assets, facts.pictures, Report::new("requests", list));
    let some = |is_wrong: &dyn Fn(&&Asset) -> bool| assets.iter().filter(is_wrong).collect::<Vec<_>>();
    let is_there = |asset: &&Asset| asset.status == 200;
    told(
        &some(&|asset| !is_there(asset)),
        Report::new("files-missing", list),
        "do not return status 200",
        "the plugin or theme that links to them has probably removed them: purge its cache, then all pages: myriad purge \
             --all --soft",
        "all style sheets and scripts return status 200",
    );
    told(
        &some(&|asset| is_there(asset) && asset.encoding.is_empty() && asset.bytes >= SMALL),
        Report::new("files-compression", list),
        "are sent without compression",
        "set gzip on; and add their types to gzip_types, as in the WordPress preset",
        "all style sheets and scripts are compressed",
    );
    told(
        &some(&|asset| is_there(asset) && asset.kept_s.is_none_or(|kept| kept < KEPT_S)),
        Report::new("files-expires", list),
        "are cached by browsers for less than one hour",
        "set expires 7d; in the location of static files, as in the WordPress preset",
        "browsers cache all style sheets and scripts",
    );
    told(
        &some(&|asset| is_there(asset) && !asset.has_validator),
        Report::new("files-etag", list),
        "have neither ETag nor Last-Modified, so browsers cannot revalidate them and download them again",
        "set etag on; and serve them as static files, not from PHP",
        "all style sheets and scripts have an ETag or Last-Modified header",
    );
    told(
        &some(&|asset| is_there(asset) && !asset.is_minified),
        Report::new("files-minified", list),
        "are not minified",
        "turn SCRIPT_DEBUG off, or minify them with a plugin such as Autoptimize",
        "all style sheets and scripts are minified or small",
    );
}

/// Checks that files denied by a `.htaccess` are not sent.
fn denied(exposed: &Seen<Vec<String>>, report: Report<'_>) {
    match exposed.as_deref() {
        Err(why) => {
            report.unseen(format!("files that a .htaccess file denies could not be requested: {why}"), "");
        }
        Ok([]) => report.fine("no file that a .htaccess file denies is sent"),
        Ok(exposed) => {
            let shown: Vec<_> = exposed.iter().take(SHOWN).map(String::as_str).collect();
            report.bad(
                format!(
                    "files that a .htaccess file denies are sent to all clients, in {} folders: {}",
                    exposed.len(),
                    shown.join(", ")
                ),
                "run myriad wordpress reload, which reads .htaccess files again; in a custom configuration, add location ^~ /FOLDER/ { \
                     internal; }",
            );
        }
    }
}

/// Checks that the rules of `.htaccess` files are applied as written; each other rule is a finding.
fn htaccess(remarks: &Seen<Vec<String>>, list: &mut Vec<Finding>) {
    const CHECK: &str = "htaccess-rules";
    match remarks.as_deref() {
        Err(why) => Report::new(CHECK, list).unseen(format!(".htaccess files could not be read: {why}"), ""),
        Ok([]) => Report::new(CHECK, list).fine("the access rules of all .htaccess files are applied"),
        Ok(remarks) => {
            for remark in remarks {
                let remedy = "change the rule, or write a configuration with location blocks for its paths";
                Report::new(CHECK, list).warn(remark.clone(), remedy);
            }
        }
    }
}

fn requests(assets: &[Asset], pictures: usize, report: Report<'_>) {
    let all = 1 + assets.len() + pictures;
    let said = format!(
        "the first visit to the home page causes {all} requests: {} style sheets and scripts, {pictures} images",
        assets.len()
    );
    if assets.len() > MANY {
        report.warn(said, "use fewer plugins, or combine the files with a plugin such as Autoptimize");
    } else {
        report.fine(said);
    }
}

fn told(wrong: &[&Asset], report: Report<'_>, what: &str, remedy: &str, fine: &str) {
    if wrong.is_empty() {
        return report.fine(fine);
    }
    let names: Vec<_> = wrong.iter().take(SHOWN).map(|asset| asset.path.as_str()).collect();
    let more = if wrong.len() > SHOWN { format!(" and {} more", wrong.len() - SHOWN) } else { String::new() };
    report.warn(format!("{} files {what}: {}{more}", wrong.len(), names.join(", ")), remedy);
}
