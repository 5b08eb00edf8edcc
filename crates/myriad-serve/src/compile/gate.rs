//! Compilation of access checks: the zones that they use, and the variables that they assign.

use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_script::Template;

use super::RuntimeCompiler;
use myriad_access::auth_request::assigned;
use myriad_access::{GateBuilder, limit_zones};
use myriad_exchange::exchange::AccessGate;
use myriad_origin::mirror;

impl RuntimeCompiler<'_> {
    /// Compiles the zones of `limit_req` and `limit_conn`.
    pub(super) fn limit_zones(&mut self) {
        let zones = limit_zones(self.http);
        let keys: Vec<Template> =
            self.after_all_rules(|compile| zones.iter().map(|zone| compile.template(&zone.key)).collect());
        self.gates = Rc::new(GateBuilder::new(
            zones.iter().zip(keys),
            &mut self.environment.retained.gate,
            self.environment.folder,
        ));
    }

    /// Returns the access checks of a level; `None` if it has none, so that every client is admitted.
    pub(super) fn gate(&mut self, settings: &Settings) -> Option<Arc<AccessGate>> {
        Rc::clone(&self.gates).gate(settings, self, mirror::check(settings))
    }

    /// Declares the variables of `auth_request_set`. Errors are ignored: they are reported with their positions when
    /// the directive is compiled.
    pub(super) fn declare_auth_request(&mut self, settings: &Settings) {
        for variable in assigned(settings) {
            let _ = self.scripts.declare_set(&variable.lossy());
        }
    }
}
