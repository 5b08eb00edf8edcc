//! Check in which the first rule that contains the client address decides.

use myriad_log::Level;

use super::settings::{AccessRule, AccessSettings, Satisfy};
use myriad_exchange::exchange::{Check, Exchange, Request, Verdict};

/// `allow` and `deny` of a location.
struct Access {
    /// Rules, in order.
    rules: Box<[AccessRule]>,
    /// Set if a rejection by this check is final (`satisfy all`) and is logged.
    decides: bool,
}

/// Returns the check of a location; `None` if it has no rules.
pub(crate) fn check(settings: &AccessSettings) -> Option<Box<dyn Check>> {
    let rules: Box<[AccessRule]> = settings.rules.as_slice().into();
    let decides = settings.satisfy == Satisfy::All;
    (!rules.is_empty()).then(|| Box::new(Access { rules, decides }) as _)
}

impl Check for Access {
    fn name(&self) -> &'static str {
        "allow, deny"
    }

    fn judge(&self, exchange: &mut Exchange) -> Verdict {
        self.verdict(&exchange.request)
    }

    fn explain(&self, request: &Request) -> (String, Verdict) {
        let verdict = self.verdict(request);
        let told = match verdict {
            Verdict::Allow => "127.0.0.1 is allowed",
            Verdict::Refuse(_) => "127.0.0.1 is denied",
            _ => "",
        };
        (told.to_owned(), verdict)
    }

    fn rules_addresses(&self) -> bool {
        true
    }
}

impl Access {
    /// Returns `Pass` for a client to which no rule applies.
    fn verdict(&self, request: &Request) -> Verdict {
        let client = request.client();
        match self.rules.iter().find(|rule| rule.network.contains(client)) {
            None => Verdict::Pass,
            Some(rule) if rule.allow => Verdict::Allow,
            Some(_) => {
                if self.decides {
                    request.log(Level::Error, format_args!("access forbidden by rule"));
                }
                Verdict::Refuse(403)
            }
        }
    }
}
