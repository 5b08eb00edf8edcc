//! Compilation of `add_header`, `add_trailer`, `expires` and `server_tokens`.

use myriad_conf::settings::{ServerTokens, Settings};

use super::RuntimeCompiler;
use crate::features::https_only;
use myriad_exchange::runtime::{HeaderRules, ServerLines};
use myriad_output::{cache_debug, headers};

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl RuntimeCompiler<'_> {
    pub(super) fn headers(&mut self, settings: &Settings) -> HeaderRules {
        let server_name = match &settings.content.server_tokens {
            ServerTokens::Off => "Myriad".to_owned(),
            ServerTokens::On | ServerTokens::Build => format!("Myriad/{VERSION}"),
        };
        let own = ServerLines {
            server_line: format!("Server: {server_name}\r\n").into_bytes().into(),
            alt_svc: self.alt_svc(settings),
            server_name: server_name.into(),
            hsts_line: https_only::hsts_line(settings),
        };
        HeaderRules {
            own: self.shared.deduplicate(own),
            add: headers::added_fields(settings, self).into(),
            replaced: headers::replaced(settings).into(),
            debug: cache_debug::compiled(settings),
            trailers: headers::added_trailers(settings, self).into(),
            expires: headers::expiry(settings, self),
            sets_freshness: headers::sets_freshness(settings),
        }
    }
}
