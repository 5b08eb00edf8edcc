//! Directives `auth_basic`, `auth_basic_user_file` and `auth_delay`, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::AuthBasicSettings;

const WHERE: Contexts = Contexts::HSL.or(Contexts::LIMIT_EXCEPT);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "auth_basic",
        WHERE,
        ONE,
        Set::Settings(auth_basic),
        "Enables HTTP basic authentication and sets the realm.",
    )
    .default("off"),
    Directive::new(
        "auth_basic_user_file",
        WHERE,
        ONE,
        set!(Feature<AuthBasicSettings>.text => Some user_file),
        "File with user names and password hashes.",
    )
    .differs(
        "`crypt` hashes other than DES, `$1$`, `$apr1$`, `$5$`, `$6$` and `$2y$` never match; passwords above 512 bytes \
             match no `crypt` hash; slow hashes are queued, and beyond 128 queued checks requests get 503; below the `from=` \
             part of `disable_symlinks`, symbolic links are checked as for other files; a file that is not regular or larger \
             than 64 MB results in 500",
    ),
    Directive::new(
        "auth_delay",
        Contexts::HSL,
        ONE,
        set!(Feature<AuthBasicSettings>.millis => delay),
        "Delays 401 responses to slow down password guessing.",
    )
    .default("0s"),
];

fn auth_basic(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let realm = args.text(0)?;
    settings.feature_mut::<AuthBasicSettings>().realm = (realm.bytes() != b"off").then_some(realm);
    Ok(())
}
