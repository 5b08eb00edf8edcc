//! Search for the input of a request that changes a page.

use myriad_http::Fields;
use myriad_policy::{Rendering, RequestInput, StableRendering};

use super::probe::Prober;

/// Input of a request that changes a page, with the response that shows it.
pub(super) struct Cause {
    /// Cookie, header field or client address that changes the page.
    pub input: RequestInput,
    /// Response to a request with this input.
    pub rendering: Rendering,
}

/// Finds the input that makes the response to a request with `base` and `inputs` differ from `stable`, the response to
/// a request with `base`. Returns `None` if no single input causes a difference each time, or if a request fails.
pub(super) async fn find_cause(
    prober: &Prober,
    stable: &StableRendering,
    base: &Fields,
    mut inputs: Vec<RequestInput>,
) -> Option<Cause> {
    while inputs.len() > 1 {
        let rest = inputs.split_off(inputs.len() / 2);
        if !stable.differs_from(&prober.request(base, &inputs).await?) {
            inputs = rest;
        }
    }
    let first = prober.request(base, &inputs).await?;
    let again = prober.request(base, &inputs).await?;
    let without = prober.request(base, &[]).await?;
    let is_repeated = stable.differs_from(&first)
        && stable.differs_from(&again)
        && !stable.differs_from(&without)
        && StableRendering::of(&first, again).is_some();
    let input = inputs.pop()?;
    is_repeated.then_some(Cause { input, rendering: first })
}
