//! `allow` and `deny`.

use myriad_log::Level;

use super::Verdict;
use crate::exchange::Request;
use crate::runtime::Gate;

/// Asks the first rule that covers the client; none has nothing to say.
pub(super) fn judge(request: &Request, gate: &Gate) -> Verdict {
    if gate.networks.is_empty() {
        return Verdict::Pass;
    }
    let client = request.client();
    match gate.networks.iter().find(|(_, network)| network.0(client)) {
        None => Verdict::Pass,
        Some((true, _)) => Verdict::Allow,
        Some((false, _)) => {
            if !gate.any {
                request.log(Level::Error, format_args!("access forbidden by rule"));
            }
            Verdict::Refuse(403)
        }
    }
}
