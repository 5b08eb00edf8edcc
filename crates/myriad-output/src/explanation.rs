//! Explanation of the filters and codings of a response (`--explain`).

use myriad_http::Known;

use myriad_exchange::exchange::{Exchange, media_type_of};

/// Reports the filters and codings that apply to a response of type `media_type`; if it is `None`, to the media type of
/// the request's URI. Does nothing unless the request is being explained.
pub fn explain(exchange: &Exchange, media_type: Option<&[u8]>) {
    let Some(sink) = &exchange.request.received.sink else { return };
    let request = &exchange.request;
    let offer = &request.place().offer;
    let of_uri = media_type_of(request, &request.route.uri);
    let media_type = media_type.unwrap_or(&of_uri);
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().to_ascii_lowercase();
    let filters = &request.place().filters;
    if filters.change_bodies() {
        let names = filters.names(&media_type).join(", ");
        let text = if names.is_empty() { "none".to_owned() } else { names };
        let media_type = String::from_utf8_lossy(&media_type).into_owned();
        sink.note(
            "filters",
            text,
            format!("for {media_type}; changed responses are compressed for each request"),
            None,
        );
    }
    let codings = [("br", &offer.brotli), ("zstd", &offer.zstd), ("gzip", &offer.gzip)];
    let offered = codings.iter().filter_map(|(name, rules)| {
        let rules = rules.as_ref().filter(|rules| rules.types.contains(&media_type))?;
        Some(format!("{name} from {} bytes", rules.min_length))
    });
    let offered = offered.collect::<Vec<_>>().join(", ");
    let media_type = String::from_utf8_lossy(&media_type).into_owned();
    let text = if offered.is_empty() { "none".to_owned() } else { offered };
    let accepted =
        request.received.head.known(Known::AcceptEncoding).map(|value| String::from_utf8_lossy(value));
    let accepted = accepted.map_or_else(|| "nothing".to_owned(), |value| format!("\"{value}\""));
    sink.note("encoding", text, format!("for {media_type}; the client accepts {accepted}"), None);
}
