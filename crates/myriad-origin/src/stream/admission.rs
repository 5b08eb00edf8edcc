//! Admission of `stream` sessions: `limit_conn`, then `allow` and `deny`.

use myriad_access::limit_conn::CountedRequest;
use myriad_exchange::runtime::LimitDecision;
use myriad_log::LogLevel;

use crate::stream::limits::{LimitStatus, SessionLimits};
use crate::stream::session::StreamSession;

/// Maximum length of a `limit_conn` key in bytes, as in nginx.
const LONGEST_KEY: usize = 255;

/// Entries of a session in the tables of `limit_conn`; dropping them removes the session from the counts.
pub(crate) type SessionGuards = Vec<CountedRequest>;

/// Checks a session against `limit_conn`, which counts it, and then against `allow` and `deny`. Returns the guards of
/// its counts; the error is the status to close the session with, 403 if a rule denies the client.
pub(crate) fn admit(session: &StreamSession) -> Result<SessionGuards, u16> {
    let server = session.server();
    let counted = count_session(session)?;
    let client = session.client();
    let rule = server.access.iter().find(|rule| rule.network.contains(client));
    if rule.is_some_and(|rule| !rule.allow) {
        session.log(LogLevel::Error, format_args!("access forbidden by rule"));
        return Err(403);
    }
    Ok(counted)
}

/// Counts a session in each zone of `limit_conn` whose key has 1 to 255 bytes. The error is the status to close the
/// session with: 500 if a key cannot be evaluated, 503 if the limit of a zone is exceeded. With `limit_conn_dry_run`, a
/// session above a limit is admitted and counted in no zone.
fn count_session(session: &StreamSession) -> Result<SessionGuards, u16> {
    let SessionLimits { zones, level, dry_run } = &session.server().limits;
    let mut guards = Vec::with_capacity(zones.len());
    for (zone, most) in zones {
        let key = session.eval(&zone.key).map_err(|_| 500_u16)?;
        let name = &zone.name;
        if key.len() > LONGEST_KEY {
            let message =
                format_args!("the value of the key of zone \"{name}\" is more than {LONGEST_KEY} bytes");
            session.log(LogLevel::Error, message);
            continue;
        }
        if key.is_empty() {
            continue;
        }
        session.limited.set(Some(LimitStatus::Passed));
        if let Some(counted) = zone.table.try_count(&key, *most) {
            zone.counts.add(LimitDecision::Passed);
            guards.push(counted);
            continue;
        }
        zone.counts.add(if *dry_run { LimitDecision::RejectedDryRun } else { LimitDecision::Rejected });
        let dry = if *dry_run { ", dry run," } else { "" };
        session.log(*level, format_args!("limiting connections{dry} by zone \"{name}\""));
        if !*dry_run {
            session.limited.set(Some(LimitStatus::Rejected));
            return Err(503);
        }
        session.limited.set(Some(LimitStatus::RejectedDryRun));
        return Ok(Vec::new());
    }
    Ok(guards)
}
