//! Response with the findings of the leak guard.

use crate::protocol::monitoring::{LeakReport, LeaksRequest};
use crate::protocol::{AdminReply, ReplyEnd};
use myriad_store::page::LeakFinding;

use crate::admin::{Administrator, ReplyResult, ReplySink};

/// Value of the argument `forgive` that discards the findings of all pages.
const ALL: &str = "all";

impl Administrator {
    pub(crate) fn leaks(&self, request: &LeaksRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let mut reports = Vec::new();
        let mut forgiven = 0;
        for zone in self.zones_named(request.zone.as_deref())? {
            if let Some(page) = &request.forgive {
                zone.leak_samples.forgive();
                forgiven += zone.leaks.forgive(Some(page.as_str()).filter(|page| *page != ALL));
            }
            reports
                .extend(zone.leaks.findings().into_iter().map(|finding| report(zone.zone.name(), finding)));
        }
        if let Some(page) = request.forgive.as_ref().filter(|page| forgiven == 0 && *page != ALL) {
            return Err(format!(
                "no finding of the leak guard for \"{page}\"; give host and path as in the list"
            ));
        }
        reports.sort_by_key(|report: &LeakReport| std::cmp::Reverse(report.at_ms));
        for report in reports {
            if !tell(AdminReply::Leak(Box::new(report))) {
                break;
            }
        }
        Ok(ReplyEnd::default())
    }
}

/// Converts a finding of the leak guard in a cache zone to a report.
pub(super) fn report(zone: &str, finding: LeakFinding) -> LeakReport {
    let wall_ms = myriad_net::clock::to_wall_ms;
    LeakReport {
        at_ms: wall_ms(finding.at_ms),
        zone: zone.to_owned(),
        page: finding.page,
        what: finding.what,
        difference: finding.difference,
        state: finding.state.as_str().to_owned(),
        until_ms: if finding.until_ms == 0 { 0 } else { wall_ms(finding.until_ms) },
        count: finding.count,
        now_ms: wall_ms(myriad_net::clock::now_ms()),
    }
}
