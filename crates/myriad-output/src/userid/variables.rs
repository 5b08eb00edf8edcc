//! Variables `$uid_got`, `$uid_set` and `$uid_reset`.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::RowValue::{Made, Run};
use myriad_http::Known;
use myriad_script::{EvalError, Frame};

use super::id::VisitorId;
use super::rules::Userid;
use super::visitor::Visitor;

/// Inputs on which `$uid_set` depends: a new ID depends on the clock and the connection.
const READS: &[Reads] = &[Reads::FromField(Known::Cookie), Reads::Connection, Reads::Moment];

pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("userid", "uid_got", &[Reads::FromField(Known::Cookie)], Made(got)),
    RequestVariable::new("userid", "uid_set", READS, Run(set)),
    RequestVariable::new("userid", "uid_reset", &[Reads::Site], Made(|_, _| false)).yielding(),
];

fn got(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(rules) = request.place().features.get::<Userid>() else { return false };
    let got = Visitor::of(request, rules).received_id;
    got.is_some_and(|id| shown(rules, id, out))
}

fn set(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    let Some(rules) = request.place().features.get::<Userid>() else { return Ok(false) };
    let given = Visitor::of(request, rules).id_to_send(request, frame, rules)?;
    Ok(given.is_some_and(|given| shown(rules, given.id, out)))
}

fn shown(rules: &Userid, id: VisitorId, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(rules.settings.name());
    out.push(b'=');
    id.write_digits(out);
    true
}
