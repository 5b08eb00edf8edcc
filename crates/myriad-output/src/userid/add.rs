//! Response fields of the userid module.

use myriad_base::calendar::format_cookie_date;
use myriad_exchange::exchange::Request;
use myriad_log::LogLevel;
use myriad_net::ResponseText;
use myriad_script::Frame;

use super::id::LETTERS;
use super::rules::Userid;
use super::settings::CookieExpiry;
use super::visitor::{AssignedId, Visitor};

/// Appends the cookie with the visitor's ID and `userid_p3p`, if an ID must be sent. Does nothing for subrequests. If
/// the ID cannot be determined, the error is logged and nothing is appended.
pub(crate) fn add(request: &Request, frame: &mut Frame, rules: &Userid, head: &mut ResponseText) {
    if request.is_subrequest() {
        return;
    }
    let visitor = Visitor::of(request, rules);
    match visitor.id_to_send(request, frame, rules) {
        Ok(None) => {}
        Ok(Some(given)) => {
            head.append_field(b"Set-Cookie", &cookie(rules, &visitor, given, request.received.wall_s()));
            if let Some(p3p) = &rules.settings.p3p {
                head.append_field(b"P3P", p3p);
            }
        }
        // The response itself is valid, so the error is only logged.
        Err(error) => request.log(LogLevel::Error, format_args!("userid: {error}")),
    }
}

fn cookie(rules: &Userid, visitor: &Visitor, given: AssignedId, now_s: u64) -> Vec<u8> {
    let settings = &rules.settings;
    let mut out = [settings.name(), b"="].concat();
    let mut letters = given.id.letters();
    if !given.is_new {
        // The received letters are repeated, because unused trailing bits may be set in them.
        letters[..LETTERS].copy_from_slice(&visitor.cookie[..LETTERS]);
    }
    if let Some(mark) = settings.mark {
        letters[LETTERS] = mark;
    }
    out.extend_from_slice(&letters);
    match settings.expires {
        CookieExpiry::Session => {}
        CookieExpiry::Max => out.extend_from_slice(b"; expires=Thu, 31-Dec-37 23:55:55 GMT"),
        CookieExpiry::Seconds(seconds) => {
            out.extend_from_slice(b"; expires=");
            out.extend_from_slice(format_cookie_date(now_s.saturating_add(seconds)).as_bytes());
        }
    }
    if let Some(domain) = &settings.domain {
        out.extend_from_slice(b"; domain=");
        out.extend_from_slice(domain);
    }
    out.extend_from_slice(b"; path=");
    out.extend_from_slice(settings.path.as_deref().unwrap_or(b"/"));
    out.extend_from_slice(settings.flags.as_bytes());
    out
}
