//! `upgrade_protocols`: protocols to which a connection to an origin may switch.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

/// Values of `upgrade_protocols`, in lower case; empty for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeProtocols(pub Vec<Box<[u8]>>);

myriad_conf::feature_settings!(UpgradeProtocols);

/// Rows of the `upgrade_protocols` directive.
pub static ROWS: &[Directive] = &[Directive::new(
    "upgrade_protocols",
    Contexts::HSL,
    at_least(1),
    Set::Settings(upgrade_protocols),
    "Protocols to which an HTTP origin may switch a connection (101), or `off`. `h2c` is never allowed; other \
         protocols that `proxy_set_header Upgrade` sets without variables are always allowed.",
)
.default("websocket")
.own()];

fn upgrade_protocols(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut protocols = Vec::new();
    for index in 0..args.len() {
        let name = args.bytes(index);
        if name == b"off" && args.len() == 1 {
            break;
        }
        if name.eq_ignore_ascii_case(b"h2c") {
            let message = "\"h2c\" is not supported: its requests would bypass all access rules";
            return Err(args.error(index, message).help("use \"http2 on\" for HTTP/2 from clients"));
        }
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_graphic() && !b",;\"".contains(byte)) {
            return Err(args.invalid(index, "the name of a protocol, such as websocket"));
        }
        protocols.push(name.to_ascii_lowercase().into());
    }
    settings.feature_mut::<UpgradeProtocols>().0 = protocols;
    Ok(())
}
