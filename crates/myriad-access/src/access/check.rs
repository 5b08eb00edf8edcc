//! Check of the client address: the first `allow` or `deny` that contains it decides.

use myriad_log::LogLevel;

use super::settings::{AccessRule, AccessSettings, Satisfy};
use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, Request};

/// Compiled `allow` and `deny` of a location.
struct AddressRules {
    /// `allow` and `deny` rules, in source order; the first that contains the client address decides.
    rules: Box<[AccessRule]>,
    /// Set with `satisfy all`: a rejection by this check is final, and is logged here.
    decides: bool,
}

/// Returns the address check of a location; `None` if it has no `allow` or `deny`.
pub(crate) fn check(settings: &AccessSettings) -> Option<Box<dyn Check>> {
    let rules: Box<[AccessRule]> = settings.rules.as_slice().into();
    let decides = settings.satisfy == Satisfy::All;
    (!rules.is_empty()).then(|| Box::new(AddressRules { rules, decides }) as _)
}

impl Check for AddressRules {
    fn name(&self) -> &'static str {
        "allow, deny"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        self.verdict(&exchange.request)
    }

    fn explain(&self, request: &Request) -> (String, CheckVerdict) {
        let verdict = self.verdict(request);
        let outcome = match verdict {
            CheckVerdict::Allow => "allowed",
            CheckVerdict::Refuse(_) => "denied",
            _ => return (String::new(), verdict),
        };
        let explanation = match request.client() {
            Some(address) => format!("{address} is {outcome}"),
            None => format!("a client of a UNIX socket is {outcome}"),
        };
        (explanation, verdict)
    }

    fn rules_addresses(&self) -> bool {
        true
    }
}

impl AddressRules {
    /// Returns the verdict of the first rule that contains the client address, or `Pass` if there is none. With
    /// `satisfy all`, a denial is logged.
    fn verdict(&self, request: &Request) -> CheckVerdict {
        let client = request.client();
        match self.rules.iter().find(|rule| rule.network.contains(client)) {
            None => CheckVerdict::Pass,
            Some(rule) if rule.allow => CheckVerdict::Allow,
            Some(_) => {
                if self.decides {
                    request.log(LogLevel::Error, format_args!("access forbidden by rule"));
                }
                CheckVerdict::Refuse(403)
            }
        }
    }
}
