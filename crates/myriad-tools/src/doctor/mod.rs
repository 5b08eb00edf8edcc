//! Checks of a WordPress stack: converts [`StackFacts`] to [`DoctorFinding`]s with remedies, the most severe first.
//!
//! ```text
//! collection (in the binary) -> Facts -> machine, php, pages, files: a function for each check -> findings -> Severity of all
//! ```
//!
//! A fact is [`Observation`] or contains the reason why it could not be determined. A check without its facts reports that,
//! and never counts as passed.

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
    CheckedPage, CookieSource, FpmChildren, FpmPoolStatus, Observation, OpcacheState, PageAsset, PageVisit,
    PhpFacts, StackFacts, StoredPageStats, SwapUsage, UntrustedSenders, WordPressFacts,
};
pub use finding::{DoctorFinding, Severity};

/// Returns the findings of all checks, the most severe first; checks of equal severity keep their order.
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
