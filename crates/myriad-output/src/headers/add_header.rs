//! Fields of `add_header`.

use myriad_net::ResponseText;
use myriad_script::Frame;

use super::expires::is_decorated;
use myriad_exchange::exchange::{Request, exchange_buffers};
use myriad_exchange::runtime::Place;

/// Appends the `add_header` fields that apply to `status` to the head of a response. A value may read the previous
/// fields (`$sent_http_*`). Fields without a value are omitted; so are `Cache-Control` and `Expires` of a response
/// with personal content (`personal`), and `Content-Encoding` of a precompressed file.
pub(crate) fn add(
    request: &mut Request,
    frame: &mut Frame,
    place: &Place,
    (status, personal): (u16, bool),
    head: &mut ResponseText,
) {
    let rules = &place.headers;
    let decorated = is_decorated(status);
    let read = request.site.runtime.reads_sent_fields;
    for field in rules.add.iter().filter(|field| field.is_added(decorated)) {
        // Common configurations for precompressed files add `Content-Encoding`, which the response already has.
        if request.route.form.packed && field.name.eq_ignore_ascii_case(b"Content-Encoding") {
            continue;
        }
        if personal
            && [&b"cache-control"[..], b"expires"].iter().any(|name| field.name.eq_ignore_ascii_case(name))
        {
            continue;
        }
        if let Some(value) = field.value.as_static() {
            head.append_field(&field.name, value);
            continue;
        }
        if read {
            request.outcome.head.fields.clear();
            request.outcome.head.fields.extend_from_slice(head.fields());
        }
        exchange_buffers::with_buffer(|value| {
            // A field that cannot be evaluated is omitted; the response itself is valid.
            if field.value.eval(request, frame, value).is_ok() && !value.is_empty() {
                value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                head.append_field(&field.name, value);
            }
        });
    }
}
