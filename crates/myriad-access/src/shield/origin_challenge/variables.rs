//! Variable `$challenge_passed`.

use myriad_conf::registry::Status;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::Value::Made;
use myriad_http::Known;

use super::judge::{Challenge, holder};

/// Variable that is set if the client has a valid pass.
pub(super) const VARIABLES: &[Row] = &[Row::new(
    "shield",
    "challenge_passed",
    &[Reads::FromField(Known::Cookie), Reads::FromField(Known::UserAgent), Reads::Connection, Reads::Moment],
    Made(passed),
)
.fares(Status::Own)];

fn passed(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(challenge) = request.place().features.get::<Challenge>() else { return false };
    let passed = holder(request, challenge.passes()).is_some();
    out.push(if passed { b'1' } else { b'0' });
    true
}

#[cfg(test)]
mod tests {
    use myriad_serve::testing::variables::{Case, lacks};

    #[test]
    fn challenge_passed_is_empty_without_challenge() {
        lacks(&mut Case::default().begin(), &["challenge_passed"]);
    }
}
