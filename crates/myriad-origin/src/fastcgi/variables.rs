//! `$fastcgi_script_name` and `$fastcgi_path_info`.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::{Uri, UriPart};
use myriad_exchange::runtime::RowValue::Run;

use super::place::FastCgiPlace;

/// Variables for the parts of the URI according to `fastcgi_split_path_info` and `fastcgi_index`. In a location without
/// FastCGI, the script name is the URI, as in nginx.
pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new(
        "fastcgi",
        "fastcgi_script_name",
        &[Uri],
        Run(|request, _, out| {
            match place(request) {
                Some(place) => place.script_name(request, out)?,
                None => out.extend_from_slice(&request.route.uri),
            }
            Ok(true)
        }),
    ),
    RequestVariable::new(
        "fastcgi",
        "fastcgi_path_info",
        &[UriPart],
        Run(|request, _, out| {
            if let Some(place) = place(request) {
                place.path_info(request, out)?;
            }
            Ok(true)
        }),
    ),
];

fn place(request: &Request) -> Option<&FastCgiPlace> {
    request.place().handler.origin()?.protocol_as()
}
