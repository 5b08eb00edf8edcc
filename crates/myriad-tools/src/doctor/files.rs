//! Checks of style sheets and scripts, and of `.htaccess` files.

use crate::doctor::facts::{Observation, PageAsset, StackFacts};
use crate::doctor::finding::{CheckReport, DoctorFinding};

/// Number of style sheets and scripts of a page above which the doctor reports a finding.
const MANY: usize = 30;
/// Minimum recommended lifetime of an asset in browser caches, in seconds.
const MIN_CACHE_LIFETIME_S: u64 = 3600;
/// Length of a file, in bytes, from which the doctor reports missing compression; it has little effect on shorter
/// files.
const SMALL: u64 = 1024;
/// Maximum number of file names that a finding lists.
const SHOWN: usize = 4;

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    denied(&facts.exposed, CheckReport::new("files-denied", list));
    htaccess(&facts.htaccess_remarks, list);
    let assets = match &facts.assets {
        Ok(assets) => assets,
        Err(why) => {
            return CheckReport::new("files", list)
                .unseen(format!("style sheets and scripts could not be checked: {why}"), "");
        }
    };
    requests(assets, facts.pictures, CheckReport::new("requests", list));
    let some = |is_wrong: &dyn Fn(&&PageAsset) -> bool| assets.iter().filter(is_wrong).collect::<Vec<_>>();
    let is_there = |asset: &&PageAsset| asset.status == 200;
    report_assets(
        &some(&|asset| !is_there(asset)),
        CheckReport::new("files-missing", list),
        "do not return status 200",
        "the plugin or theme that links to them has probably removed them: purge its cache, then all pages: myriad purge \
             --all --soft",
        "all style sheets and scripts return status 200",
    );
    report_assets(
        &some(&|asset| is_there(asset) && asset.encoding.is_empty() && asset.bytes >= SMALL),
        CheckReport::new("files-compression", list),
        "are sent without compression",
        "set gzip on; and add their types to gzip_types, as in the WordPress preset",
        "all style sheets and scripts are compressed or small",
    );
    report_assets(
        &some(&|asset| {
            is_there(asset) && asset.cache_lifetime_s.is_none_or(|kept| kept < MIN_CACHE_LIFETIME_S)
        }),
        CheckReport::new("files-expires", list),
        "are cached by browsers for less than one hour",
        "set expires 7d; in the location of static files, as in the WordPress preset",
        "browsers cache all style sheets and scripts",
    );
    report_assets(
        &some(&|asset| is_there(asset) && !asset.has_validator),
        CheckReport::new("files-etag", list),
        "have neither ETag nor Last-Modified, so browsers cannot revalidate them and download them again",
        "set etag on; and serve them as static files, not from PHP",
        "all style sheets and scripts have an ETag or Last-Modified header",
    );
    report_assets(
        &some(&|asset| is_there(asset) && !asset.is_minified),
        CheckReport::new("files-minified", list),
        "are not minified",
        "turn SCRIPT_DEBUG off, or minify them with a plugin such as Autoptimize",
        "all style sheets and scripts are minified or small",
    );
}

/// Checks that files denied by a `.htaccess` are not sent.
fn denied(exposed: &Observation<Vec<String>>, report: CheckReport<'_>) {
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

/// Reports one warning for each rule of a `.htaccess` file that Myriad does not apply as written.
fn htaccess(remarks: &Observation<Vec<String>>, list: &mut Vec<DoctorFinding>) {
    const CHECK: &str = "htaccess-rules";
    match remarks.as_deref() {
        Err(why) => {
            CheckReport::new(CHECK, list).unseen(format!(".htaccess files could not be read: {why}"), "");
        }
        Ok([]) => CheckReport::new(CHECK, list).fine("the access rules of all .htaccess files are applied"),
        Ok(remarks) => {
            for remark in remarks {
                let remedy = "change the rule, or write a configuration with location blocks for its paths";
                CheckReport::new(CHECK, list).warn(remark.clone(), remedy);
            }
        }
    }
}

fn requests(assets: &[PageAsset], pictures: usize, report: CheckReport<'_>) {
    let all = 1 + assets.len() + pictures;
    let summary = format!(
        "the first visit to the home page causes {all} requests: {} style sheets and scripts, {pictures} images",
        assets.len()
    );
    if assets.len() > MANY {
        report.warn(summary, "use fewer plugins, or combine the files with a plugin such as Autoptimize");
    } else {
        report.fine(summary);
    }
}

fn report_assets(wrong: &[&PageAsset], report: CheckReport<'_>, what: &str, remedy: &str, fine: &str) {
    if wrong.is_empty() {
        return report.fine(fine);
    }
    let names: Vec<_> = wrong.iter().take(SHOWN).map(|asset| asset.path.as_str()).collect();
    let more = if wrong.len() > SHOWN { format!(" and {} more", wrong.len() - SHOWN) } else { String::new() };
    report.warn(format!("{} files {what}: {}{more}", wrong.len(), names.join(", ")), remedy);
}
