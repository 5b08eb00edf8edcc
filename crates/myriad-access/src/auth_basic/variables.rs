//! Variable `$remote_user`.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::User;
use myriad_exchange::runtime::RowValue::Made;

use super::credentials::Credentials;

/// User name of `Authorization: Basic` (for CONNECT: of `Proxy-Authorization`) as sent: the password may not have
/// been verified. No value without credentials.
pub(super) const VARIABLES: &[RequestVariable] =
    &[RequestVariable::new("core", "remote_user", &[User], Made(remote_user))];

fn remote_user(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(credentials) = Credentials::of(request) else { return false };
    out.extend_from_slice(credentials.user());
    true
}
