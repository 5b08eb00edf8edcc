//! Header fields of the response.

use myriad_base::calendar::format_cookie_date;
use myriad_exchange::exchange::Request;
use myriad_log::Level;
use myriad_net::Head;
use myriad_script::Frame;

use super::id::LETTERS;
use super::rules::Userid;
use super::settings::Expires;
use super::visitor::{Given, Visitor};

/// Adds the cookie with a visitor's ID, and `userid_p3p`. Subrequests add no fields.
pub(crate) fn add(request: &Request, frame: &mut Frame, rules: &Userid, head: &mut Head) {
    if request.is_subrequest() {
        return;
    }
    let visitor = Visitor::of(request, rules);
    match visitor.given(request, frame, rules) {
        Ok(None) => {}
        Ok(Some(given)) => {
            head.field(b"Set-Cookie", &cookie(rules, &visitor, given, request.received.wall_s()));
            if let Some(p3p) = &rules.said.p3p {
                head.field(b"P3P", p3p);
            }
        }
        // The response itself is valid.
        Err(error) => request.log(Level::Error, format_args!("userid: {error}")),
    }
}

fn cookie(rules: &Userid, visitor: &Visitor, given: Given, now_s: u64) -> Vec<u8> {
    let said = &rules.said;
    let mut out = [said.name(), b"="].concat();
    let mut letters = given.id.letters();
    if !given.is_new {
        // The received letters are repeated: unused trailing bits may be set in them.
        letters[..LETTERS].copy_from_slice(&visitor.cookie[..LETTERS]);
    }
    if let Some(mark) = said.mark {
        letters[LETTERS] = mark;
    }
    out.extend_from_slice(&letters);
    match said.expires {
        Expires::Session => {}
        Expires::Max => out.extend_from_slice(b"; expires=Thu, 31-Dec-37 23:55:55 GMT"),
        Expires::Seconds(seconds) => {
            out.extend_from_slice(b"; expires=");
            out.extend_from_slice(format_cookie_date(now_s.saturating_add(seconds)).as_bytes());
        }
    }
    if let Some(domain) = &said.domain {
        out.extend_from_slice(b"; domain=");
        out.extend_from_slice(domain);
    }
    out.extend_from_slice(b"; path=");
    out.extend_from_slice(said.path.as_deref().unwrap_or(b"/"));
    out.extend_from_slice(said.flags.as_bytes());
    out
}
