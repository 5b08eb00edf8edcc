//! Variables `$gzip_ratio`, `$brotli_ratio` and `$zstd_ratio`.

use myriad_encode::Coding;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Answer;
use myriad_exchange::runtime::RowValue::Made;

/// `$gzip_ratio`: compression ratio of the response; no value if it was not sent in this coding, or without a body.
pub(super) const GZIP: &[RequestVariable] = &[RequestVariable::new(
    "gzip",
    "gzip_ratio",
    &[Answer],
    Made(|request, out| ratio(request, Coding::Gzip, out)),
)];

/// `$brotli_ratio`: compression ratio of the response; no value if it was not sent in this coding, or without a body.
/// The configuration may define a variable of this name by a map, as in an nginx without the module.
pub(super) const BROTLI: &[RequestVariable] = &[RequestVariable::new(
    "brotli",
    "brotli_ratio",
    &[Answer],
    Made(|request, out| ratio(request, Coding::Brotli, out)),
)
.yielding()];

/// `$zstd_ratio`: compression ratio of the response; no value if it was not sent in this coding, or without a body. The
/// configuration may define a variable of this name by a map.
pub(super) const ZSTD: &[RequestVariable] = &[RequestVariable::new(
    "zstd",
    "zstd_ratio",
    &[Answer],
    Made(|request, out| ratio(request, Coding::Zstd, out)),
)
.yielding()];

/// Appends the compression ratio of the body. Returns false (no value) if the response was not sent in this coding, or
/// without a body.
fn ratio(request: &Request, coding: Coding, out: &mut Vec<u8>) -> bool {
    if request.outcome.head.coding != coding {
        return false;
    }
    let (whole, sent) = match &request.outcome.head.encoding_sizes {
        Some(tally) => (tally.taken.get(), tally.given.get()),
        None => (request.outcome.head.uncompressed, request.outcome.sent.body_bytes),
    };
    if whole == 0 || sent == 0 {
        return false;
    }
    // Rounded as in nginx: 2.125 becomes 2.13.
    let hundredths = (whole.saturating_mul(1000) / sent + 5) / 10;
    show(out, format_args!("{}.{:02}", hundredths / 100, hundredths % 100))
}
