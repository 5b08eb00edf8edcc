//! `allow`, `deny`, `satisfy`: what is asked of a visitor.

use myriad_conf::settings::{AccessSettings, LimitSettings, Satisfy};

use super::Compile;
use super::real_ip::compiled;
use crate::runtime::{AuthRequest, BasicRules, Gate, Network};

impl Compile<'_> {
    /// The checks of a level; none where everybody may come in.
    pub(super) fn gate(&mut self, access: &AccessSettings, limits: &LimitSettings) -> Option<Box<Gate>> {
        let gate = Gate {
            any: access.satisfy == Satisfy::Any,
            requests: self.request_limits(limits),
            connections: self.connection_limits(limits),
            networks: networks(access),
            auth_request: self.auth_request(access),
            basic: self.basic(access),
            delay_ms: access.auth_delay,
        };
        (!gate.is_open()).then(|| Box::new(gate))
    }

    fn auth_request(&mut self, access: &AccessSettings) -> Option<AuthRequest> {
        let uri = access.auth_request.as_ref()?;
        let mut sets = Vec::with_capacity(access.auth_request_sets.len());
        for set in &access.auth_request_sets {
            let (variable, value) = (self.utf8(&set.variable), self.utf8(&set.value));
            match self.scripts.assignment(variable, value) {
                Ok(assignment) => sets.push(assignment),
                Err(error) => self.fail(set.variable.span, error),
            }
        }
        Some(AuthRequest { uri: uri.bytes().into(), sets })
    }

    /// Declares the variables of `auth_request_set`; errors come again, with their places, when it is compiled.
    pub(super) fn declare_auth_request(&mut self, access: &AccessSettings) {
        for set in &access.auth_request_sets {
            let _ = self.scripts.declare_set(&set.variable.lossy());
        }
    }

    /// nginx asks for nothing where one of the two is missing.
    fn basic(&mut self, access: &AccessSettings) -> Option<BasicRules> {
        let (Some(realm), Some(file)) = (&access.basic, &access.user_file) else { return None };
        if realm.bytes() == b"off" {
            return None;
        }
        Some(BasicRules {
            realm: self.template(realm),
            file: self.template(file),
            folder: self.around.folder.as_os_str().as_encoded_bytes().into(),
        })
    }
}

fn networks(access: &AccessSettings) -> Vec<(bool, Network)> {
    access.rules.iter().map(|rule| (rule.allow, compiled(rule.network))).collect()
}
