//! Directives `auth_request` and `auth_request_set`, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, TWO};
use myriad_conf::settings::Settings;

use super::settings::{AuthRequestSettings, VariableAssignment};

/// Directives of `auth_request`.
pub static ROWS: &[Directive] = &[
    Directive::new(
        "auth_request",
        Contexts::HSL,
        ONE,
        Set::Settings(auth_request),
        "URI of a subrequest that authorizes each request: 2xx allows it, 401 or 403 denies it.",
    )
    .default("off"),
    Directive::new(
        "auth_request_set",
        Contexts::HSL,
        TWO,
        Set::Settings(auth_request_set),
        "Sets a variable to a value from the result of the `auth_request` subrequest.",
    )
    .repeats(),
];

fn auth_request(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let uri = args.text(0)?;
    settings.feature_mut::<AuthRequestSettings>().uri = (uri.bytes() != b"off").then_some(uri);
    Ok(())
}

fn auth_request_set(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let sets = &mut settings.feature_mut::<AuthRequestSettings>().sets;
    args.start(sets);
    // Only validates the name. The setting keeps the `$`, which the compilation of assignments expects.
    args.variable(0)?;
    sets.push(VariableAssignment { variable: args.text(0)?, value: args.text(1)? });
    Ok(())
}
