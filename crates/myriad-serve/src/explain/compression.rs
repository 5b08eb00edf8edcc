//! Which encodings the answer may come in.

use std::rc::Rc;

use myriad_http::Known;

use super::Trace;
use crate::exchange::Exchange;
use crate::runtime::OfferRules;

/// Says which codings are offered for a media type; the place's own where none is known.
pub(super) fn explain(exchange: &mut Exchange, trace: &Rc<Trace>, media_type: Option<&[u8]>) {
    let request = &exchange.request;
    let offer = &request.place().offer;
    let of_uri = crate::content::media_type(request, &request.uri);
    let media_type = media_type.unwrap_or(&of_uri);
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().to_ascii_lowercase();
    if let Some(filters) = &request.place().filters {
        let names = filters.names(&media_type).join(", ");
        let text = if names.is_empty() { "none".to_owned() } else { names };
        let media_type = String::from_utf8_lossy(&media_type).into_owned();
        trace.note(
            "filters",
            text,
            format!("for {media_type}; what they change is compressed each time"),
            None,
        );
    }
    let fits = |rules: &OfferRules| {
        rules.types.as_ref().is_none_or(|types| types.iter().any(|known| **known == *media_type))
    };
    let codings = [("br", &offer.brotli), ("zstd", &offer.zstd), ("gzip", &offer.gzip)];
    let offered = codings.iter().filter_map(|(name, rules)| {
        let rules = rules.as_ref().filter(|rules| fits(rules))?;
        Some(format!("{name} from {} bytes on", rules.min_length))
    });
    let offered = offered.collect::<Vec<_>>().join(", ");
    let media_type = String::from_utf8_lossy(&media_type).into_owned();
    let text = if offered.is_empty() { "none".to_owned() } else { offered };
    let accepted = request.head.known(Known::AcceptEncoding).map(|value| String::from_utf8_lossy(value));
    let accepted = accepted.map_or_else(|| "nothing".to_owned(), |value| format!("\"{value}\""));
    trace.note("encoding", text, format!("for {media_type}; the client accepts {accepted}"), None);
}
