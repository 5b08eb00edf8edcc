//! Test whether a level admits only authenticated clients.

use myriad_conf::settings::Settings;

use crate::access::{AccessSettings, Satisfy};
use crate::auth_basic::AuthBasicSettings;
use crate::auth_request::AuthRequestSettings;

/// Returns whether every client that a level admits is authenticated, by a password or by `auth_request`. This is false
/// with `satisfy any` and address rules, because an address may be sufficient. A password does not count if its realm
/// contains variables, because the realm may then evaluate to `off`.
pub fn identifies_client(settings: &Settings) -> bool {
    let access = settings.feature::<AccessSettings>();
    let basic = settings.feature::<AuthBasicSettings>();
    let requires_password = basic.user_file.is_some()
        && basic.realm.as_ref().is_some_and(|realm| !realm.has_variables() && realm.bytes() != b"off");
    let requires_login = requires_password || settings.feature::<AuthRequestSettings>().uri.is_some();
    requires_login && (access.satisfy == Satisfy::All || access.rules.is_empty())
}
