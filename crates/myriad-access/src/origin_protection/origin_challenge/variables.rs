//! Variable `$challenge_passed`.

use myriad_conf::registry::DirectiveStatus;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::RowValue::Made;
use myriad_http::Known;

use super::check::{OriginChallenge, valid_pass};

/// `1` if the client has a valid pass, otherwise `0`; no value without `origin_challenge`.
pub(super) const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "shield",
    "challenge_passed",
    &[Reads::FromField(Known::Cookie), Reads::FromField(Known::UserAgent), Reads::Connection, Reads::Moment],
    Made(passed),
)
.with_status(DirectiveStatus::Own)];

fn passed(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(challenge) = request.place().features.get::<OriginChallenge>() else { return false };
    let passed = valid_pass(request, challenge.passes()).is_some();
    out.push(if passed { b'1' } else { b'0' });
    true
}
