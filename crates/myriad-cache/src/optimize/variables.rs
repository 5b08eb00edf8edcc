//! Variable of the page optimizer.

use myriad_conf::registry::DirectiveStatus;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Cache;
use myriad_exchange::runtime::RowValue::Ready;

/// `$optimized`: `safe` if the optimized form of a page, or the WebP copy of an image, is sent; otherwise empty.
pub(super) const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "optimizer",
    "optimized",
    &[Cache],
    Ready(|request| request.cache.report.optimized.then_some(&b"safe"[..])),
)
.with_status(DirectiveStatus::Own)];
