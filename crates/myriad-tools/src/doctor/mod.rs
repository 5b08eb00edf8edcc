//! `myriad doctor`: checks of a WordPress stack, which derive [`DoctorFinding`]s with remedies from [`StackFacts`].
//!
//! ```text
//! command: collects StackFacts -> machine, php, pages, files, …: one function per check -> findings sorted by Severity
//! ```
//!
//! Most facts are an [`Observation`], which contains a reason if the fact could not be determined. A check without its
//! facts reports that reason, or is left out if php-fpm or the database is down; it never counts as passed.

mod assets;
mod availability;
pub mod command;
mod facts;
mod files;
mod finding;
mod machine;
mod pages;
mod php;
mod plugins;
mod proxies;
mod support_dates;
mod wordpress;

pub use assets::{LinkedAssets, is_minified, linked_assets};
pub use facts::{
    CheckedPage, CookieSource, FpmChildren, FpmPoolStatus, Observation, OpcacheState, PageAsset, PageChange,
    PageVisit, PhpFacts, StackFacts, StoredPageStats, SwapUsage, UntrustedSenders, WordPressFacts,
};
pub use finding::{DoctorFinding, Severity};

/// Returns the findings of all checks, the most severe first; checks of equal severity retain their order.
#[must_use]
pub fn findings(facts: &StackFacts) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    availability::check(facts, &mut findings);
    machine::check(facts, &mut findings);
    php::check(facts, &mut findings);
    wordpress::check(facts, &mut findings);
    pages::check(facts, &mut findings);
    proxies::check(facts, &mut findings);
    files::check(facts, &mut findings);
    findings.sort_by_key(|finding| finding.severity);
    findings
}
